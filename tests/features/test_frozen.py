"""Frozen encoders beside those that they are made of: the same features, with other rows."""

import contextlib
import itertools
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.features.encoder import Frozen, TemplateEncoder, freeze, from_frozen_arrays, frozen_arrays
from sapo.features.tables import BUCKET_LOAD, best_bucket_bits, freeze_tables
from sapo.features.template import parse_templates

COLUMNS = ("word", "pos", "label")
LINES = [
    "word[0]",
    "word[-1]",
    "word[-3] & word[0]",
    "pos[-1] & pos[0] & pos[1]",
    "word & word & word & word & word & word & word & word",
    "suffix(word, 2)",
    "suffix(lower(word[-1]), 1) & pos",
    "substrings(word, 2)",
    "pos & substrings(word[-1], 3) & word[1]",
    "classes(word) & pos[-1]",
    "bias",
    "label[-1]",
    "label[-1] & word[0]",
    "label[-1] & word[0] & pos[1]",
    "label[-1] & substrings(word[1], 2)",
]
TEMPLATES = st.lists(st.sampled_from(LINES), min_size=1, unique=True).map(
    lambda lines: parse_templates("\n".join(["pos", *lines]), COLUMNS)
)
WORDS = st.text("abAB1-é", min_size=1, max_size=4)
TAGS = st.sampled_from(["N", "V", "D"])


@st.composite
def texts(draw: st.DrawFn) -> list[Sentence]:
    rows = draw(st.lists(st.lists(st.tuples(WORDS, TAGS), min_size=1, max_size=5), min_size=1, max_size=5))
    return [Sentence({"word": tuple(w for w, _ in row), "pos": tuple(t for _, t in row)}) for row in rows]


