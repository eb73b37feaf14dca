"""The short way to tags and spans gives the answers of the long one."""

from typing import Any

import pytest

import sapo

PLACES = [(["in", "Oslo"], ["O", 'B-a "b"\n']), (["at", "home"], ["O", "O"]), (["New", "Yörk"], ["B-é", "I-é"])]
WORDS = [(["in", "Oslo"], ["ADP", "N\\"]), (["at", "home"], ["ADP", "N"])]
SENTENCES: list[list[str]] = [["New", "Yörk"], [], ["Oslo", "in", "Oslo"], ["at"], ["New", "Yörk", "New", "Yörk"]]


@pytest.mark.parametrize("pairs", [PLACES, WORDS], ids=["spans", "tags"])
@pytest.mark.parametrize("counts", [[5], [2, 0, 3], []])
def test_strings_and_objects_make_the_same_json(pairs: Any, counts: list[int]) -> None:
    from sapo.apps.http import write_json
    from sapo.apps.serve import messages
    from sapo.apps.serve.work import plain_answers
    from sapo.tagger.text import find

    model = sapo.train(pairs, template="ner", epochs=5).model
    sentences = SENTENCES[: sum(counts)]
    found = find(model, sentences, probabilities=False, nbest=0)
    expected = []
    for count in counts:
        own = []
        for index in range(count):
            one = next(found)
            spans = [messages.SpanAnswer(type=s.type, token_start=s.start, token_end=s.end) for s in one.spans]
            own.append(messages.SentenceAnswer(index=index, tags=one.tags, spans=spans))
        expected.append(write_json(messages.SentencesAnswer(model='a "name"', sentences=own)))
    assert plain_answers('a "name"', model, sentences, counts) == expected
