"""benchmarks/zoo.py reads each corpus as it should, runs nothing twice, and its table says what was measured."""

import doctest
import gzip
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sapo import SapoError
from sapo.corpus.sample import sample_path
from sapo.features.ready import Entries

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
COLUMNS = "".join(f"Oslo{number}\t{number}\tB-LOC\nrains\t0\tO\n\n" for number in range(20))
CONLLU = "# text = au lac\n1-2\tau" + "\t_" * 8 + "\n1\tà\tà\tADP" + "\t_" * 6 + "\n2\tle\tle\tDET" + "\t_" * 6 + "\n\n"


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("zoo")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, text in (
        ("zoo/towns/train.txt.gz", COLUMNS),
        ("zoo/towns/test.txt.gz", COLUMNS),
        ("zoo/lakes/train.conllu.gz", CONLLU),
        ("zoo/lakes/dev.conllu.gz", CONLLU),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    return tmp_path


def a_run(score: float, seconds: float = 1.0) -> dict[str, Any]:
    return {"scores": {"test": score}, "measure": "F1", "labels": 3, "seconds": seconds, "processor_seconds": seconds}


@pytest.mark.parametrize("name", ["zoo", "zoo_corpora", "zoo_table"])
def test_the_examples_are_right(zoo: ModuleType, name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_words_and_labels_are_read_from_columns_and_from_conllu(zoo: ModuleType, data: Path) -> None:
    towns, lakes = zoo.find_corpora(data, ["towns", "lakes"])
    assert next(towns.sentences("train")) == (("Oslo0", "rains"), ["B-LOC", "O"])
    assert list(lakes.sentences("train")) == [(("à", "le"), ["ADP", "DET"])]
    assert (towns.parts(), lakes.parts()) == (["test"], ["dev"])


def test_a_corpus_that_is_not_there_is_named(zoo: ModuleType, data: Path) -> None:
    with pytest.raises(SapoError, match=r"no corpus 'town'; known: lakes, towns.*did you mean 'towns'"):
        zoo.find_corpora(data, ["town"])
    with pytest.raises(SapoError, match="no corpus 'conll2000'"):  # all are wanted
        zoo.find_corpora(data)


def test_a_tenth_of_train_is_held_out_where_there_is_no_dev_file(zoo: ModuleType, data: Path, tmp_path: Path) -> None:
    towns, lakes = (corpus.with_dev(tmp_path) for corpus in zoo.find_corpora(data, ["towns", "lakes"]))
    words = {part: [words[0] for words, _ in towns.sentences(part)] for part in ("train", "dev")}
    assert words == {"train": [f"Oslo{number}" for number in range(18)], "dev": ["Oslo18", "Oslo19"]}
    assert (towns.name, towns.parts(), lakes.name) == ("towns (9/10)", ["dev"], "lakes")


def test_both_systems_see_the_same_features(zoo: ModuleType, data: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    tokens, _ = zoo.find_corpora(data, ["towns"])[0].pairs("train")[0]
    entries = Entries()
    numbers, per_token, _ = entries.read([tokens])
    ours = [(entries.names[number], entries.values[number]) for number in numbers]
    theirs = [item for token in pycrfsuite.ItemSequence(tokens).items() for item in token.items()]
    assert sorted(ours) == sorted(theirs)
    assert sum(per_token) == len(theirs)


@pytest.mark.parametrize("system", ["sapo", "presets", "ap"])
def test_a_run_has_a_score_for_each_part(zoo: ModuleType, tmp_path: Path, system: str) -> None:
    if system == "ap":
        pytest.importorskip("pycrfsuite")
    lines = Path(sample_path("train")).read_text("utf-8").split("\n\n")
    for part, texts in (("train", lines[:20]), ("dev", lines[20:25]), ("test", lines[:5])):
        (tmp_path / f"{part}.txt.gz").write_bytes(gzip.compress("\n\n".join(texts).encode()))
    result = zoo.Bench(zoo.Corpus("sample", tmp_path, ".txt.gz"), tmp_path).run(system, 0)
    assert result["measure"] == "F1"
    assert 0 < result["scores"]["dev"] < result["scores"]["test"] <= 100
    assert result["processor_seconds"] > 0


def test_a_run_that_is_in_the_file_is_not_run_again(
    zoo: ModuleType, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[tuple[str, int]] = []
    monkeypatch.setattr(zoo.Bench, "run", lambda bench, *which: run.append(which) or a_run(50.0))
    monkeypatch.setattr(zoo.Bench, "expected_seconds", lambda bench, peer: 601.0 if peer == "L-BFGS" else 1.0)
    results = tmp_path / "results.json"
    zoo.add_result(results, "towns/sapo/1", a_run(40.0))
    towns = zoo.find_corpora(data, ["towns"])
    zoo.run_all(towns, results, tmp_path, slow=False)
    assert ("sapo", 1) not in run
    assert ("L-BFGS", 0) not in run
    assert len(run) == 7
    zoo.run_all(towns, results, tmp_path, slow=True)
    assert run[7:] == [("L-BFGS", 0)]
    assert zoo.read_results(results)["towns/sapo/1"]["scores"] == {"test": 40.0}


def test_a_results_file_that_is_none_is_left_alone(zoo: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("[1, 2]")
    with pytest.raises(SapoError, match="not a results file"):
        zoo.add_result(tmp_path / "notes.json", "towns/sapo/1", a_run(40.0))
    assert (tmp_path / "notes.json").read_text() == "[1, 2]"


def test_the_table_compares_with_what_was_run(zoo: ModuleType, tmp_path: Path) -> None:
    results = {
        **{f"towns/sapo/{seed}": a_run(score) for seed, score in enumerate((80.0, 81.0, 82.0))},
        "towns/L-BFGS 0.1/0": a_run(80.5, 9.0),
        "towns/ap/0": a_run(81.25, 2.0),
        "lakes/sapo/0": a_run(70.0),
    }
    rows = zoo.make_rows(results, ["towns", "lakes", "hills"], "sapo", "test", zoo.SEEDS)
    lines = zoo.table(rows).splitlines()
    assert lines[2:4] == [
        "| towns | F1 | 3 | 81.00 ± 1.00 | 80.50 | - | 81.25 | -0.25 | +0.50 | 1.0 | 9.0 | - | 2.0 |",
        "| lakes | F1 | 3 | 70.00 ± 0.00 | - | - | - | - | - | 1.0 | - | - | - |",
    ]
    assert lines[-1] == (
        "above the best setting on 0 of 1 corpora, -0.25 on average; above L-BFGS 0.1 on 1 of 1 corpora, "
        "+0.50 on average."
    )
    pytest.importorskip("matplotlib")
    zoo.draw({"sapo": rows, "presets": []}, tmp_path / "zoo.svg")
    assert "<svg" in (tmp_path / "zoo.svg").read_text("utf-8")
