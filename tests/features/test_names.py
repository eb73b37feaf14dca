"""Names of a list in sentences: as a slow search for all of them finds them."""

import gzip
import re
import threading
import unicodedata
import zipfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.corpus.files import with_encoding
from sapo.errors import DataError, OptionError, SapoError, allow_limits
from sapo.features import names as module
from sapo.features.names import LONGEST, NameList
from sapo.features.strings import fields

IDEOGRAPHS = "京都"
CURLY, SIGMA = "\u2019", "\u03c3"


def atoms_of(text: str, any_case: bool) -> list[str]:
    """Cut a text character by character."""
    found, before = list[str](), ""
    for character in text:
        for c in character.lower() if any_case else character:
            letter = c.isalpha() and c not in IDEOGRAPHS
            kind = "letter" if letter else "digit" if c.isdecimal() else ""
            if unicodedata.combining(c) and before == "letter":
                kind = "letter"
            if kind and kind == before:
                found[-1] += c
            elif not c.isspace():
                found.append(c)
            before = kind
    return [atom.replace(CURLY, "'").replace("ς", SIGMA if any_case else "ς") for atom in found]


def slow_tags(names: Sequence[str], sentences: Sequence[Sequence[str]], any_case: bool) -> list[str]:
    """Compare all runs of tokens with all names."""
    named = [name for name in names if any(map(str.isalnum, name))]
    named += [re.sub(rf"(?i)(n['{CURLY}]t)(?![^\W\d_])", r" \1", name) for name in named]
    known = {tuple(atoms_of(name, any_case)) for name in named}
    tags = []
    for sentence in sentences:
        cut = [atoms_of(word, any_case) for word in sentence]
        at = 0
        while at < len(cut):
            for end in range(len(cut), at, -1):
                if cut[at] and cut[end - 1] and tuple(chain(*cut[at:end])) in known:
                    tags += ["B"] + ["I"] * (end - at - 1)
                    at = end
                    break
            else:
                tags.append("O")
                at += 1
    return tags


def tags_of(names: NameList, *sentences: Sequence[str]) -> list[str]:
    words = [word for sentence in sentences for word in sentence]
    offsets = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    data, starts, ends = names.fields(*fields(words), offsets)
    assert starts.dtype == ends.dtype == np.int32
    return [data[a:b].tobytes().decode() for a, b in zip(starts, ends, strict=True)]


def again(names: NameList) -> NameList:
    return NameList.from_arrays({f"list.{key}": array for key, array in names.arrays().items()}, "list")


WORDS = st.text("aAbn tT'-.1é\u0301京都ΣİXx\n" + CURLY + SIGMA, max_size=4)
NAMES = st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), max_size=8)
SENTENCES = st.lists(st.lists(WORDS | st.sampled_from(["a", "b", "-", "n't"]), max_size=12), max_size=4)