def drawn_mask(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random(count) < rng.choice([0.0, 0.5, 0.9, 1.0])


def renumbered(offsets: np.ndarray, rows: np.ndarray, order: np.ndarray, count: int) -> list[list[int]]:
    """The rows of each token under their new numbers, without those that have none."""
    new = np.full(count, -1)
    new[order] = np.arange(len(order))
    return [[row for row in new[rows[a:b]].tolist() if row >= 0] for a, b in itertools.pairwise(offsets.tolist())]


def listed(offsets: np.ndarray, rows: np.ndarray) -> list[list[int]]:
    return [rows[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]


def check_encoded(frozen: Frozen, old: TemplateEncoder, one: EncodedCorpus, two: EncodedCorpus) -> None:
    assert listed(two.row_offsets, two.rows) == renumbered(one.row_offsets, one.rows, frozen.order, old.features)
    expected = renumbered(one.edge_row_offsets, one.edge_rows, frozen.edge_order, old.edge_features)
    assert listed(two.edge_row_offsets, two.edge_rows) == expected


def as_of_a_file(encoder: TemplateEncoder) -> dict[str, np.ndarray]:
    arrays = {name: array.copy() for name, array in frozen_arrays(encoder).items()}
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


@settings(deadline=None, max_examples=100)
@given(texts(), texts(), TEMPLATES, st.integers(0, 1000))
def test_a_frozen_encoder_finds_the_features_that_were_kept(
    as_block: Any, build: Any, train: list[Sentence], new: list[Sentence], templates: Any, seed: int
) -> None:
    encoder, _ = build([as_block(train)], templates)
    keep, edge_keep = drawn_mask(seed, encoder.features), drawn_mask(seed + 1, encoder.edge_features)
    frozen = freeze(encoder, keep, edge_keep)
    read = from_frozen_arrays(encoder.header(), as_of_a_file(frozen.encoder))
    assert sorted(frozen.order.tolist()) == np.flatnonzero(keep).tolist()
    assert sorted(frozen.edge_order.tolist()) == np.flatnonzero(edge_keep).tolist()
    for other in (frozen.encoder, read, freeze(frozen.encoder).encoder):
        assert (other.features, other.edge_features) == (keep.sum(), edge_keep.sum())
        assert other.feature_names(range(other.features)) == encoder.feature_names(frozen.order)
        assert other.edge_feature_names(range(other.edge_features)) == encoder.edge_feature_names(frozen.edge_order)
        assert np.array_equal(other.tables.groups(), encoder.tables.groups()[frozen.order])
        assert np.array_equal(other.tables.groups(edges=True), encoder.tables.groups(edges=True)[frozen.edge_order])
        assert np.array_equal(other.tables.keys, encoder.tables.keys[frozen.order])
        assert (other.header(), other.kind, other.transitions) == (encoder.header(), "templates", encoder.transitions)
        sessions = encoder.session(), other.session()
        for text in (new, train, new):
            one, two = (session.encode(as_block(text)) for session in sessions)
            check_encoded(frozen, encoder, one, two)


@settings(deadline=None, max_examples=40)
@given(texts(), texts(), TEMPLATES, st.integers(0, 1000))
def test_a_frozen_encoder_grows_and_is_saved_as_one_of_open_tables(
    as_block: Any, build: Any, train: list[Sentence], new: list[Sentence], templates: Any, seed: int
) -> None:
    encoder, _ = build([as_block(train)], templates)
    frozen = freeze(encoder, drawn_mask(seed, encoder.features)).encoder
    opened = TemplateEncoder.from_arrays(frozen.header(), frozen.arrays())
    block = as_block(new)
    gold = np.zeros(int(block.offsets[-1]), np.int32)
    growing = [one.growing() for one in (frozen, opened)]
    grown = [one.grow(block, gold) for one in growing]
    for name in ("row_offsets", "rows", "edge_row_offsets", "edge_rows"):
        assert np.array_equal(getattr(grown[0], name), getattr(grown[1], name))
    names = [one.feature_names(range(one.features)) for one in growing]
    assert names[0] == names[1]
    assert names[0][: frozen.features] == frozen.feature_names(range(frozen.features))
    again = freeze(growing[0])
    assert again.encoder.feature_names(range(len(names[0]))) == [names[0][row] for row in again.order.tolist()]


def use(encoder: TemplateEncoder, block: Any) -> None:
    """Do all that reads the arrays of an encoder."""
    encoded = encoder.session().encode(block)
    for rows, count in ((encoded.rows, encoder.features), (encoded.edge_rows, encoder.edge_features)):
        assert len(rows) == 0 or 0 <= rows.min() <= rows.max() < count
    for names, count in (
        (encoder.feature_names, encoder.features),
        (encoder.edge_feature_names, encoder.edge_features),
    ):
        with suppress(SapoError):  # a value that is not in the vocabulary
            assert len(names(range(count))) == count
    encoder.growing().grow(block, np.zeros(int(block.offsets[-1]), np.int32))
    freeze(encoder)


@settings(deadline=None, max_examples=300)
@given(texts(), texts(), TEMPLATES, st.data())
def test_arrays_with_a_changed_byte_are_refused_or_safe(
    as_block: Any, build: Any, train: list[Sentence], new: list[Sentence], templates: Any, data: st.DataObject
) -> None:
    encoder, _ = build([as_block(train)], templates)
    arrays = as_of_a_file(freeze(encoder).encoder)
    name = data.draw(st.sampled_from([name for name, array in arrays.items() if array.size]))
    changed = bytearray(arrays[name].tobytes())
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([changed[place] ^ 1, 127, 128, 255])))
    arrays[name] = np.frombuffer(bytes(changed), arrays[name].dtype).reshape(arrays[name].shape)
    try:
        read = from_frozen_arrays(encoder.header(), arrays)
    except ValueError:
        return
    with contextlib.suppress(SapoError):  # keys that name no value are told when the encoder should grow
        use(read, as_block(new))


@pytest.fixture(scope="module")
def example(as_block: Any, build: Any) -> TemplateEncoder:
    lines = "word\npos & word\nclasses(word)\nsuffix(word, 1)\nlabel[-1] & pos & word"
    text = [Sentence({"word": ("Ab", "ba", "b", "abc"), "pos": ("N", "N", "V", "V")})]
    encoder, _ = build([as_block(text)], parse_templates(lines, COLUMNS))
    return freeze(encoder).encoder


