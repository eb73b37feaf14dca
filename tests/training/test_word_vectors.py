"""Word vectors in linear models: the numbers of a vector are values of features."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.features.encoder import TemplateEncoder
from sapo.features.strings import fields
from sapo.features.vectors import WordVectors
from sapo.sklearn.labeler import SequenceLabeler
from sapo.tagger.explain import explain
from sapo.tagger.inspect import describe
from sapo.tagger.prune import pruned

PAIRS = [
    (list(one.columns["word"]), list(one.tags))
    for one in read(sample_path("train"), columns=COLUMNS, label="chunk")
    if one.tags
][:100]
SIZE = 4
WORDS = sorted({word.lower() for words, _ in PAIRS for word in words})[::2]
RANDOM = np.random.default_rng(1)
SIGNS = RANDOM.choice([-1, 1], (len(WORDS), SIZE))
MATRIX = (SIGNS * RANDOM.uniform(0.8, 1, SIGNS.shape)).astype(np.float32)  # near 1: ready-made features are not scaled
SETTINGS: dict[str, Any] = {"epochs": 3, "rate": 0.2, "strength": 0.3, "calibrate": False, "template": "ner"}
NEW = [["Unseen", WORDS[10].upper(), "and", "The", "Bank", "of", "1999"], ["rain", "."]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, MATRIX.tolist(), strict=True)]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def tagger(path: Path) -> sapo.Tagger:
    return sapo.train(PAIRS, vectors=path, **SETTINGS)


def encoder_of(tagger: sapo.Tagger) -> TemplateEncoder:
    encoder = tagger.model.encoder
    assert isinstance(encoder, TemplateEncoder)
    return encoder


def tokens_of(encoder: TemplateEncoder, words: list[str]) -> list[dict[str, float]]:
    """Return the features of each token by name."""
    corpus = encoder.session().encode(block_from_sentences([Sentence({"word": tuple(words)}, None)], "text"))
    values = corpus.values if len(corpus.values) else np.ones(len(corpus.rows), np.float32)
    ends = corpus.row_offsets
    return [
        dict(zip(encoder.feature_names(corpus.rows[a:b].tolist()), values[a:b].tolist(), strict=True))
        for a, b in pairwise(ends.tolist())
    ]


def test_a_token_has_the_features_of_the_template_and_the_numbers_of_its_vector(tagger: sapo.Tagger) -> None:
    plain = encoder_of(sapo.train(PAIRS, **SETTINGS))
    vectors = WordVectors(WORDS, MATRIX)
    known = 0
    for words in [*NEW, *(words for words, _ in PAIRS[:20])]:
        for word, own, others in zip(words, tokens_of(encoder_of(tagger), words), tokens_of(plain, words), strict=True):
            number = vectors.find(*fields([word]))
            row = vectors.values(number)[0].tolist() if number[0] >= 0 else []
            assert own == {**others, **{f"vector[0] {d}": value for d, value in enumerate(row)}}
            known += len(row) > 0
    assert known > 50


def test_it_is_the_same_as_ready_made_features_with_these_values(path: Path) -> None:
    same: dict[str, Any] = {**SETTINGS, "settings": {"hide": 0, "piece": 0, "average": 0, "drop": 0}, "n": 3}
    tagger = sapo.train(PAIRS, vectors=path, **same)
    encoder = encoder_of(tagger)
    del same["template"]
    ready = sapo.train([(tokens_of(encoder, words), tags) for words, tags in PAIRS], learner="sapo", **same)
    for words in [*NEW, *(words for words, _ in PAIRS[:20])]:
        own, other = tagger.nbest(words, 3), ready.nbest(tokens_of(encoder, words), 3)
        assert [one.tags for one in own] == [one.tags for one in other]
        assert [one.score for one in own] == pytest.approx([one.score for one in other], rel=1e-3)


def test_a_saved_model_needs_no_second_file(tagger: sapo.Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "m.sapo")
    loaded = sapo.Tagger.load(tmp_path / "m.sapo")
    assert loaded.columns == ("word",)
    for words in [*NEW, *(words for words, _ in PAIRS)]:
        assert loaded.tag(words) == tagger.tag(words)
        own, other = encoder_of(loaded), encoder_of(tagger)
        for token, whole in zip(tokens_of(own, words), tokens_of(other, words), strict=True):
            assert token.items() <= whole.items()  # a file leaves out features without weights
            assert {n for n in token if n.startswith("vector")} == {n for n in whole if n.startswith("vector")}
    loaded.save(tmp_path / "again.sapo")
    assert (tmp_path / "again.sapo").read_bytes() == (tmp_path / "m.sapo").read_bytes()


def test_vectors_clusters_and_other_columns_go_together(path: Path, tmp_path: Path) -> None:
    (tmp_path / "template").write_text("pos[0]\nlabel[-1]\n")
    pairs = [([(word, word[-1]) for word in words], tags) for words, tags in PAIRS]
    options = {**SETTINGS, "template": tmp_path / "template", "columns": ["word", "pos"]}
    tagger = sapo.train(pairs, vectors=path, clusters={"the": "01"}, **options)
    assert tagger.columns == ("word", "pos")  # the template alone needs no words
    names = encoder_of(tagger).feature_names(range(SIZE + 1))
    assert names[SIZE - 1] == "vector[0] 3"
    assert not names[SIZE].startswith("vector")


def test_a_model_that_learns_more_looks_up_new_words(tagger: sapo.Tagger) -> None:
    trainer = sapo.Trainer(tagger)
    trainer.update([([WORDS[3].upper(), "zzz"], ["B-NP", "I-NP"])] * 3)
    assert trainer.tagger.tag([WORDS[3].upper(), "zzz"]) == ["B-NP", "I-NP"]
    names = encoder_of(trainer.tagger).feature_names(range(SIZE))
    assert names == [f"vector[0] {d}" for d in range(SIZE)]
    snapshot = trainer.snapshot()
    assert [snapshot.tag(words) for words, _ in PAIRS] == [trainer.tagger.tag(words) for words, _ in PAIRS]


def test_a_pruned_model_keeps_them(tagger: sapo.Tagger) -> None:
    assert sapo.Tagger(pruned(tagger.model, 1e-9)).tag(NEW[0]) == tagger.tag(NEW[0])
    nothing = pruned(tagger.model, 1e9)
    assert nothing.encoder.features == SIZE  # each token has them, with weights or without
    assert len(sapo.Tagger(nothing).tag(NEW[0])) == len(NEW[0])


def test_they_are_explained_and_described(tagger: sapo.Tagger) -> None:
    found = explain(tagger, PAIRS[0][0], 0, top=1000)
    assert any(part.name.startswith("vector[0] ") and abs(part.value) != 1 for part in found.contributions)
    assert describe(tagger.model, top=3)["features"] == tagger.model.encoder.features


@pytest.mark.parametrize("learner", ["crf", "perceptron-avg", "mira", "crf-lbfgs"])
def test_every_linear_learner_takes_them(path: Path, learner: str) -> None:
    tagger = sapo.train(PAIRS[:30], vectors=path, learner=learner, epochs=2, template="ner", calibrate=False)
    assert len(tagger.tag(NEW[0])) == len(NEW[0])
    assert np.abs(tagger.model.parameters.rows.gathered(np.arange(SIZE, dtype=np.int32))).max() > 0


def test_the_estimator_takes_them(path: Path, tagger: sapo.Tagger) -> None:
    words, tags = [words for words, _ in PAIRS], [tags for _, tags in PAIRS]
    options = {name: value for name, value in SETTINGS.items() if name != "calibrate"}
    labeler = SequenceLabeler(vectors=path, **options).fit(words, tags)
    assert labeler.predict(NEW).tolist() == [tagger.tag(sentence) for sentence in NEW]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda options: {"vectors": "no such file"}, "no such file"),
        (lambda options: {"vectors": 3}, "vectors must be the path of a file, not 3"),
        (lambda options: {**options, "stream": "cache"}, "stream: takes no vectors; leave them out"),
        (lambda options: {**options, "hidden": 3}, "hidden"),
    ],
)
def test_wrong_options_are_errors(path: Path, change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(SapoError) as caught:
        sapo.train(PAIRS, **change({"vectors": path}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ready_made_features_have_no_words(path: Path) -> None:
    with pytest.raises(SapoError, match="no words to look up in vectors; leave the vectors out"):
        sapo.train([([{"w": "rain"}], ["NN"])], vectors=path)
