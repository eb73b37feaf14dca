"""`Answers`: questions about a project in, answers out. Nothing here changes the project."""

from sapo.errors import SapoError
from sapo.tagger.explain import explain
from sapo.teach import messages, views
from sapo.teach.agreement import kappa, token_pairs
from sapo.teach.classroom import Classroom
from sapo.teach.curve import Point, curve
from sapo.teach.order import Orders
from sapo.teach.predictions import know_nothing

SLIPS = 100  # that are shown


class Answers:
    """Answers questions, in the thread of the classroom."""

    def __init__(self, classroom: Classroom) -> None:
        self._room = classroom
        self._orders = Orders()

    def project(self, form: messages.Asked) -> messages.ProjectAnswer:
        """Describe the project."""
        return messages.ProjectAnswer(
            name=self._room.store.path.stem,
            kind=self._room.kind,
            labels=self._room.state.labels,
            people=self._room.state.people,
            counts=self._room.counts(),
            orders=messages.ORDERS,
            formats=messages.FORMATS,
            model=self._room.model_view(),
            curve=[_point(point) for point in curve(self._room.kind, self._room.all_seen())],
            seq=self._room.state.seq,
        )

    def sentences(self, form: messages.SentencesForm) -> messages.SentencesAnswer:
        """Return the next sentences, or those that are asked for."""
        if form.ids is not None:
            asked = [one for one in map(int, form.ids.split(",")) if one in self._room.store.sentences]
            return messages.SentencesAnswer(sentences=self._room.views_of(asked), total=len(asked))
        wanted = self._in_state(form)
        total = len(wanted)
        if form.order == "in-order":
            chosen = [one for one in wanted if one > form.after][: form.count]
        else:
            held = self._room.locks.held()
            free = [one for one in wanted if held.get(one, form.author) == form.author]
            self._orders.take(self._room.store.sentences)
            self._orders.label(self._room.state.accepted())
            chosen = self._orders.next(form.order, free, form.count, self._room.cache.marks)
        if form.second:
            return messages.SentencesAnswer(sentences=[self._blank_view(one) for one in chosen], total=total)
        return messages.SentencesAnswer(sentences=self._room.views_of(chosen), total=total)

    def nbest(self, number: int, form: messages.NBestForm) -> messages.NBestAnswer:
        """Return the best taggings of a sentence."""
        sentence = self._room.sentence(number)
        tagger = self._room.pupil.tagger
        if tagger is None:
            return messages.NBestAnswer(taggings=[])
        found = []
        for one in tagger.nbest(sentence.words, form.n):
            tags = self._room.pupil.as_kept(one.tags)
            share = round(min(one.exact_probability, 1.0), 4)
            found.append(
                messages.TaggingView(
                    tags=tags, spans=views.certain_spans(tags, self._room.kind, share), probability=share
                )
            )
        return messages.NBestAnswer(taggings=found)

    def explain(self, number: int, form: messages.ExplainForm) -> messages.ExplainAnswer:
        """Explain the tag of a token."""
        sentence = self._room.sentence(number)
        tagger = self._room.pupil.tagger
        if tagger is None:
            raise SapoError("there is no model yet; accept a sentence first")
        return views.explain_answer(explain(tagger, sentence.words, form.token, top=form.top))

    def slips(self, form: messages.Asked) -> messages.SlipsAnswer:
        """Return accepted sentences that the model would tag in another way."""
        marks = self._room.cache.marks
        found = []
        for one in self._room.state.accepted():
            event, mark = self._room.state.current(one), marks.get(one)
            if event is not None and mark is not None and mark.tags != hash(event.tags):
                found.append((mark.sure, one))
        chosen = [one for _, one in sorted(found, reverse=True)[:SLIPS]]
        said = self._room.cache.fresh(chosen, self._room.pupil.version)
        shown = [
            messages.SlipView(
                sentence=self._room.view(one, said[one]),
                model_tags=said[one].tags,
                probability=round(said[one].sure, 4),
            )
            for one in chosen
            if (event := self._room.state.current(one)) and event.tags != said[one].tags
        ]
        return messages.SlipsAnswer(slips=sorted(shown, key=lambda slip: -slip.probability))

    def disagreements(self, form: messages.Asked) -> messages.DisagreementsAnswer:
        """Return what several people accepted with different tags, and how far they agree."""
        several = {one: said for one in self._room.state.accepted() if len(said := self._room.state.by_person(one)) > 1}
        items = [
            messages.DisagreementView(
                id=one, text=self._room.store.sentences[one].text, sentence=self._room.view(one), by=said
            )
            for one, said in several.items()
            if len(set(said.values())) > 1
        ]
        share = kappa(token_pairs(several.values()))
        return messages.DisagreementsAnswer(
            items=items[: messages.MOST], kappa=None if share is None else round(share, 4), both=len(several)
        )

    def _in_state(self, form: messages.SentencesForm) -> list[int]:
        everything = self._room.store.sentences
        if form.second:
            return [
                one
                for one in everything
                if self._room.state.current(one) and form.author not in self._room.state.by_person(one)
            ]
        if form.state == "all":
            return list(everything)
        wanted = form.state == "accepted"
        return [one for one in everything if (self._room.state.current(one) is not None) == wanted]

    def _blank_view(self, number: int) -> messages.View:
        """Show a sentence to a second person, who should not see what the first one said."""
        sentence = self._room.store.sentences[number]
        said = know_nothing(self._room.kind, len(sentence.offsets))
        return views.open_view(number, sentence, said, self._room.locks.holder(number), self._room.pupil.version)


def _point(point: Point) -> messages.PointView:
    return messages.PointView(accepted=point.accepted, score=point.score, sure=point.sure)
