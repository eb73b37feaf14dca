"""Files of word clusters: every form, every mistake, the nearest spelling, and what a model keeps of them."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.blocks import Sentence
from sapo.errors import SapoError, allow_limits
from sapo.features import encoder as encoding
from sapo.features.clusters import Clusters
from sapo.features.knowledge import Knowledge
from sapo.features.strings import fields
from sapo.features.template import parse_templates
from sapo.features.vectors import WordVectors

PATHS = {"rain": "010", "snow": "010", "Oslo": "1", "19##": "011"}
FORMS = {
    "liang": "010\train\t7\n010\tsnow\t3\n1\tOslo\t2\n011\t19##\t2\n",
    "words first": "rain\t010\nsnow\t010\nOslo\t1\n19##\t011\n",
    "blanks": "010 rain 7\n010 snow 3\n\n1 Oslo 2\n011 19## 2",
    "windows": "\ufeff010\train\t7\r\n010\tsnow\t3\r\n1\tOslo\t2\r\n011\t19##\t2\r\n",
    "JSON": json.dumps(PATHS),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_form_is_read(tmp_path: Path, form: str, zipped: bool) -> None:
    path = tmp_path / "clusters"
    path.write_bytes(gzip.compress(FORMS[form].encode()) if zipped else FORMS[form].encode())
    clusters = Clusters.read(path)
    assert len(clusters) == 4
    assert {word: clusters.find(word) for word in PATHS} == PATHS


def test_the_name_of_a_cluster_need_not_be_bits(tmp_path: Path) -> None:
    path = tmp_path / "clusters.tsv"
    path.write_text("rain\tweather\nOslo\t17\n10\t3\n")
    clusters = Clusters.read(path)
    assert [clusters.find(word) for word in ("rain", "Oslo", "10")] == ["weather", "17", "3"]


def test_a_number_in_json_is_a_path_from_its_lowest_bit_on(tmp_path: Path) -> None:
    path = tmp_path / "clusters.json"
    path.write_text(json.dumps({"rain": 6, "snow": 22, "none": 0}))
    clusters = Clusters.read(path)
    rain, snow = clusters.find("rain"), clusters.find("snow")
    assert rain is not None
    assert snow is not None
    assert (rain[:4], snow[:5]) == ("0110", "01101")
    assert clusters.find("none") is None


def test_a_word_with_a_line_break_is_left_out_and_the_others_keep_their_clusters() -> None:
    clusters = Clusters({"a\nb": "00", "b": "01", "c": "10"})
    assert [clusters.find(word) for word in ("a", "a\nb", "b", "c")] == [None, None, "01", "10"]


def test_the_first_line_of_a_word_counts(tmp_path: Path) -> None:
    path = tmp_path / "clusters"
    path.write_text("00\train\t7\n11\train\t3\n")
    assert Clusters.read(path).find("rain") == "00"


@pytest.mark.parametrize(
    ("word", "cluster"),
    [
        ("Rain", "a"),
        ("RAIN", "a"),
        ("1984", "b"),
        ("B52", "c"),
        ("b52", None),
        ("$10", "d"),
        ("Ms10", "e"),
        ("x", None),
    ],
)
def test_a_word_that_is_missing_has_the_cluster_of_its_nearest_spelling(word: str, cluster: str | None) -> None:
    assert Clusters({"rain": "a", "####": "b", "B##": "c", "$00": "d", "ms00": "e"}).find(word) == cluster


SPELLED = st.text(st.sampled_from(["a", "A", "é", "É", "İ", "1", "9", "\u0663", "#", "0", " "]), max_size=4)


@given(st.dictionaries(SPELLED, st.text("01", min_size=1, max_size=3), min_size=1, max_size=20), st.lists(SPELLED))
def test_the_spellings_are_tried_in_their_order_in_any_alphabet(paths: dict[str, str], words: list[str]) -> None:
    def tried(word: str) -> list[str]:
        lower = word.lower()
        return [word, lower, *(re.sub(r"\d", mark, one) for mark in "#0" for one in (word, lower))]

    clusters = Clusters(paths)
    for word in words:
        assert clusters.find(word) == next((paths[one] for one in tried(word) if one in paths), None)


def test_words_that_are_looked_up_once_get_the_features_of_words_that_are_looked_up_one_by_one(
    as_block: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = np.arange(8, dtype=np.float32).reshape(4, 2)
    knowledge = Knowledge("word", {"cluster": Clusters(PATHS)}, WordVectors(sorted(PATHS), matrix))
    words = ["rain", "Snow", "1984", "x", "Oslo", "snow", "y"] * 40
    train, block = (as_block([Sentence({"word": tuple(some)})]) for some in (words[:3], words))
    for template in ("word[0]\nsuffix(word[0], 1)\nprefix(cluster[0], 2)\ncluster[-1]", "cluster[0]\nword[0]"):
        encoder = build([train], parse_templates(template, ("word",), knowledge=knowledge))[0]
        once = encoder.session().encode(block)
        with monkeypatch.context() as changed:
            changed.setattr(encoding, "FEW", 10_000)
            each = encoder.session().encode(block)
        np.testing.assert_array_equal(once.rows, each.rows)
        np.testing.assert_array_equal(once.values, each.values)
        np.testing.assert_array_equal(once.row_offsets, each.row_offsets)
        assert len(once.values) == len(once.rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no word with a cluster"),
        (b"\n\n", "has no word with a cluster"),
        (b"01\train\t3\nbroken\n", ":2: expected bits, a word and its count, or a word and its cluster"),
        (b"01\train\t3\n21\tsnow\t3\n", ":2: expected bits"),
        (b"01\t\t3\n", ":1: expected bits"),
        (b"01\train\t3\t4\n", ":1: expected bits"),
        (b"01\tr\xe4in\t3\n", ":1: not UTF-8"),
        (b"{", "is not valid JSON"),
        (b'{"rain": [1]}', "the cluster of 'rain' must be text or a whole number"),
        (b'{"rain": -1}', "the cluster of 'rain' must be text or a whole number"),
        (b'{"rain": true}', "the cluster of 'rain' must be text or a whole number"),
        (b'{"rain": 1.5}', "the cluster of 'rain' must be text or a whole number"),
        (b'{"a": ' + b"[" * 20_000, "found lists or objects inside it"),
        (b'{"rain": ""}', "the cluster of 'rain' must be text or a whole number"),
        (b"{}", "has no word with a cluster"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "clusters"
    path.write_bytes(content)
    with pytest.raises(SapoError) as caught:
        Clusters.read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_there_is_a_limit_on_words(tmp_path: Path) -> None:
    path = tmp_path / "clusters"
    path.write_text("0\ta\t1\n0\tb\t1\n0\tc\t1\n")
    with allow_limits(words=2), pytest.raises(SapoError, match="words with a cluster"):
        Clusters.read(path)


WORDS = st.text(st.characters(exclude_characters="\n"), max_size=6)


@given(st.dictionaries(WORDS, st.text("01", min_size=1, max_size=5), min_size=1, max_size=30), st.lists(WORDS))
def test_a_model_keeps_everything_and_a_column_is_what_find_finds(paths: dict[str, str], words: list[str]) -> None:
    made = Clusters(paths)
    arrays = {f"c.{name}": array for name, array in made.arrays().items()}
    kept = Clusters.from_arrays(arrays, "c")
    wanted = [*paths, *words]
    data, starts, ends = kept.fields(*fields(wanted), np.array([0, len(wanted)]))
    column = [data[start:end].tobytes().decode() for start, end in zip(starts, ends, strict=True)]
    assert column == [made.find(word) or "" for word in wanted]
    assert column[: len(paths)] == list(paths.values())


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("words", np.frombuffer(b"no xz", np.uint8)),
        ("words", np.zeros(3, np.int32)),
        ("clusters", np.full((1, 4), 9, np.uint8)),
        ("clusters", np.zeros((1, 3), np.uint8)),
        ("clusters", np.zeros(4, np.uint8)),
        ("names.lengths", np.full((1, 3), 200, np.uint8)),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(name: str, array: np.ndarray) -> None:
    arrays = {f"c.{key}": value for key, value in Clusters(PATHS).arrays().items()}
    with pytest.raises((ValueError, TypeError)):
        Clusters.from_arrays({**arrays, f"c.{name}": array}, "c")
    with pytest.raises(KeyError):
        Clusters.from_arrays({key: value for key, value in arrays.items() if key != f"c.{name}"}, "c")


@given(st.data())
def test_changed_bytes_of_the_words_are_refused_or_harmless(data: st.DataObject) -> None:
    arrays = {f"c.{key}": value for key, value in Clusters(PATHS).arrays().items()}
    packed = arrays["c.words"].copy()
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        clusters = Clusters.from_arrays({**arrays, "c.words": packed}, "c")
    except ValueError:
        return
    assert len(clusters) == len(PATHS)
