"""Sentences, tags and predictions in, what the page shows of them out."""

from collections.abc import Sequence

from sapo.tagger.explain import Explanation
from sapo.tags import loose_spans
from sapo.teach import messages
from sapo.teach.events import Event
from sapo.teach.predictions import Prediction
from sapo.teach.sentences import TaughtSentence
from sapo.teach.task import SPANS


def open_view(number: int, sentence: TaughtSentence, said: Prediction, lock: str | None, version: int) -> messages.View:
    """Show a sentence as the model tags it."""
    spans = [
        messages.SpanView(start=span.start, end=span.end, label=span.type, probability=round(share, 4))
        for span, share in said.spans
    ]
    return messages.View(
        id=number,
        text=sentence.text,
        tokens=sentence.offsets,
        tags=said.tags,
        spans=spans,
        probabilities=[round(share, 4) for share in said.probabilities],
        sure=round(said.sure, 4),
        state="open",
        by=None,
        lock=lock,
        version=version,
    )


def accepted_view(sentence: TaughtSentence, accept: Event, kind: str, lock: str | None, version: int) -> messages.View:
    """Show a sentence as a person tagged it."""
    assert accept.sentence is not None
    return messages.View(
        id=accept.sentence,
        text=sentence.text,
        tokens=sentence.offsets,
        tags=accept.tags,
        spans=certain_spans(accept.tags, kind),
        probabilities=[1.0] * len(accept.tags),
        sure=1.0,
        state="accepted",
        by=accept.author,
        lock=lock,
        version=version,
    )


def certain_spans(tags: Sequence[str], kind: str, probability: float = 1.0) -> list[messages.SpanView]:
    """Return the spans of tags."""
    return [
        messages.SpanView(start=span.start, end=span.end, label=span.type, probability=probability)
        for span in (loose_spans(tags) if kind == SPANS else ())
    ]


def explain_answer(why: Explanation) -> messages.ExplainAnswer:
    """Show what speaks for a tag and what against it, the strongest first."""
    weights = [messages.WeightView(feature=one.name, weight=round(one.difference, 4)) for one in why.contributions]
    weights += [
        messages.WeightView(feature=f"{one.word}: {one.tag}, not {one.rival}", weight=round(one.difference, 4))
        for one in why.elsewhere
    ]
    weights.sort(key=lambda one: -abs(one.weight))
    return messages.ExplainAnswer(
        token=why.token,
        label=why.tag,
        other=why.rival,
        speaks_for=[one for one in weights if one.weight > 0],
        against=[one for one in weights if one.weight < 0],
    )