@settings(deadline=None, max_examples=300)
@given(NAMES, SENTENCES, st.booleans())
def test_names_are_found_as_a_slow_search_finds_them(
    listed: list[str], sentences: list[list[str]], any_case: bool
) -> None:
    listed = [*listed, "a b", "京都", "can't"]
    names = NameList.of(listed, any_case=any_case)
    expected = slow_tags(listed, sentences, any_case)
    assert tags_of(names, *sentences) == expected
    assert tags_of(names, *sentences) == expected  # with words that were seen before
    assert tags_of(again(names), *sentences) == expected


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(" ".join), min_size=1), st.data())
def test_names_that_share_beginnings_are_found_as_a_slow_search_finds_them(
    listed: list[str], draw: st.DataObject
) -> None:
    sentences = draw.draw(st.lists(st.lists(st.sampled_from("abcd"), max_size=20), max_size=3))
    names = NameList.of(listed)
    assert tags_of(names, *sentences) == slow_tags(listed, sentences, True)
    assert len(names) == len(again(names)) == len(set(listed))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Coca-Cola", "Coca-Cola"), ("Coca-Cola", "Coca - Cola"), ("Coca - Cola", "Coca-Cola"),
        ("Coca-Cola", "Coca- Cola"), ("Coca\u2010Cola", "COCA-COLA"), ("O'Neil", "O 'Neil"), ("O'Neil", "O\u2019Neil"),
        ("AT&T", "AT & T"), ("AT&T", "at&t"), ("U.S.", "U.S."), ("U.S.", "U. S."), ("U. S.", "U . S ."),
        ("St. Louis", "St. Louis"), ("St. Louis", "St . Louis"), ("Don't Look Up", "Do n't Look Up"),
        ("Don't Look Up", "Don 't Look Up"), ("McDonald's", "McDonald 's"),
        ("京都大学", "京都 大学"), ("京都", "京 都"),
        ("ΟΔΥΣΣΕΑΣ", "Οδυσσέας".replace("έ", "ε")), ("IL-2", "IL -2"), ("3M", "3 M"), ("Yahoo!", "Yahoo !"),
    ],
)  # fmt: skip
def test_a_name_is_found_however_it_is_cut(name: str, words: str) -> None:
    tokens = words.split()
    assert tags_of(NameList.of([name]), ["x", *tokens, "x"]) == ["O", "B", *"I" * (len(tokens) - 1), "O"]


@pytest.mark.parametrize(
    "words", ["New Yorker", "New-York", "NewYork", "York", "a New", "New York-based", "non-New York"]
)
def test_a_part_of_a_token_is_no_name(words: str) -> None:
    assert set(tags_of(NameList.of(["New York"]), words.split())) == {"O"}


def test_a_name_does_not_cross_the_border_of_a_sentence() -> None:
    names = NameList.of(["New York", "York"])
    assert tags_of(names, ["New"], ["York"], [], ["New", "York"]) == ["O", "B", "B", "I"]
    assert tags_of(names) == tags_of(names, [], []) == []


def test_the_longest_name_from_the_left_is_found() -> None:
    names = NameList.of(["a b", "b c d e", "a b c x", "c"])
    assert tags_of(names, list("abcde")) == ["B", "I", "B", "O", "O"]


def test_case_counts_if_it_should() -> None:
    names = NameList.of(["Will"], any_case=False)
    assert tags_of(names, ["Will", "will"]) == ["B", "O"]
    assert tags_of(again(names), ["Will", "will"]) == ["B", "O"]
    assert tags_of(NameList.of(["Will"]), ["Will", "will"]) == ["B", "B"]


def test_distinct_names_are_counted() -> None:
    names = NameList.of(["Ann", "ann", " Ann ", "Don't", "--", "!", "", "New York"])
    assert len(names) == len(again(names)) == 3
    assert len(NameList.of(["Ann", "ann"], any_case=False)) == 2


def test_names_are_cut_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [f"w{number % 7} w{number}" for number in range(50)] * 2
    whole = NameList.of(listed).arrays()
    monkeypatch.setattr(module, "AT_ONCE", 20)
    batches = NameList.of(listed).arrays()
    assert all(np.array_equal(whole[key], batches[key]) for key in whole)


def test_equal_lists_have_equal_arrays() -> None:
    one, two = (NameList.of(["b c", "a", "b d"]).arrays() for _ in range(2))
    assert all(np.array_equal(one[key], two[key]) for key in one)


def test_words_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    names = NameList.of(["w3 w4"])
    for _ in range(3):
        assert tags_of(names, [f"w{number}" for number in range(6)]) == ["O", "O", "O", "B", "I", "O"]


