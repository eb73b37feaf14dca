"""The real corpora, where they are: every sentence and token is found, and tagging gives back what was there."""

import gzip
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sapo.corpus.blocks import LABEL
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.formats import read, read_blocks
from sapo.tags.spans import loose_spans

TagWithGold = Callable[..., bytes]

# file, label: sentences, tokens, labels
COUNTS: dict[tuple[str, str | None], tuple[int, int, int]] = {
    ("conll2000/train.txt.gz", None): (8_936, 211_727, 22),
    ("conll2000/train.txt.gz", "pos"): (8_936, 211_727, 44),
    ("conll2000/test.txt.gz", None): (2_012, 47_377, 19),
    ("conll2000/test.txt.gz", "1"): (2_012, 47_377, 43),
    ("ud-ewt/train.conllu.gz", None): (12_544, 204_577, 17),
    ("ud-ewt/train.conllu.gz", "xpos"): (12_544, 204_577, 49),
    ("ud-ewt/dev.conllu.gz", None): (2_001, 25_147, 17),
    ("ud-ewt/dev.conllu.gz", "xpos"): (2_001, 25_147, 49),
    ("ud-ewt/test.conllu.gz", None): (2_077, 25_094, 17),
    ("ud-ewt/test.conllu.gz", "xpos"): (2_077, 25_094, 48),
    ("wsj-sample/train.txt.gz", None): (3_396, 81_793, 45),
    ("wsj-sample/test.txt.gz", None): (518, 12_291, 40),
    ("jnlpba/train.txt.gz", None): (18_546, 492_510, 11),
    ("jnlpba/train.pos.txt.gz", None): (18_546, 492_510, 11),
    ("jnlpba/train.pos.txt.gz", "pos"): (18_546, 492_510, 42),
    ("jnlpba/test.txt.gz", None): (3_856, 101_039, 11),
    ("genia-pos/train.txt.gz", None): (16_334, 397_690, 42),
    ("genia-pos/dev.txt.gz", None): (2_174, 52_697, 41),
    ("genia-pos/test.txt.gz", None): (2_036, 50_556, 40),
}


@pytest.mark.parametrize(("name", "label"), COUNTS)
def test_a_corpus_has_all_its_sentences_tokens_and_labels(corpora: Path, name: str, label: str | None) -> None:
    sentences = tokens = 0
    labels: set[str] = set()
    for block in read_blocks(corpora / name, label=label):
        sentences += len(block.offsets) - 1
        tokens += int(block.offsets[-1])
        labels |= set(block.strings(LABEL))
        assert (np.diff(block.offsets) > 0).all()
    assert (sentences, tokens, len(labels)) == COUNTS[name, label]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (
            "conll2000/test.txt.gz",
            "NP 12422 PP 4811 VP 4658 ADVP 866 SBAR 535 ADJP 438 PRT 106 CONJP 9 LST 5 INTJ 2",
        ),
        ("jnlpba/test.txt.gz", "protein 5067 cell_type 1921 DNA 1056 cell_line 500 RNA 118"),
    ],
)
def test_a_corpus_has_all_its_chunks_or_entities(corpora: Path, name: str, kinds: str) -> None:
    found = Counter(span.type for sentence in read(corpora / name) for span in loose_spans(sentence.tags or ()))
    assert " ".join(f"{kind} {count}" for kind, count in found.most_common()) == kinds


@pytest.mark.parametrize(("name", "multiword", "empty"), [("dev", 359, 4), ("test", 354, 2)])
def test_multiword_tokens_and_empty_nodes_are_kept(corpora: Path, name: str, multiword: int, empty: int) -> None:
    found: Counter[str] = Counter()
    for sentence in read(corpora / "ud-ewt" / f"{name}.conllu.gz"):
        assert sentence.text is not None
        for _, line in sentence.notes:
            number = line.split("\t")[0]
            found["#" if number.startswith("#") else "-" if "-" in number else "."] += 1
    assert (found["-"], found["."]) == (multiword, empty)


@pytest.mark.parametrize("name", ["train", "test"])
def test_tagging_conll2000_with_its_own_chunks_adds_the_last_column_once_more(
    corpora: Path, tag_with_gold: TagWithGold, name: str
) -> None:
    path = corpora / "conll2000" / f"{name}.txt.gz"
    expected = b"".join(
        line + b" " + line.split(b" ")[2] + b"\n" if line else b"\n"
        for line in gzip.decompress(path.read_bytes()).removesuffix(b"\n").split(b"\n")
    )
    assert tag_with_gold(path) == expected


@pytest.mark.parametrize(
    ("name", "label"),
    [
        *itertools.product(["train", "dev", "test"], ["upos", "xpos"]),
        ("dev", "Number"),
        ("test", "VerbForm"),
        ("test", "Case"),
    ],
)
def test_tagging_ud_ewt_with_its_own_labels_gives_back_the_same_bytes(
    corpora: Path, tag_with_gold: TagWithGold, name: str, label: str
) -> None:
    path = corpora / "ud-ewt" / f"{name}.conllu.gz"
    assert tag_with_gold(path, label=label) == gzip.decompress(path.read_bytes())


def test_converting_ud_ewt_to_itself_gives_back_the_same_bytes(corpora: Path, tmp_path: Path) -> None:
    path = corpora / "ud-ewt" / "dev.conllu.gz"
    assert convert(Source(path), Target(tmp_path / "dev.conllu")).sentences == 2_001
    assert (tmp_path / "dev.conllu").read_bytes() == gzip.decompress(path.read_bytes())


@pytest.mark.parametrize("format", ["columns", "conllu", "jsonl"])
def test_words_and_tags_of_conll2000_survive_every_format(corpora: Path, tmp_path: Path, format: str) -> None:
    path, other = corpora / "conll2000" / "test.txt.gz", tmp_path / "other.gz"
    assert convert(Source(path), Target(other, format=format)).sentences == 2_012
    expected = [(sentence.words, sentence.tags) for sentence in read(path)]
    assert [(sentence.words, sentence.tags) for sentence in read(other, format=format)] == expected


def test_conll2000_comes_back_from_bioes_byte_by_byte(corpora: Path, tmp_path: Path) -> None:
    path = corpora / "conll2000" / "test.txt.gz"
    convert(Source(path), Target(tmp_path / "bioes.txt", scheme="bioes"))
    convert(Source(tmp_path / "bioes.txt"), Target(tmp_path / "iob2.txt", scheme="iob2"))
    plain = gzip.decompress(path.read_bytes())
    assert (tmp_path / "iob2.txt").read_bytes() == plain
