"""Rerankers learn which candidate is right, say how sure they are, and survive a file."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sapo.cli.main import app
from sapo.errors import DataError, ModelError
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.training.rerank import CandidateList, Reranker, parse_list, read_lists, train_reranker


def noisy_lists(seed: int, count: int = 400) -> list[CandidateList]:
    """Three candidates; the right one is drawn by a softmax of two features, one of them in thousands."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(count):
        a, b = rng.normal(size=3), 1000 * rng.normal(size=3)
        odds = np.exp(1.5 * a - b / 1000)
        gold = int(rng.choice(3, p=odds / odds.sum()))
        lists.append(CandidateList([{"a": float(x), "b": float(y)} for x, y in zip(a, b, strict=True)], gold))
    return lists


def test_probabilities_are_as_sure_as_they_are_right() -> None:
    model = train_reranker(noisy_lists(0))
    test = noisy_lists(1)
    right = [model.probabilities(one.features)[one.gold or 0] for one in test]
    first = [model.probabilities(one.features).argmax() == one.gold for one in test]
    sure = [model.probabilities(one.features).max() for one in test]
    assert np.mean(first) > 0.6
    assert abs(np.mean(sure) - np.mean(first)) < 0.06
    assert -np.mean(np.log(right)) < 0.85  # 1.1 for three candidates of which nothing is known


def test_one_feature_has_the_weight_that_its_scale_asks_for() -> None:
    model = train_reranker(noisy_lists(2))
    a, b = (float(model.weights[model.names[name]]) for name in "ab")
    assert a > 0 > b
    assert math.isclose(a / -b, 1500, rel_tol=0.4)


def test_a_reranker_survives_a_file(tmp_path: Path) -> None:
    model = train_reranker(noisy_lists(0, 80))
    model.save(tmp_path / "r.sapo")
    again = Reranker.load(tmp_path / "r.sapo")
    for one in noisy_lists(1, 10):
        assert (again.probabilities(one.features) == model.probabilities(one.features)).all()


@pytest.mark.parametrize("change", ["kind", "version", "temperature", "weights", "name.offsets", "names"])
def test_a_damaged_reranker_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "r.sapo"
    train_reranker(noisy_lists(0, 20)).save(path)
    header, arrays = load_arrays(path, "")
    if change in header:
        header[change] = -1
    else:
        arrays[change] = arrays[change][:-1]
    save_arrays(path, header, arrays)
    with pytest.raises(ModelError, match="not a reranker of sapo"):
        Reranker.load(path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], 'expected an object with a list "candidates"'),
        ({"candidates": []}, "the list has no candidates"),
        ({"candidates": [{}]}, 'candidate 0: expected "features"'),
        ({"candidates": [{"features": []}]}, "not empty"),
        ({"candidates": [{"features": {"a": "x"}}]}, "the feature 'a' must be a number below 1e30, not \"x\""),
        ({"candidates": [{"features": {"a": True}}]}, "must be a number"),
        ({"candidates": [{"features": {"a": 1e300}}]}, "must be a number"),
        ({"candidates": [{"features": ["a"]}], "gold": 1}, "gold must be null or from 0 to 0, not 1"),
        ({"candidates": [{"features": ["a"]}], "gold": "0"}, "gold must be null"),
    ],
)
def test_a_bad_list_is_one_clear_line(record: object, message: str) -> None:
    with pytest.raises(DataError, match=f"^x.jsonl:3: .*{message}") as caught:
        parse_list(record, "x.jsonl:3")
    assert "\n" not in str(caught.value)


def test_lists_without_gold_cannot_be_learned() -> None:
    with pytest.raises(DataError, match="nothing to learn from"):
        train_reranker([CandidateList([{"a": 1.0}])])


def test_the_commands_train_and_apply(tmp_path: Path) -> None:
    data = tmp_path / "lists.jsonl"
    lines = [{"candidates": [{"features": f, "id": k} for k, f in enumerate(one.features)], "gold": one.gold, "n": i}
             for i, one in enumerate(noisy_lists(0, 100))]  # fmt: skip
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    model, out = str(tmp_path / "r.sapo"), str(tmp_path / "out.jsonl")
    done = CliRunner().invoke(app, ["rerank", "train", str(data), "-o", model], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "2 features of 100 lists written" in done.output
    done = CliRunner().invoke(app, ["rerank", "apply", model, str(data), "-o", out], catch_exceptions=False)
    assert "the right candidate is first in" in done.output
    ranked = list(read_lists(out))
    assert [record["n"] for _, record in ranked] == list(range(100))
    for before, (_, after) in zip(lines, ranked, strict=True):
        shares = [one["probability"] for one in after["candidates"]]
        assert shares == sorted(shares, reverse=True)
        assert after["candidates"][after["gold"]]["id"] == before["gold"]


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "l.jsonl").write_text('{"candidates": [{"features": ["a"]}], "gold": 0}\nno\n')
    with pytest.raises(DataError, match=r"l\.jsonl:2: not JSON"):
        list(read_lists(tmp_path / "l.jsonl"))