def test_threads_share_a_list() -> None:
    names, found = NameList.of([f"w{number} x" for number in range(0, 500, 2)]), []

    def use(first: int) -> None:
        for number in range(first, first + 300):
            found.append(tags_of(names, [f"w{number}", "x"]) == (["O", "O"] if number % 2 else ["B", "I"]))

    threads = [threading.Thread(target=use, args=(first,)) for first in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 900


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(["atoms", "flags", "any_case", "blob", "lengths"]), st.integers(0, 10), st.data())
def test_damaged_arrays_are_refused_or_do_no_harm(key: str, how: int, draw: st.DataObject) -> None:
    names = NameList.of(["a b c", "a d", "b", "b b", "don't", "é é"])
    arrays = {f"list.{key}": array for key, array in names.arrays().items()}
    array = arrays[f"list.{key}"].copy()
    if how == 0:
        arrays.pop(f"list.{key}")
    elif how == 1:
        arrays[f"list.{key}"] = array[..., : draw.draw(st.integers(0, array.shape[-1]))]
    elif how == 2:
        arrays[f"list.{key}"] = array.astype(draw.draw(st.sampled_from([np.int32, np.float32])))
    elif how == 3:
        arrays[f"list.{key}"] = np.stack([array] * draw.draw(st.integers(1, 5)))
    else:
        flat = array.reshape(-1)
        for _ in range(draw.draw(st.integers(1, 3))):
            flat[draw.draw(st.integers(0, len(flat) - 1))] = draw.draw(st.integers(0, 255) | st.integers(0, 15))
        arrays[f"list.{key}"] = array
    try:
        changed = NameList.from_arrays(arrays, "list")
    except (ValueError, KeyError):
        return
    assert set(tags_of(changed, list("abcdabbé"), ["do", "n't"] * 30, [])) <= set("BIO")
    assert len(changed) <= changed.arrays()["flags"].size


def test_a_node_that_is_its_own_ancestor_or_too_deep_is_refused() -> None:
    circle = {"list.flags": np.array([9, 13], np.uint8), "list.atoms": np.array([[0, 0]], np.uint8)}
    deep = {
        "list.flags": np.full(LONGEST + 1, 13, np.uint8),
        "list.atoms": np.zeros((1, LONGEST + 1), np.uint8),
    }
    deep["list.flags"][-1] = 9
    for arrays in (circle, deep):
        others = {f"list.{key}": array for key, array in NameList.of(["a"]).arrays().items()}
        with pytest.raises(ValueError, match="name list"):
            NameList.from_arrays({**others, **arrays}, "list")


TEXT = "# cities\n\n New York \nÅrhus\r\nnew york\n"


@pytest.mark.parametrize("ending", ["", ".gz", ".zip"])
@pytest.mark.parametrize(
    ("file", "text", "column"),
    [
        ("names.txt", TEXT, None),
        ("names", "\ufeff" + TEXT, None),
        ("names.csv", "id,Name\n1,New York\n2,Århus\n3,\n", None),
        ("names.CSV", 'city;id\n"New\nYork";1\nÅrhus;2\n', None),
        ("names.csv", "name,city\nx,New York\ny,Århus\n", "city"),
        ("names.tsv", "type\tname\nLOC\tNew York\nLOC\tÅrhus\n", None),
        ("names.jsonl", '{"name": "New York"}\n\n{"id": 2, "name": "\\u00c5rhus"}\n{"name": ""}\n', None),
        ("names.v2.jsonl", '{"city": "New York", "name": 3}\n{"city": "Århus"}\n', "city"),
    ],
)
def test_every_form_of_a_file_is_read(tmp_path: Path, file: str, text: str, column: str | None, ending: str) -> None:
    path = tmp_path / f"{file}{ending}"
    data = text.encode()
    if ending == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(file, data)
    else:
        path.write_bytes(gzip.compress(data) if ending else data)
    names = NameList.read(path, column=column)
    assert len(names) == 2
    assert tags_of(names, ["in", "new", "york", ",", "Århus"]) == ["O", "B", "I", "O", "B"]