def all_arrays() -> list[str]:
    features = ["feature.counts", "feature.bucket_bits", "feature.direct", "feature.buckets", "feature.rests"]
    columns = [f"column.{name}.{key}" for name in ("word", "pos") for key in ("blob", "lengths")]
    views = [f"view.{number}.{key}" for number in (2, 3) for key in ("blob", "lengths", "values")]
    return [*features, *columns, *views, "view.2.sizes"]


def test_the_example_has_these_arrays(example: TemplateEncoder) -> None:
    assert sorted(frozen_arrays(example)) == sorted(all_arrays())


@pytest.mark.parametrize("name", all_arrays())
def test_arrays_of_another_length_or_type_are_refused(example: TemplateEncoder, name: str) -> None:
    arrays = as_of_a_file(example)
    array = arrays[name]
    longer = np.concatenate([array, array], axis=array.ndim - 1)
    for changed in (longer, array[..., :-1], array[..., :0], array.astype(np.float32), array[None]):
        with pytest.raises(ValueError):  # noqa: PT011
            from_frozen_arrays(example.header(), {**arrays, name: changed})
    with pytest.raises(KeyError):
        from_frozen_arrays(example.header(), {key: value for key, value in arrays.items() if key != name})


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("feature.counts", 0, -1),
        ("feature.counts", 0, 2**31 - 1),
        ("feature.counts", 1, 0),
        ("feature.bucket_bits", 0, 1),
        ("feature.bucket_bits", 1, 200),
        ("feature.direct", 0, 0),
        ("feature.buckets", 0, -1),
        ("feature.buckets", 0, 2**31 - 1),
        ("feature.buckets", -1, 0),
    ],
)
def test_numbers_that_do_not_fit_are_refused(example: TemplateEncoder, name: str, place: int, value: int) -> None:
    arrays = as_of_a_file(example)
    changed = arrays[name].copy()
    changed[place] = value
    with pytest.raises(ValueError, match="feature"):
        from_frozen_arrays(example.header(), {**arrays, name: changed})


def test_buckets_that_go_around_all_numbers_are_refused(example: TemplateEncoder) -> None:
    arrays = as_of_a_file(example)
    bits = arrays["feature.bucket_bits"].copy()
    bits[1] = 2
    first, count = arrays["feature.counts"][:2].tolist()
    around = [first, 2**31 - 1, -(2**31), -1, first + count]  # the differences overflow and look positive
    rest = arrays["feature.buckets"][2 ** int(arrays["feature.bucket_bits"][1]) + 1 :]
    buckets = np.concatenate([np.array(around, np.int32), rest])
    with pytest.raises(ValueError, match="feature table"):
        from_frozen_arrays(example.header(), {**arrays, "feature.bucket_bits": bits, "feature.buckets": buckets})


def test_only_a_frozen_encoder_has_frozen_arrays(example: TemplateEncoder) -> None:
    with pytest.raises(TypeError, match="freeze the encoder first"):
        frozen_arrays(example.growing().frozen())


def test_buckets_stay_short_even_if_keys_have_a_pattern(as_block: Any, build: Any) -> None:
    text = [Sentence({"word": tuple(f"w{i}" for i in range(2000)), "pos": ("N",) * 2000})]
    encoder, _ = build([as_block(text)], parse_templates("word[-1] & word[1]", COLUMNS))
    bits = encoder.layout.key_bits(0) // 2
    values = np.arange(1, 2000)
    for keys in (values << bits | values, values << bits | 7, 7 << bits | values, values << bits | 2000 - values):
        tables, order, _ = freeze_tables(
            encoder.layout, (keys, np.zeros(len(keys), np.int32)), (np.empty(0, np.int64), np.empty(0, np.int32))
        )
        assert np.array_equal(tables.keys, keys[order])
        assert np.diff(tables.frozen.buckets).max() <= 4 * BUCKET_LOAD


@pytest.mark.parametrize(
    ("bits", "features", "chosen"), [(2, 0, 0), (2, 4, 1), (10, 1000, 8), (30, 1 << 18, 17), (63, 1 << 20, 19)]
)
def test_bits_of_buckets_are_chosen_for_small_tables(bits: int, features: int, chosen: int) -> None:
    assert best_bucket_bits(bits, features) == chosen
