"""Commands understand what users mean, or tell them: the order of arguments, upper case, names from other tools."""

from pathlib import Path
from typing import Any

import pytest

import sapo
from answers import answer


def last(*args: object) -> str:
    done = answer(*args)
    assert done.code == 2, done
    (line,) = done.errors
    return line


@pytest.mark.parametrize(
    ("command", "more"),
    [("tag", []), ("eval", []), ("errors", []), ("prune", ["--half"]), ("calibrate", [])],
)
def test_a_swapped_order_is_recognized(house: Any, tmp_path: Path, command: str, more: list[str]) -> None:
    out = ["-o", tmp_path / "out"] if command in ("prune", "calibrate") else []
    right = answer(command, house.model, house.test, *more, *out)
    swapped = answer(command, house.test, house.model, *more, *out)
    assert (right.code, swapped.code) == (0, 0)
    assert swapped.out == right.out
    (note,) = [line for line in swapped.lines if line not in right.lines]
    assert note == f"sapo: the model comes first; taken as: sapo {command} {house.model} {house.test}"


def test_a_swapped_order_is_recognized_beside_a_sentence_and_two_models(house: Any) -> None:
    assert answer("explain", "The/DT", house.model, "--token", 1).out
    gold_first = answer("compare", house.test, house.model, house.model, "--rounds", 10)
    assert gold_first.out == answer("compare", house.model, house.model, house.test, "--rounds", 10).out
    assert len(gold_first.lines) == 1


@pytest.mark.parametrize("command", ["check", "train -q -o x", "pipeline --add a=b.txt -q"])
def test_a_model_in_the_place_of_data_is_named(house: Any, tmp_path: Path, command: str) -> None:
    name, *more = command.replace(" x", f" {tmp_path}/x").split()
    assert last(name, house.model, *more).startswith(
        f"sapo: {house.model}: is a model of sapo, not a file of sentences"
    )


def test_a_model_is_not_converted_into_data(house: Any, tmp_path: Path) -> None:
    for more in ([], [tmp_path / "x", "--split", "8,1,1"]):
        assert "is a model: give an output that ends in .sapo or .crfsuite" in last("convert", house.model, *more)


def test_eval_has_two_forms(house: Any, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.txt"
    answer("tag", house.model, house.test, "-o", tagged)
    assert answer("eval", house.model, house.test).out == answer("eval", tagged).out
    assert answer("eval", house.model, house.test).out == answer("eval", tagged).out
    forms = "sapo eval MODEL FILE, or sapo eval FILE"
    assert forms in last("eval", house.model)
    assert forms in last("eval", house.test, house.test)
    shown = answer("eval", "--help").out
    assert "[MODEL] FILE" in shown
    assert "sapo eval chunk.sapo test.txt" in shown
    assert "sapo eval tagged.txt" in shown


def test_the_help_lists_the_commands_in_the_order_of_use() -> None:
    shown = answer("--help").out
    headings = [line[:-1] for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", "Start", "Data", "Train", "Use", "Other structures", "Judge", "Models"]
    names = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert names.index("demo") < names.index("check") < names.index("train") < names.index("tag") < names.index("eval")


def test_choices_are_taken_in_any_case(house: Any, tmp_path: Path) -> None:
    options = "--learner CRF --scheme BIOES -t Chunking --set regularizer=L1 --set order=Draw --set search=TopN"
    done = answer("train", house.test, "-o", tmp_path / "m", "-e", 1, "-q", *options.split(), "--format", "Columns")
    assert done.code == 0, done
    record = sapo.Tagger.load(tmp_path / "m").model.record
    assert (record["learner"], record["settings"]["regularizer"]) == ("crf", "l1")
    assert answer("tag", house.model, house.test, "--search", "ASTAR").code == 0
    assert answer("convert", house.test, "--scheme", "BILOU").code == 0
    assert answer("calibrate", house.model, house.test, "--by", "Tokens", "-o", tmp_path / "m").code == 0


def test_choices_are_taken_in_any_case_in_python() -> None:
    pairs = [(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])]
    tagger = sapo.train(pairs, learner="Perceptron", template="NER", scheme="Keep", rate="AUTO", epochs=1)
    assert tagger.model.record["learner"] == "perceptron"
    assert len(tagger.nbest(["in", "Oslo"], 2, search="AStar")) == 2


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--epoch", "--epochs"),
        ("--iterations", "--epochs"),
        ("--max-iter", "--epochs"),
        ("--passes", "--epochs"),
        ("--learning-rate", "--rate"),
        ("--lr", "--rate"),
        ("--c2", "--strength"),
        ("--l2", "--strength"),
        ("--c1", "--set regularizer=VALUE"),
        ("--regularizer", "--set regularizer=VALUE"),
        ("--regulariser", "--set regularizer=VALUE"),
        ("--stop-ratio", "--set stop_ratio=VALUE"),
        ("--workers", "--set workers=VALUE"),
        ("--algorithm", "--learner"),
        ("--validation", "--dev"),
        ("--random-state", "--seed"),
        ("--jobs", "--threads"),
        ("--min-freq", "--min-count"),
        ("--out", "--output"),
        ("--model", "--output"),
        ("--batch-size", "--set batch=VALUE"),
    ],
)
def test_options_of_other_tools_are_translated(given: str, meant: str) -> None:
    line = last("train", "train.txt", given, "1")
    assert line == f"sapo train: no such option {given}; did you mean {meant}? See sapo train --help"


