"""Real corpora in many languages are cut with the right offsets, and much as they were cut by hand."""

import itertools
from pathlib import Path

import pytest

from sapo.corpus.formats import read_blocks
from sapo.text.learning import learn_rules
from sapo.text.splitter import Splitter

SENTENCES = 150
CORPORA = [
    *("ud-basque-bdt", "ud-estonian-ewt", "ud-finnish-tdt-small", "ud-german-gsd-small", "ud-german-lit"),
    *("ud-greek-gdt", "weibo-ner", "cws-pku", "turku-ner", "twitter-pos"),
]


@pytest.mark.parametrize("name", CORPORA)
def test_offsets_are_right_in_every_corpus(corpora: Path, name: str) -> None:
    (path, *_) = sorted((corpora / "zoo" / name).glob("train.*.gz"))
    pairs = list(itertools.islice(next(read_blocks(path)).running_texts(), 2000))
    joined = "" if max(len(word) for words, _ in pairs for word in words) == 1 else " "
    texts = [text or joined.join(words) for words, text in pairs[:SENTENCES]]
    whole = "\n".join(texts) + "\n\n" + " ".join(texts)
    for rules in (None, learn_rules(pairs)):
        splitter = Splitter(rules)
        found = [token for sentence in splitter(whole) for token in sentence]
        covered = [place for start, end in found for place in range(start, end)]
        assert covered == [place for place, character in enumerate(whole) if not character.isspace()]
    same = sum(
        [text[a:b] for a, b in splitter.tokens(text)] == words for text, (words, _) in zip(texts, pairs, strict=False)
    )
    assert same > 0.6 * len(texts)
