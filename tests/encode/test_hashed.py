"""Hashed features: the same in every way to encode, a model that is saved and tags, and what it cannot do."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.corpus.tokens import sentence_block
from sapo.encode.building import build_encoder
from sapo.encode.encoded import join_encoded
from sapo.encode.hashed import HashedEncoder
from sapo.encode.strings import StringTable
from sapo.encode.template import parse_templates
from sapo.errors import SapoError
from sapo.model.file import load_model, model_bytes, model_from_bytes

TEXT = """word[-2]
word[0] & word[1]
substrings(word[1], 2)
classes(word) & word[-1]
suffix(word, 2)
bias
label[-1] & word
"""
WORD = st.text(st.sampled_from("aAbé1-"), min_size=1, max_size=4)
CORPUS = st.lists(st.lists(WORD, min_size=1, max_size=5), min_size=1, max_size=6)


def encoders(corpus: list[list[str]]) -> Any:
    block = sentence_block(corpus, ["word"], [["X"] * len(one) for one in corpus])
    templates = parse_templates(TEXT, ["word", "label"])
    return block, HashedEncoder(templates, 24), build_encoder([block], templates, StringTable())


@given(CORPUS)
@settings(max_examples=50)
def test_hashes_make_a_feature_where_a_dictionary_makes_one(corpus: list[list[str]]) -> None:
    block, hashed, (_, known) = encoders(corpus)
    found = hashed.session().encode(block)
    assert np.array_equal(found.row_offsets, known.row_offsets)
    assert np.array_equal(found.edge_row_offsets, known.edge_row_offsets)
    for mine, theirs in ((found.rows, known.rows), (found.edge_rows, known.edge_rows)):
        pairs = set(zip(mine.tolist(), theirs.tolist(), strict=True))
        assert len(pairs) == len({row for row, _ in pairs}) == len({row for _, row in pairs})  # 24 bits: no collision


@given(CORPUS)
@settings(max_examples=25)
def test_a_sentence_has_the_same_hashes_alone_and_among_others(corpus: list[list[str]]) -> None:
    block, hashed, _ = encoders(corpus)
    session = hashed.session()
    alone = join_encoded([session.encode(sentence_block([one], ["word"], [["X"] * len(one)])) for one in corpus])
    whole = hashed.session().encode(block)
    assert np.array_equal(alone.rows, whole.rows)
    assert np.array_equal(alone.row_offsets, whole.row_offsets)


def test_the_hash_of_a_feature_never_changes() -> None:
    """Or old model files would tag at random."""
    _, hashed, _ = encoders([["a"]])
    rows = hashed.session().encode(sentence_block([["Ab", "é1"]], ["word"], [["X", "X"]])).rows
    assert rows.tolist() == ROWS


ROWS = [16134323, 11945131, 9162491, 3484916, 1638338, 3290036, 13102036, 6042665, 15245410]
ROWS += [13989791, 6775987, 12884336, 440426, 1998019, 16297602, 15846130, 9532222, 12975686, 440426]


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return sapo.train(
        sample_path("train"), columns=COLUMNS, label="chunk", hash_bits=14, rate=0.2, strength=0.3, epochs=4
    )


def test_a_model_is_saved_and_loaded_and_tags_the_same(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "model.sapo"
    tagger.save(path)
    loaded = sapo.Tagger(load_model(path))
    sentences = [one.columns for one in sapo.read(sample_path("test"), columns=COLUMNS, label="chunk")]
    tokens = [list(zip(one["word"], one["pos"], one["entity"], strict=True)) for one in sentences]
    assert loaded.tag_many(tokens) == tagger.tag_many(tokens)
    assert model_bytes(loaded.model) == path.read_bytes()
    assert tagger.evaluate(sample_path("test")).main[1] > 0.8


def test_a_small_input_is_tagged_the_same_without_compiled_kernels(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path, text = tmp_path / "model.sapo", tmp_path / "text.txt"
    tagger.save(path)
    text.write_text("He PRP _\nsaw VBD _\nthe DT _\nold JJ _\nhouse NN _\n")
    done = subprocess.run(
        [sys.executable, "-m", "sapo", "tag", str(path), str(text)], capture_output=True, text=True, check=True
    )
    tokens = [tuple(line.split()) for line in text.read_text().splitlines()]
    assert [line.split()[-1] for line in done.stdout.splitlines() if line] == tagger.tag(tokens)


def test_an_explanation_names_the_features_of_the_sentence(tagger: sapo.Tagger) -> None:
    why = sapo.explain(tagger, [("He", "PRP", "O"), ("saw", "VBD", "O")], 1, top=100)
    names = [part.name for part in why.contributions if part.kind == "feature"]
    assert "word[0] = saw" in names
    assert any(name.startswith("pos[-1] & pos[0] = PRP & VBD") for name in names)
    assert abs(sum(part.difference for part in why.contributions) + sum(one.difference for one in why.elsewhere)) > 0


def test_what_needs_a_dictionary_is_refused_in_one_line(tagger: sapo.Tagger) -> None:
    data = [(["a", "dog"], ["DT", "NN"])]
    with pytest.raises(SapoError, match="a model with hashed features cannot be updated"):
        sapo.Trainer(tagger)
    with pytest.raises(SapoError, match="the group lasso needs a dictionary"):
        sapo.train(data, hash_bits=10, template="pos", regulariser="group-lasso", rate=0.1)
    with pytest.raises(SapoError, match="hash_bits is for templates"):
        sapo.train([([{"a": 1}], ["X"]), ([{"b": 1}], ["Y"])], hash_bits=10)
    with pytest.raises(SapoError, match="not for networks"):
        sapo.train(data, hash_bits=10, learner="bilstm")


@pytest.mark.parametrize("bits", [True, 7, 29, "20", None])
def test_a_file_with_other_bits_is_no_model(tagger: sapo.Tagger, bits: Any) -> None:
    model = tagger.model
    encoder = HashedEncoder(model.encoder.templates, 14)  # type: ignore[attr-defined]
    encoder.header = lambda: {**HashedEncoder.header(encoder), "hash_bits": bits}  # type: ignore[method-assign]
    object.__setattr__(model, "encoder", encoder)
    with pytest.raises(SapoError, match="its parts do not fit together"):
        model_from_bytes(model_bytes(model))
