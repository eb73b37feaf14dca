"""Answer questions about a project; nothing here changes it."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sapo.apps.teach import messages
from sapo.apps.teach.classroom import Classroom, curve, spans_of
from sapo.apps.teach.predictions import Variety, choose, know_nothing
from sapo.errors import SapoError
from sapo.tagger.explain import explain


def kappa(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa: how much more often two people agree than by chance. None if chance explains all.

    >>> kappa([("O", "O"), ("O", "O"), ("PER", "PER"), ("PER", "O")])
    0.5
    """
    both = Counter(pairs)
    total = both.total()
    if not total:
        return None
    first, second = Counter[str](), Counter[str]()
    for (one, other), count in both.items():
        first[one] += count
        second[other] += count
    agreed = sum(count for (one, other), count in both.items() if one == other) / total
    chance = sum(first[label] * second[label] for label in first) / total**2
    return None if chance == 1.0 else (agreed - chance) / (1.0 - chance)


def token_pairs(sentences: Iterable[Mapping[str, Sequence[str]]]) -> Iterable[tuple[str, str]]:
    """Yield the tags that each two people, in the order of their names, gave each token.

    >>> list(token_pairs([{"ben": ["O"], "anna": ["PER"]}]))
    [('PER', 'O')]
    """
    for said in sentences:
        for one, other in itertools.combinations(sorted(said), 2):
            yield from zip(said[one], said[other], strict=True)


UNKNOWN = -1.0  # the doubt of a sentence that was not tagged yet: it comes last
SLIPS = 100  # accepted sentences that are shown


class Answers:
    """Answers questions, in the thread of the classroom."""

    def __init__(self, classroom: Classroom) -> None:
        self._room = classroom
        self._places: dict[int, int] = {}  # of each sentence in the variety, which counts from 0
        self._variety = Variety([])
        self._labeled: set[int] = set()

    def project(self, form: messages.Asked) -> messages.ProjectAnswer:
        """Describe the project."""
        return messages.ProjectAnswer(
            name=self._room.store.path.stem,
            kind=self._room.kind,
            labels=self._room.state.labels,
            lists=list(self._room.store.names),
            people=self._room.state.people,
            counts=self._room.counts(),
            orders=messages.ORDERS,
            formats=messages.FORMATS,
            model=self._room.model_view(),
            curve=curve(self._room.kind, self._room.all_seen()),
            seq=self._room.state.seq,
        )

    def sentences(self, form: messages.SentencesForm) -> messages.SentenceViews:
        """Return the next sentences, or those that are asked for."""
        if form.ids is not None:
            asked = [one for one in map(int, form.ids.split(",")) if one in self._room.store.sentences]
            return messages.SentenceViews(sentences=self._room.views_of(asked), total=len(asked))
        wanted = self._in_state(form)
        total = len(wanted)
        if form.order == "in-order":
            chosen = [one for one in wanted if one > form.after][: form.count]
        else:
            held = self._room.locks.held()
            free = [one for one in wanted if held.get(one, form.author) == form.author]
            chosen = self._choose(form.order, free, form.count)
        if form.second:
            return messages.SentenceViews(sentences=[self._blank_view(one) for one in chosen], total=total)
        return messages.SentenceViews(sentences=self._room.views_of(chosen), total=total)

    def nbest(self, number: int, form: messages.NBestForm) -> messages.NBestAnswer:
        """Return the best taggings of a sentence."""
        sentence = self._room.sentence(number)
        tagger = self._room.pupil.tagger
        if tagger is None or number in self._room.unforgotten():
            return messages.NBestAnswer(taggings=[])
        found = []
        for one in tagger.nbest(sentence.words, form.n):
            tags = self._room.pupil.as_kept(one.tags)
            share = round(min(one.probability, 1.0), 4)
            spans = spans_of(tags, self._room.kind, share)
            found.append(messages.TaggingView(tags=tags, spans=spans, probability=share))
        return messages.NBestAnswer(taggings=found)

    def explain(self, number: int, form: messages.ExplainForm) -> messages.ExplanationView:
        """Explain the tag of a token."""
        sentence = self._room.sentence(number)
        tagger = self._room.pupil.tagger
        if tagger is None:
            raise SapoError("there is no model yet; accept a sentence first")
        why = explain(tagger, sentence.words, form.token, top=form.top)
        weights = [messages.WeightView(feature=one.name, weight=round(one.difference, 4)) for one in why.contributions]
        weights += [
            messages.WeightView(feature=f"{one.word}: {one.tag}, not {one.rival}", weight=round(one.difference, 4))
            for one in why.elsewhere
        ]
        weights.sort(key=lambda one: -abs(one.weight))  # the strongest first
        return messages.ExplanationView(
            token=why.token,
            label=why.tag,
            other=why.rival,
            speaks_for=[one for one in weights if one.weight > 0],
            against=[one for one in weights if one.weight < 0],
        )

    def slips(self, form: messages.Asked) -> messages.SlipsAnswer:
        """Return accepted sentences that the model would tag in another way."""
        digests = self._room.cache.digests
        found = []
        for one in self._room.state.accepted():
            event, digest = self._room.state.current(one), digests.get(one)
            if event is not None and digest is not None and digest.tags != hash(event.tags):
                found.append((digest.sure, one))
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

    def _choose(self, order: str, free: Sequence[int], count: int) -> list[int]:
        """Return some of the free sentences, in an order."""
        sentences, digests = self._room.store.sentences, self._room.cache.digests
        if len(sentences) != len(self._places):
            self._places = {number: place for place, number in enumerate(sentences)}
            self._variety, self._labeled = Variety([one.words for one in sentences.values()]), set()
        now = {self._places[one] for one in self._room.state.accepted()}
        for place in now - self._labeled:
            self._variety.label(place)
        for place in self._labeled - now:
            self._variety.unlabel(place)
        self._labeled = now
        doubts = [digests[one].doubt if one in digests else UNKNOWN for one in free] if order == "least-sure" else None
        by_place = {self._places[one]: one for one in free}
        return [by_place[one] for one in choose(order, list(by_place), count, doubts=doubts, variety=self._variety)]

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

    def _blank_view(self, number: int) -> messages.SentenceView:
        """Show a sentence to a second person, who should not see what the first one said."""
        tokens = len(self._room.store.sentences[number].offsets)
        return self._room.open_view(number, know_nothing(self._room.kind, tokens))
