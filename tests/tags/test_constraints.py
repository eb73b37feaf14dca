"""Constraints of gold tags: exceptions, rules, and lattices that never become impossible."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.jit.arrays import Floats, Ints, Longs
from sapo.tags.constraints import Constraints, bans_of, find_constraints, impossible_length
from sapo.training.gold import read_rules

LABELS = ["O", "B-X", "I-X"]


def corpus(*sentences: str, labels: list[str] | None = None) -> tuple[list[str], Ints, Longs]:
    listed = [sentence.split() for sentence in sentences]
    labels = labels or list(dict.fromkeys(tag for tags in listed for tag in tags if tag != "_"))
    gold = [-1 if tag == "_" else labels.index(tag) for tags in listed for tag in tags]
    return labels, np.array(gold, np.int32), np.cumsum([0, *map(len, listed)])


def forbidden(labels: list[str], bans: Floats) -> set[tuple[str, str]]:
    rows = [*labels, "start", "end"]
    return {(rows[row], labels[tag]) for row, tag in np.argwhere(bans < 0).tolist()}


def test_iob2_forbids_i_without_a_beginning() -> None:
    labels, gold, offsets = corpus("O B-X I-X", labels=LABELS)
    found, bans, notes = find_constraints(labels, gold, offsets)
    assert (found, notes) == (Constraints("iob2"), [])
    assert forbidden(labels, bans) == {("O", "I-X"), ("start", "I-X")}


def test_what_the_training_data_has_is_allowed_and_told() -> None:
    labels, gold, offsets = corpus(*["O B-X I-X B-X I-X"] * 5, "O I-X", "O I-X", "B-X O")
    found, bans, notes = find_constraints(labels, gold, offsets)
    assert found.exceptions == (("O", "I-X"),)
    assert forbidden(labels, bans) == {("start", "I-X")}
    assert len(notes) == 1
    assert notes[0].startswith("2 transitions of the training data are not valid iob2")


def test_exceptions_at_the_borders_are_found() -> None:
    labels, gold, offsets = corpus(*["S-X O B-X E-X"] * 9, "E-X S-X", "S-X B-X")
    found, bans, _ = find_constraints(labels, gold, offsets)
    assert found.exceptions == ((None, "E-X"), ("B-X", None))
    assert ("start", "E-X") not in forbidden(labels, bans)
    assert ("end", "B-X") not in forbidden(labels, bans)
    assert ("O", "E-X") in forbidden(labels, bans)
    assert Constraints.from_json(found.as_json()) == found


def test_parts_of_speech_have_no_constraints_and_neither_has_what_is_switched_off() -> None:
    assert not find_constraints(*corpus("DT NN VB"))[1].any()
    assert not find_constraints(*corpus("O B-X I-X"), on=False)[1].any()


def test_only_i_tags_never_make_a_lattice_impossible() -> None:
    found, bans, _ = find_constraints(*corpus("I-X I-X", "O I-X"))
    assert found.scheme == "iob1"
    assert not bans.any()


def test_constraints_are_off_where_some_length_would_have_no_valid_tagging() -> None:
    found, bans, notes = find_constraints(*corpus("B-X E-X", "B-X E-X B-X E-X"))
    assert found == Constraints()
    assert not bans.any()
    assert notes == ["constraints are off: no sentence of 1 tokens would have a valid bioes tagging"]


@pytest.mark.parametrize("seed", range(30))
def test_the_impossible_length_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bans = np.where(rng.random((5, 3)) < 0.6, -np.inf, 0).astype(np.float32)

    def possible(length: int) -> bool:
        return any(
            bans[3, path[0]] == 0 and bans[4, path[-1]] == 0 and all(bans[p, y] == 0 for p, y in pairwise(path))
            for path in product(range(3), repeat=length)
        )

    expected = next((length for length in range(1, 8) if not possible(length)), 0)
    assert impossible_length(bans) == expected


def test_rules_forbid_allow_and_bind_the_borders() -> None:
    labels = ["O", "B-X", "I-X", "B-Y"]
    rules = ("forbid B-* B-*", "allow B-X B-Y", "start O B-X", "start B-Y", "end O")
    bans = bans_of(Constraints(rules=rules), labels)
    assert forbidden(labels, bans) == {
        ("B-X", "B-X"),
        ("B-Y", "B-X"),
        ("B-Y", "B-Y"),
        ("start", "I-X"),
        ("end", "B-X"),
        ("end", "I-X"),
        ("end", "B-Y"),
    }


def test_a_rule_may_allow_what_the_scheme_forbids() -> None:
    found, bans, _ = find_constraints(*corpus("O B-X I-X", labels=LABELS), rules=["allow O I-X"])
    assert forbidden(LABELS, bans) == {("start", "I-X")}
    assert bans_of(found, LABELS).tolist() == bans.tolist()


def test_rules_name_labels_as_they_are_shown() -> None:
    labels, shown = ["O", "S-X", "B-X", "E-X"], ("O", "B-X", "B-X", "I-X")
    bans = bans_of(Constraints("bioes", rules=("forbid B-X B-X",)), labels, shown)
    assert {("S-X", "S-X"), ("S-X", "B-X")} <= forbidden(labels, bans)
    assert ("B-X", "E-X") not in forbidden(labels, bans)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["forbid B-X"], "rule 'forbid B-X': expected two labels, found 1"),
        (["prefer B-X O"], "rule 'prefer B-X O': unknown word 'prefer'"),
        (["forbid B-Z O"], "rule 'forbid B-Z O': no label matches 'B-Z'; the labels are O, B-X, I-X"),
        (["start"], "rule 'start': names no label"),
        ([""], "rule '': unknown word ''"),
        ([3], "rule 3: expected a string"),
        (["forbid * *"], "the rules leave no tagging for a sentence of 2 tokens"),
        (["start I-X"], "the rules leave no tagging for a sentence of 1 token; allow more"),
        (["forbid B-X I-X"], "training data: sentence 2 breaks the rules (forbid B-X I-X), which happens 1 time"),
        (["end O"], "training data: sentence 2 breaks the rules (end O), which happens 1 time"),
    ],
)
def test_impossible_rules_are_one_clear_line(rules: list[str], message: str) -> None:
    with pytest.raises(SapoError) as caught:
        find_constraints(*corpus("O O", "O B-X I-X"), rules=rules)
    assert str(caught.value).startswith(message) or message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_tags_must_have_a_tag_that_fits() -> None:
    labels, gold, offsets = corpus("S-X O", "B-X _ O", labels=["O", "S-X", "B-X", "E-X"])
    find_constraints(labels, gold, offsets)
    with pytest.raises(SapoError, match="sentence 2: no tags fit where some are missing"):
        find_constraints(labels, gold, offsets, rules=["forbid B-X E-X"])


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("# borders\nstart O B-*  # never inside\n\nforbid C# O\n")
    assert read_rules(path) == ["start O B-*", "forbid C# O"]
    path.write_text("# nothing\n")
    with pytest.raises(SapoError, match=r"rules.txt: contains no rule"):
        read_rules(path)