def test_a_list_may_have_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_bytes("Århus\n".encode("latin-1"))
    names = NameList.read(with_encoding(tmp_path / "names.txt", "latin-1"))
    assert tags_of(names, ["Århus"]) == ["B"]


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("a.txt", b"", r"a\.txt: no names; write one name per line"),
        ("a.txt", b"# comment\n\n", r"a\.txt: no names; write one name per line"),
        ("a.txt", b"--\n!\n", r"a\.txt: no name with a letter or a digit among 2; write one name per line"),
        ("a.txt", b"Ann\nK\xf6ln\n", r"a\.txt:2: not UTF-8: byte 0xf6 .* it looks like latin-1: convert it"),
        ("a.txt", b"Ann\n" + b"x" * 1001, r"a\.txt:2: a name of 1,001 characters is longer than 1,000 \('x{30}\."),
        ("a.csv", b"name,id\n", r"a\.csv: no names; write one name per line"),
        ("a.csv", b"name,id\nAnn,1\nBob\n", r"a\.csv:3: has 1 cells, but the first row has 2"),
        ("a.csv", b"name\n\"Ann\n", r"a\.csv:2: the row that begins here is not CSV .*; close the quote"),
        ("a.csv", b"name\nAnn\n\xf6\n", r"a\.csv:3: not UTF-8: byte 0xf6"),
        ("a.jsonl", b'{"name": "Ann"}\n{"name"\n', r"a\.jsonl:2: not JSON \(.*\); write one object per line"),
        ("a.jsonl", b"[" * 9999, r"a\.jsonl:1: not JSON"),
        ("a.jsonl", b'"Ann"\n', r"a\.jsonl:1: expected an object such as \{\"name\": \"New York\"\}, found 'Ann'"),
        ("a.jsonl", b'{"nam": "Ann"}\n', r"a\.jsonl:1: has no column 'name'; did you mean 'nam'\?"),
        ("a.jsonl", b'{"x": 1, "y": 2}\n', r"a\.jsonl:1: has no column 'name'; known: x, y"),
        ("a.jsonl", b'{"name": 3}\n', r"a\.jsonl:1: a name must be a text, found 3; put quotes around it"),
        ("a.jsonl", b'{"name": "\xf6"}\n', r"a\.jsonl:1: not UTF-8: byte 0xf6"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_reported_with_its_place(tmp_path: Path, file: str, data: bytes, message: str) -> None:
    (tmp_path / file).write_bytes(data)
    with pytest.raises(DataError, match=message):
        NameList.read(tmp_path / file)


def test_a_column_that_is_not_there_is_reported_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,title\n1,Ann\n")
    with pytest.raises(DataError, match=r"a\.csv:2: has no column 'place'; known: id, title"):
        NameList.read(tmp_path / "a.csv", column="place")
    (tmp_path / "a.txt").write_text("Ann\n")
    with pytest.raises(
        OptionError, match=r"a\.txt: a list with one name per line has no column 'place'; leave `column`"
    ):
        NameList.read(tmp_path / "a.txt", column="place")


def test_a_file_that_is_not_there_and_names_of_python_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"names\.txt: no such file"):
        NameList.read(tmp_path / "names.txt")
    with pytest.raises(DataError, match=r"^names: no names; write one name per line$"):
        NameList.of([])
    with pytest.raises(OptionError, match=r"^expected a list of names, found the text 'names\.txt'; read a file with "):
        NameList.of("names.txt")
    with pytest.raises(DataError, match=r"^names:2: a name must be a text, found 3; put quotes around it$"):
        NameList.of(["a", 3])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"^names:2: a name of 2,000 characters is longer than 1,000"):
        NameList.of(["a", "b" * 2000])


def test_more_names_than_the_limit_are_refused() -> None:
    with allow_limits(names=2), pytest.raises(SapoError, match=r"names: 3 names are more than 2; .*names=3"):
        NameList.of(["a", "b", "c"])
