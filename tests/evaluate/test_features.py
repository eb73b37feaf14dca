"""Labels that hold morphology are counted key by key, refereed by a slow count of each token."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapo.evaluate.scores import FeatureCounts, score

BARE = ["_", "Case=Nom", "Case=Acc", "Case=Nom|Number=Sing", "Number=Plur", "Case=Acc,Nom|Number=Plur"]
WITH_POS = [f"{pos}|{feats}" for pos in ("NOUN", "X") for feats in BARE]


def values(label: str) -> dict[str, str]:
    pairs = (part.split("=") if "=" in part else ["upos", part] for part in label.split("|") if part != "_")
    return dict(pairs)


def tags(labels: list[str]) -> st.SearchStrategy[list[tuple[int, int]]]:
    numbers = st.integers(0, len(labels) - 1)
    return st.lists(st.tuples(numbers, numbers), max_size=30)


@given(st.sampled_from([BARE, WITH_POS]).flatmap(lambda labels: st.tuples(st.just(labels), tags(labels))))
def test_every_count_is_that_of_the_tokens_one_by_one(case: tuple[list[str], list[tuple[int, int]]]) -> None:
    labels, pairs = case
    gold, predicted = (np.array([pair[side] for pair in pairs], np.int32) for side in (0, 1))
    found = score(labels, gold, predicted, np.array([0, len(pairs)])).features
    for key in ("upos", "Case", "Number"):
        both = [(values(labels[a]).get(key), values(labels[b]).get(key)) for a, b in pairs]
        expected = FeatureCounts(
            gold=sum(a is not None for a, _ in both),
            found=sum(b is not None for _, b in both),
            correct=sum(a is not None and a == b for a, b in both),
            tokens=sum(a is not None or b is not None for a, b in both),
        )
        assert found.get(key, FeatureCounts(0, 0, 0, 0)) == expected
    assert list(found) == [key for key in ("upos", "Case", "Number") if key in found]


def test_the_table_has_a_line_for_each_key_and_json_an_entry() -> None:
    labels = ["NOUN|Case=Nom|Number[psor]=Sing", "NOUN|Case=Acc", "ADV|_"]
    scores = score(labels, np.array([0, 1, 2, 2]), np.array([0, 0, 2, 1]), np.array([0, 2, 4]))
    assert str(scores).split("\n") == [
        "processed 4 tokens in 2 sentences.",
        "token accuracy:     50.00% (2 of 4)",
        "sentence accuracy:   0.00% (0 of 2)",
        "by key, with the number of tokens that have it in gold or prediction:",
        "             upos: precision:  75.00%; recall:  75.00%; FB1:  75.00  4",
        "             Case: precision:  33.33%; recall:  50.00%; FB1:  40.00  3",
        "     Number[psor]: precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
    ]
    features = json.loads(json.dumps(scores.as_dict()))["features"]
    assert list(features) == ["upos", "Case", "Number[psor]"]
    assert features["Case"] == {
        "tokens": 3,
        "gold": 2,
        "found": 3,
        "correct": 1,
        "precision": 1 / 3,
        "recall": 0.5,
        "f1": 0.4,
    }


def test_other_labels_have_no_such_lines() -> None:
    for labels in (["NN", "="], ["O", "B-X"], ["NOUN|_", "VERB|_"]):
        scores = score(labels, np.array([0, 1]), np.array([1, 1]), np.array([0, 2]))
        assert scores.features == {}
        assert "by key" not in str(scores)
        assert "features" not in scores.as_dict()