def test_settings_of_other_tools_are_translated_in_python() -> None:
    for given, meant in (("learning_rate", "rate"), ("max_iter", "epochs"), ("c2", "strength"), ("epoch", "epochs")):
        with pytest.raises(sapo.SapoError, match=f"unknown setting '{given}'; did you mean '{meant}'"):
            sapo.train("train.txt", **{given: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["predict", "x"], "sapo: no such command 'predict'; did you mean 'tag'? See sapo --help"),
        (["evaluate", "x"], "sapo: no such command 'evaluate'; did you mean 'eval'? See sapo --help"),
        (["fit", "x"], "sapo: no such command 'fit'; did you mean 'train'? See sapo --help"),
        (["xyz"], "sapo: no such command 'xyz'; known: quickstart, demo, "),
        (["tag", "--model", "m", "f"], "sapo tag: no such option --model; give it without a name: sapo tag MODEL"),
        (["eval", "--model", "m", "f"], "sapo eval: no such option --model; give it without a name: sapo eval [MODEL]"),
        (["train", "f", "-o", "m", "-l", "lbfgs"], "sapo: unknown learner 'lbfgs'; did you mean 'crf-lbfgs'?"),
        (["train", "f", "-o", "m", "--scheme", "bio"], "sapo: --scheme must be one of iob2, bioes, "),
        (["convert", "f", "--scheme", "iobes"], "sapo: unknown scheme 'iobes'; did you mean 'bioes'?"),
        (["convert", "f", "--to", "jsnol"], "sapo: unknown format 'jsnol'; did you mean 'jsonl'?"),
    ],
)
def test_what_was_meant_is_named(args: list[str], line: str) -> None:
    assert last(*args).startswith(line)


def test_labels_columns_keys_and_presets_that_were_meant_are_named(house: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "ner_tags": ["X"]}\n')
    train = ("train", "-q", "-o", tmp_path / "m")
    assert "no label 'b-np'; did you mean 'B-NP'?" in last("inspect", house.model, "--label", "b-np")
    assert "no column 'chnk'; did you mean 'chunk'?" in last(*train, house.test, "--label", "chnk")
    assert "no column 'x'; the columns are word, pos, chunk" in last(*train, house.test, "--label", "x")
    assert "did you mean --label ner_tags?" in last(*train, tmp_path / "a.jsonl", "--label", "ner_tag")
    assert "did you mean --label ner_tags?" in last(*train, tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "gold": ["X"]}\n')
    assert "known here: tokens, gold; name the key with --label" in last(*train, tmp_path / "a.jsonl")
    assert "did you mean 'chunking'?" in last(*train, house.test, "-t", "chunk")


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("--nbest 0", "--nbest must be at least 1, not 0"),
        ("--nbest -1", "--nbest must be at least 1, not -1"),
        ("--nbest 1001", "--nbest: 1,001 taggings are more than 1,000; if that is right, use --limit n=1001"),
        ("--threads 100000", "--threads must be at most 1,024, not 100,000"),
        ("--search beam --width -4", "--width must be at least 1, not -4"),
        ("--width 10", "--width is for --search beam; add that, or leave it out"),
    ],
)
def test_numbers_of_tag_keep_to_their_rules(house: Any, options: str, rule: str) -> None:
    assert last("tag", house.model, house.test, *options.split()) == f"sapo: {rule}"


@pytest.mark.parametrize("name", ["epochs", "width", "threads", "piece", "seed"])
def test_absurd_settings_are_refused(name: str) -> None:
    with pytest.raises(sapo.SapoError, match=f"{name} must be at most [0-9,]+, not "):
        sapo.Settings(**{name: 10**20})


@pytest.mark.parametrize(
    ("options", "warnings"),
    [
        ("-l crf --n 5", ["--n is not used by crf"]),
        ("-l perceptron --rate 0.1 --strength 2", ["--rate is not used by perceptron", "--strength is not used by"]),
        ("-l crf-lbfgs --set piece=3 -e 1", ["--set piece is not used by crf-lbfgs"]),
        ("-l mira --set stop-ratio=5", ["--set stop_ratio is not used by mira"]),
        ("--set all_pairs=true", ["--set all_pairs is not used by sapo"]),
        ("--set width=5", ["--set width is not used: it is the width of --set search=beam"]),
        ("--set regularizer=none --strength 1", ["--strength is not used: --set regularizer=none has no strength"]),
        ("--set patience=3", ["--set patience is not used: it counts dev scores; give --dev FILE"]),
        ("--n 5 --rate 0.1 --strength 1 --set search=beam --set width=5", []),
        ("-l crf --rate 0.1 --strength 1 --set all_pairs=true", []),
    ],
)
def test_options_that_the_learner_does_not_use_are_told(
    house: Any, tmp_path: Path, options: str, warnings: list[str]
) -> None:
    done = answer("train", house.test, "-o", tmp_path / "m", "-t", "chunking", "-q", "--epochs", 1, *options.split())
    assert done.code == 0, done
    assert len(done.lines) == len(warnings)
    for line, warning in zip(done.lines, warnings, strict=True):
        assert line.startswith(f"sapo: warning: {warning}")


@pytest.mark.parametrize(
    "command",
    [
        "compare MODEL MODEL FILE --rounds 10",
        "calibrate MODEL FILE -o OUT",
        "prune MODEL FILE --half -o OUT",
        "explain MODEL --file FILE --token 1",
        "pipeline FILE --add MODEL",
        "convert FILE OUT --split 50,50",
    ],
)
def test_files_in_other_encodings_are_read(house: Any, tmp_path: Path, command: str) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(house.test.read_bytes() + "Köln NNP B-VP\n\n".encode("latin-1"))
    places = {"MODEL": house.model, "FILE": file, "OUT": tmp_path / "out"}
    args = [places.get(word, word) for word in command.split()]
    if "--add" in args:
        args[-1] = f"mine={house.model}"
    assert "use --encoding" in last(*args)
    done = answer(*args, "--encoding", "latin-1")
    assert done.code == 0, done
