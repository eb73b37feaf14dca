"""Every command does what its help says, in the ways people call it."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

import sapo
from sapo.cli.main import app

COMMANDS = ["train", "tag", "eval", "calibrate", "compare", "inspect", "explain", "convert", "demo"]


def sentences(text: str) -> list[list[list[str]]]:
    """The fields of a column file."""
    return [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]


def test_the_version_is_told(run: Any) -> None:
    assert run("--version").stdout == f"sapo {sapo.__version__}\n"


def test_the_options_of_train_stand_under_headings_without_networks_and_clusters(run: Any) -> None:
    told = run("train", "--help").stdout
    headings = ["Files:", "Features and labels:", "Learning:", "Long runs:", "More sentences for a model:", "Other:"]
    assert [line for line in told.splitlines() if line.endswith(":") and not line.startswith(" ")] == headings
    shown = re.findall(r"^  (?:-\w, )?(--[\w-]+)", told, re.MULTILINE)
    names = [one.opts for one in app.commands["train"].params if isinstance(one, click.Option)]
    given = {next(name for name in some if name.startswith("--")) for some in names}
    assert sorted(shown) == sorted({"--help", *given} - {"--ray"})
    assert "hidden" not in told
    assert "--learner bilstm-sapo, bilstm-crf ..., see docs/how-to/neural.md" in told
    assert "--ray ADDRESS, see docs/how-to/cluster.md" in told


def test_help_lists_all_commands(run: Any) -> None:
    told = run("--help").stdout
    assert all(re.search(rf"^\W*{name}\s", told, re.MULTILINE) for name in COMMANDS)
    assert run("-h").stdout == told


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(run: Any, name: str) -> None:
    told = run(name, "--help").stdout
    assert re.search(rf"^Usage: .*{name}", told.strip())
    assert "--help" in told


def test_training_tells_how_it_goes(house: Any) -> None:
    lines = house.told.splitlines()
    assert re.match(r"100 sentences, [\d,]+ tokens, \d+ labels, [\d,]+ features \(template chunking\)", lines[0])
    assert 3 <= len(lines) <= 5
    assert not any(line.startswith("epoch ") for line in lines)  # those are for -v
    assert re.match(rf"saved {house.model} \(\d+ kB\); next: sapo eval", lines[-1])


def test_quiet_training_from_a_zipped_pipe_gives_the_same_file(run: Any, house: Any, tmp_path: Path) -> None:
    zipped = gzip.compress(house.train.read_bytes())
    out = tmp_path / "chunk.sapo"
    done = run("train", "-", "-o", out, "-t", "chunking", "-e", 4, "--set", "tolerance=0", "-q", input=zipped)
    assert (done.stdout, done.stderr) == ("", "")
    assert out.read_bytes() == house.model.read_bytes()


def test_a_run_can_be_cut_in_two_and_leaves_a_log(run: Any, house: Any, tmp_path: Path) -> None:
    state, log, out = tmp_path / "run.state", tmp_path / "log.jsonl", tmp_path / "chunk.sapo"
    fixed = (
        "--rate",
        0.1,
        "--strength",
        1,
        "--set",
        "decay=0.9",
        "--set",
        "average=0",
    )  # what is chosen depends on the passes
    always = ("-t", "chunking", "--set", "tolerance=0", "-q", *fixed, "-o")
    straight = tmp_path / "straight.sapo"
    run("train", house.train, *always, straight, "-e", 4)
    halves = (*always, out, "--checkpoint", state, "--log", log)
    run("train", house.train, *halves, "-e", 2)
    assert out.read_bytes() != straight.read_bytes()
    run("train", house.train, *halves, "-e", 4, "--resume")
    assert out.read_bytes() == straight.read_bytes()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["event"] for entry in entries] == ["start", "pass", "pass", "start", "pass", "pass"]
    assert [entry["epoch"] for entry in entries if entry["event"] == "pass"] == [1, 2, 3, 4]
    assert entries[0]["sentences"] == 100
    assert entries[0]["settings"]["epochs"] == 2
    assert {"objective", "dev", "w_complexity", "seconds", "tokens_per_second"} <= entries[1].keys()


def test_a_dev_set_chooses_the_pass_and_unseen_labels_are_a_warning_only(run: Any, house: Any, tmp_path: Path) -> None:
    dev = tmp_path / "dev.txt"
    known = "\n\n".join(house.train.read_text().split("\n\n")[:20])
    dev.write_text(f"{known}\n\nthe DT B-STRANGE\n")
    done = run("train", house.train, "--dev", dev, "-o", tmp_path / "m", "-e", 2, "-q")
    warning = "sapo: warning: the label 'B-STRANGE' of the dev data never occurs in the training data\n"
    assert done.stderr == warning
    record = json.loads(run("inspect", tmp_path / "m", "--json").stdout)["record"]
    assert all(0 < entry["dev"] < 1 for entry in record["history"])


def test_a_tagged_column_file_has_a_further_column(run: Any, house: Any, tmp_path: Path) -> None:
    out = tmp_path / "tagged.txt"
    done = run("tag", house.model, house.test, "-o", out)
    assert (done.stdout, done.stderr) == ("", "")
    given, found = sentences(house.test.read_text()), sentences(out.read_text())
    assert [[line[:3] for line in sentence] for sentence in found] == given
    tagger = sapo.Tagger.load(house.model)
    expected = tagger.tag_many([(line[0], line[1]) for line in sentence] for sentence in given)
    assert [[line[3] for line in sentence] for sentence in found] == expected
    # the table of the tagged file is that of tagging on the fly
    assert run("eval", out).stdout == run("eval", house.model, house.test).stdout
    # through pipes, without the label, and zipped, the tags are the same
    bare = "\n\n".join("\n".join(" ".join(line[:2]) for line in sentence) for sentence in given)
    piped = run("tag", house.model, "-", input=bare).stdout
    assert [[line[2] for line in sentence] for sentence in sentences(piped)] == expected
    zipped = tmp_path / "test.txt.gz"
    zipped.write_bytes(gzip.compress(house.test.read_bytes()))
    run("tag", house.model, zipped, "-o", tmp_path / "tagged.txt.gz")
    assert gzip.decompress((tmp_path / "tagged.txt.gz").read_bytes()) == out.read_bytes()


def test_nbest_gives_ranked_taggings_with_probabilities(run: Any, house: Any) -> None:
    told = run("tag", house.model, "--nbest", 3, input="The DT\ncat NN\n\nIt PRP\nsleeps VBZ\n").stdout
    blocks = told.strip().split("\n\n")
    assert len(blocks) == 6
    assert [block.splitlines()[0] for block in blocks] == [f"# tagging = {rank}" for rank in (1, 2, 3)] * 2
    shares = [float(block.splitlines()[2].removeprefix("# p_k = ")) for block in blocks]
    assert shares[:3] == sorted(shares[:3], reverse=True)
    assert sum(shares[:3]) == pytest.approx(1, abs=1e-5)
    found = sapo.Tagger.load(house.model).nbest([("The", "DT"), ("cat", "NN")], 3)
    assert [[line.split()[2] for line in block.splitlines()[4:]] for block in blocks[:3]] == [one.tags for one in found]


def test_jsonl_is_tagged_as_jsonl(run: Any, house: Any) -> None:
    record = {"id": 7, "tokens": ["The", "cat"], "pos": ["DT", "NN"]}
    plain = json.loads(run("tag", house.model, "--format", "jsonl", input=json.dumps(record)).stdout)
    assert plain == {**record, "tags": ["B-NP", "I-NP"]}
    ranked = json.loads(run("tag", house.model, "--format", "jsonl", "--nbest", 2, input=json.dumps(record)).stdout)
    assert [set(one) for one in ranked.pop("nbest")] == [{"tags", "p_k", "probability"}] * 2
    assert 0 < ranked.pop("top_n_mass") <= 1
    assert ranked == plain


def test_a_jsonl_sentence_without_tokens_is_tagged_among_others(run: Any, house: Any) -> None:
    records = [{"tokens": []}, {"tokens": ["The", "dog"], "pos": ["DT", "NN"]}]
    text = "".join(json.dumps(record) + "\n" for record in records)
    told = run("tag", house.model, "--format", "jsonl", input=text).stdout
    assert [json.loads(line)["tags"] for line in told.splitlines()] == [[], ["B-NP", "I-NP"]]


def test_a_lone_surrogate_of_json_does_not_make_the_output_something_else_than_utf8(run: Any, house: Any) -> None:
    text = '{"tokens": ["\\ud83d"], "pos": ["NN"]}\n'
    once = run("tag", house.model, "--format", "jsonl", input=text).stdout
    assert json.loads(once)["tokens"] == ["\ud83d"]
    assert run("tag", house.model, "--format", "jsonl", input=once).stdout == once


def test_conllu_is_trained_on_and_tagged_in_place(run: Any, tmp_path: Path) -> None:
    rows = [
        "# text = cats sleep",
        "1\tcats\tcat\tNOUN\t_\t_\t0\t_\t_\t_",
        "2\tsleep\tsleep\tVERB\t_\t_\t1\t_\t_\t_",
        "",
    ]
    corpus = tmp_path / "train.conllu"
    corpus.write_text("\n".join([*rows, ""]) * 4)
    run("train", corpus, "-o", tmp_path / "pos.sapo", "-e", 3, "-q")
    bare = corpus.read_text().replace("NOUN", "_").replace("VERB", "_")
    (tmp_path / "bare.conllu").write_text(bare)
    assert run("tag", tmp_path / "pos.sapo", tmp_path / "bare.conllu").stdout == corpus.read_text()
    elsewhere = run("tag", tmp_path / "pos.sapo", tmp_path / "bare.conllu", "--label", "xpos").stdout
    assert elsewhere.splitlines()[1].split("\t")[3:5] == ["_", "NOUN"]


@pytest.mark.parametrize(("label", "columns"), [("feats", [5]), ("upos+feats", [3, 5])])
def test_morphology_is_learned_tagged_in_place_and_scored_by_key(
    run: Any, tmp_path: Path, label: str, columns: list[int]
) -> None:
    rows = [
        "# text = cats' sleep",
        "1-2\tcats'\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tcats\tcat\tNOUN\tN\tCase=Gen|Number=Plur\t0\t_\t_\t_",
        "2\t'\t'\tPART\t_\t_\t1\t_\t_\t_",
        "2.1\tx\tx\tX\t_\tFoo=Bar\t1\t_\t_\t_",
        "3\tsleep\tsleep\tVERB\t_\tVerbForm=Inf\t1\t_\t_\t_",
        "",
    ]
    corpus, bare = tmp_path / "train.conllu", tmp_path / "bare.conllu"
    corpus.write_text("\n".join([*rows, ""]) * 4)
    run("train", corpus, "-o", tmp_path / "m.sapo", "-e", 5, "-q", "--label", label)
    for at in (2, 3, 5):  # the words
        fields = rows[at].split("\t")
        rows[at] = "\t".join("_" if column in columns else field for column, field in enumerate(fields))
    bare.write_text("\n".join([*rows, ""]) * 4)
    assert run("tag", tmp_path / "m.sapo", bare).stdout == corpus.read_text()
    table = run("eval", tmp_path / "m.sapo", corpus).stdout.splitlines()
    keys = ["upos"] * (label != "feats") + ["Case", "Number", "VerbForm"]
    assert [line.split(":")[0].strip() for line in table[4:]] == keys
    assert table[-1].endswith("precision: 100.00%; recall: 100.00%; FB1: 100.00  4")
    scores = json.loads(run("eval", tmp_path / "m.sapo", corpus, "--json").stdout)
    assert list(scores["features"]) == keys
    assert sapo.Tagger.load(tmp_path / "m.sapo").evaluate(corpus).features["Case"].f1 == 1.0


def test_eval_prints_the_familiar_table_or_json(run: Any, house: Any) -> None:
    table = run("eval", house.model, house.test).stdout
    assert re.match(r"processed \d+ tokens with \d+ phrases; found: \d+ phrases; correct: \d+\.\n", table)
    scores = json.loads(run("eval", house.model, house.test, "--json").stdout)
    assert f"processed {scores['tokens']} tokens" in table
    perfect = run("eval", "-", "--label", "-2", "--predicted", "-1", "--strict", input="a B-NP B-NP\nb O O\n").stdout
    assert "100.00" in perfect


def test_inspect_shows_what_is_in_a_model(run: Any, house: Any) -> None:
    told = run("inspect", house.model, "--top", 2, "--label", "B-NP").stdout
    for part in ("labels", "features", "100 sentences", "4 epochs", "pos[-1] & pos[0]", "strongest features", "-> "):
        assert part in told
    assert len(re.findall(r"^ +[+-][\d.]+  (?:word|pos)\[", told, re.MULTILINE)) == 4  # of B-NP and S-NP
    described = json.loads(run("inspect", house.model, "--json").stdout)
    assert described["columns"] == ["word", "pos"]
    assert described["labels"] == list(sapo.Tagger.load(house.model).labels)
    assert described["record"]["settings"]["epochs"] == 4
    assert all(len(entries) == 5 for entries in described["strongest_features"].values())


def test_convert_there_and_back_changes_nothing(run: Any, house: Any, tmp_path: Path) -> None:
    done = run("convert", house.test, tmp_path / "test.jsonl")
    assert done.stderr == f"10 sentences written to {tmp_path / 'test.jsonl'}\n"
    back = run("convert", tmp_path / "test.jsonl", "-", "--to", "columns").stdout
    assert sentences(back) == sentences(house.test.read_text())


def test_convert_changes_the_scheme_of_a_pipe(run: Any) -> None:
    text = "a B-X\nb I-X\nc B-X\nd O\n"
    assert run("convert", "-", "--scheme", "bioes", input=text).stdout.split() == [
        "a",
        "B-X",
        "b",
        "E-X",
        "c",
        "S-X",
        "d",
        "O",
    ]


def test_the_demo_trains_three_taggers_and_shows_them(run: Any) -> None:
    told = run("demo").stdout
    assert len(re.findall(r"(?:accuracy|F1) +\d\d\.\d on its held-out part", told)) == 3
    assert told.count("the three best taggings") == 2
    assert "B-PER" in told


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ["train", "--templte", "pos"],
            "sapo train: no such option --templte; did you mean --template? See sapo train --help",
        ),
        (["train", "--qqqq"], "sapo train: no such option --qqqq; see sapo train --help"),
        (["trian", "x"], "sapo: no such command 'trian'"),
        (["train", "-o", "m"], "sapo train: missing argument 'TRAIN'; see sapo train --help"),
        (["train", "x"], "sapo train: missing option '--output' / '-o'; see sapo train --help"),
        (["eval", "x", "y", "z"], "sapo eval: takes a model and a file, found 3 files: sapo eval MODEL FILE"),
        (["calibrate", "m", "d", "--by", "x"], "sapo calibrate: invalid value for '--by': 'x' is not one of"),
        (
            ["compare", "a", "b", "c", "--rounds", "0"],
            "sapo compare: invalid value for '--rounds': 0 is not in the range",
        ),
        (["train", "x", "-o", "m", "--strength"], "sapo train: option '--strength' requires an argument; see"),
    ],
)
def test_mistakes_in_the_command_line_are_one_line_that_names_the_help(run: Any, args: list[str], line: str) -> None:
    told = run(*args, ends=2)
    assert told.stderr.startswith(line)
    assert told.stderr.count("\n") == 1
    assert "--help" in told.stderr
    assert told.stdout == ""


def test_the_demo_fits_into_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from sapo.cli.demo import show_rows

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    words = [f"word{number}" for number in range(7)]
    show_rows({"": words, "pos": ["NN"] * 7}, [5] * 7)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 30
    assert [line.split() for line in lines[::2]] == [words[:3], words[3:6], words[6:]]
    assert [len(line.split()) for line in lines[1::2]] == [4, 4, 2]
