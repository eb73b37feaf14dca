"""Where sentences begin: what the tagger sees of a text, and windows of long texts."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.tagger.sentences import BATCH, BEGIN, CONTEXT, INSIDE, WINDOW, SentenceFinder, boundary_columns
from sapo.tagger.tagger import Tagger
from sapo.text.splitter import LONGEST_SENTENCE, Splitter

# "go" begins a sentence if it follows "stop", which no rule of the splitter says
TRAINING = [
    (
        ["stop", "go", "on", "and", "stop", "go", "stop", "go", "on"],
        [BEGIN, BEGIN, *[INSIDE] * 3, BEGIN, INSIDE, BEGIN, INSIDE],
    ),
    (["and", "go", "on"], [BEGIN, INSIDE, INSIDE]),
]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    template = tmp_path_factory.mktemp("template") / "t.txt"
    template.write_text("c0[-1] & c0[0]\nc0[0]\nc1[0]\nc2[0]\nlabel[-1]\n")
    data = [
        ([(word, "blank", BEGIN if at == 0 else INSIDE) for at, word in enumerate(words)], labels)
        for words, labels in TRAINING
    ]
    return sapo.train(data * 20, template=template, epochs=10, calibrate=False)


def found(text: str, tagger: Tagger) -> list[str]:
    sentences = SentenceFinder(Splitter(), tagger).sentences(text)
    return [" ".join(text[start:end] for start, end in sentence) for sentence in sentences]


def test_sentences_are_those_of_the_tagger(tagger: Tagger) -> None:
    assert found("stop go on stop go and\n\nand go on", tagger) == ["stop", "go on stop", "go and", "and go on"]
    assert found("", tagger) == found(" \n\n ", tagger) == []


def at_once(text: str, tagger: Tagger) -> Iterator[list[tuple[int, int]]]:
    """Tag each paragraph whole: the slow and simple twin of the windows."""
    for paragraph in Splitter().paragraphs(text):
        labels = tagger.tag(boundary_columns(text, paragraph))
        tokens = list(itertools.chain.from_iterable(paragraph))
        firsts = [at for at, label in enumerate(labels) if label == BEGIN or at == 0]
        for first, last in itertools.pairwise([*firsts, len(tokens)]):
            yield tokens[first:last]


CYCLE = ("stop", "go", "on", "and", "go", "stop", "go", "on")


@pytest.mark.parametrize("size", [WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + CONTEXT, BATCH + 7])
def test_windows_find_what_the_whole_text_has(size: int, tagger: Tagger) -> None:
    words = list(itertools.islice(itertools.cycle(CYCLE), size))
    text = " ".join(words[:101]) + "\n\n" + " ".join(words[101:])
    found = list(SentenceFinder(Splitter(), tagger).sentences(text))
    assert found == list(at_once(text, tagger))
    assert len(found) > size / 6


@given(text=st.text() | st.lists(st.sampled_from(["stop", "go", ".", " ", "\n\n", "on"])).map("".join))
def test_every_character_but_blanks_is_in_one_token(text: str, tagger: Tagger) -> None:
    sentences = list(SentenceFinder(Splitter(), tagger).sentences(text))
    assert all(sentences)
    tokens = [token for sentence in sentences for token in sentence]
    assert tokens == [token for sentence in Splitter().sentences(text) for token in sentence]


def test_what_never_ends_is_cut(tagger: Tagger) -> None:
    sizes = [len(sentence) for sentence in SentenceFinder(Splitter(), tagger).sentences("and " * 3 * LONGEST_SENTENCE)]
    assert sizes == [LONGEST_SENTENCE] * 3


def test_a_tagger_of_something_else_is_refused() -> None:
    for token, label in (("a", BEGIN), (("a", "blank", BEGIN), "NN")):
        other = sapo.train([([token], [label])], epochs=1)
        with pytest.raises(ValueError, match="tagger of sentences"):
            SentenceFinder(Splitter(), other)
