"""The bundled sample as its tests look at it: tokens of four columns, chunks and entities."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.tags.spans import Span, tags_to_spans

PARTS = ("train", "test")

PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ . , : `` '' -LRB- -RRB-"
)
PENN_TAGS = set(PENN.split())

VERBS = {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"}
FINITE_VERBS = {"VBD", "VBP", "VBZ", "MD"}
NOUNS = {"NN", "NNS", "NNP", "NNPS"}
TITLES = re.compile("(Mr|Mrs|Ms|Dr)[.]|Miss|Professor|Judge|Senator|Ambassador|Councilman|Mayor|King|Aunt|Uncle|Señor")
DATES = re.compile(
    "(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|"
    "October|November|December"
)


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    pos: str
    chunk: str
    entity: str

    def __str__(self) -> str:
        return f"{self.word}/{self.pos}/{self.chunk}/{self.entity}"


Sentence = list[Token]


def sentences_of(part: str) -> list[Sentence]:
    found = []
    for sentence in read(sample_path(part), columns=COLUMNS, label="entity"):
        assert sentence.tags is not None
        columns = (sentence.columns[name] for name in ("word", "pos", "chunk"))
        found.append([Token(*fields) for fields in zip(*columns, sentence.tags, strict=True)])
    return found


SENTENCES = {part: sentences_of(part) for part in PARTS}
ALL = [sentence for part in PARTS for sentence in SENTENCES[part]]
ENDLESS = Token("", "", "O", "O")  # what stands before and behind a sentence


def around() -> Iterator[tuple[Token, Token, Token]]:
    """Each token with the one before and the one behind it."""
    for sentence in ALL:
        yield from zip([ENDLESS, *sentence], sentence, [*sentence[1:], ENDLESS], strict=False)


def chunks(kind: str) -> Iterator[tuple[Sentence, Span]]:
    for sentence in ALL:
        for span in tags_to_spans([token.chunk for token in sentence], "iob2"):
            if span.type == kind:
                yield sentence, span


def entities() -> Iterator[tuple[Sentence, Span]]:
    for sentence in ALL:
        for span in tags_to_spans([token.entity for token in sentence], "iob2"):
            yield sentence, span


def words(sentence: Sentence) -> str:
    return " ".join(token.word for token in sentence)
