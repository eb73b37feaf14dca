"""Every mistake is one line on standard error and exit code 2, and no file is made or changed."""

import functools
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapo.tagger.arrayfile import load_arrays, save_arrays

Refused = Callable[..., str]


def snapshot(room: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(room.rglob("*"))}


@pytest.fixture
def refused(run: Any, tmp_path: Path) -> Refused:
    """Run in a directory of its own and give back the one line that was told."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "old.sapo").write_bytes(b"an old model")

    def call(*args: object, **more: Any) -> str:
        before = snapshot(tmp_path)
        more.setdefault("env", {"TMPDIR": str(tmp_path / "temporary")})
        warnings = more.pop("warnings", 0)
        done = run(*args, ends=2, cwd=tmp_path, **more)
        assert snapshot(tmp_path) == before
        *told, line = done.stderr.splitlines()
        assert len(told) == warnings
        assert line.startswith("sapo: ")
        return line.removeprefix("sapo: ")

    return call


GOOD = "The DT B-NP\ncat NN I-NP\n\nIt PRP B-NP\n"


def write(path: Path, content: str | bytes | None) -> None:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("missing.txt", None, "missing.txt: no such file"),
        ("latin.txt", b"The DT B-NP\nK\xf6ln NN I-NP\n", "latin.txt:2: not UTF-8: byte 0xf6 at place 2 of the line; "),
        ("uneven.txt", GOOD + "sleeps VBZ\n", "uneven.txt:5: expected 3 columns, found 2 ('sleeps VBZ')"),
        ("empty.txt", "", "empty.txt: has no sentences"),
        (
            "none.jsonl",
            '{"tokens": ["a"], "tags": ["X"]}\n{"tokens": [], "tags": []}\n',
            "none.jsonl:2: this sentence has no tokens; leave it out",
        ),
        ("bare.jsonl", '{"tokens": ["a"]}\n', "bare.jsonl:1: has no 'tags'; known here: tokens"),
    ],
)
def test_a_bad_corpus_is_not_trained_on(
    refused: Refused, tmp_path: Path, name: str, content: str | bytes | None, complaint: str
) -> None:
    write(tmp_path / name, content)
    assert refused("train", name, "-o", "old.sapo", "-q").startswith(complaint)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("missing.txt", None, "missing.txt: no such file"),
        (".", None, ".: is a directory, not a file"),
        ("latin.txt", b"a X\nb X\n\nK\xf6ln X\n", "latin.txt:4: not UTF-8: byte 0xf6 at place 2 of the line; "),
        (
            "latin.jsonl",
            b'{"tokens": ["K\xf6ln"], "tags": ["O"]}\n',
            "latin.jsonl:1: not UTF-8: byte 0xf6 at place 15 ",
        ),
        ("broken.txt.gz", b"\x1f\x8b\x08\x00 no more", "broken.txt.gz: broken gzip file"),
        ("broken.jsonl", '{"tokens": ["a"], ', "broken.jsonl:1: not JSON"),
        ("uneven.jsonl", '{"tokens": ["a", "b"], "tags": ["X"]}\n', "uneven.jsonl:1: 2 tokens but 1 tags"),
    ],
)
def test_a_bad_corpus_is_not_converted(
    refused: Refused, tmp_path: Path, name: str, content: str | bytes | None, complaint: str
) -> None:
    write(tmp_path / name, content)
    assert refused("convert", name, "old.sapo").startswith(complaint)


def test_a_bad_dev_set_is_refused_before_training(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(GOOD)
    (tmp_path / "dev.txt").write_text("\n")
    assert refused("train", "train.txt", "--dev", "dev.txt", "-o", "new.sapo", "-q") == "dev.txt: has no sentences"


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("chunkin", "no template 'chunkin': neither a file nor a preset; did you mean 'chunking'?"),
        ("word[0] &\n", "mine.txt:1: expected a column or a function, found 'the end' in 'word[0] &'; write for"),
        ("\nlemma[0]\n", "mine.txt:2: 'lemma[0]' uses the column 'lemma', which is not there; the columns are word"),
    ],
)
def test_a_bad_template_is_refused(refused: Refused, tmp_path: Path, template: str, complaint: str) -> None:
    (tmp_path / "train.txt").write_text(GOOD)
    (tmp_path / "mine.txt").write_text(template)
    name = "mine.txt" if "\n" in template else template
    assert refused("train", "train.txt", "-t", name, "-o", "new.sapo", "-q").startswith(complaint)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--label", "7"], "train.txt: there is no column 7; it has 3, from 0 to 2"),
        (["--rate", "0"], "--rate must be a finite number, more than 0, not 0"),
        (["--min-count", "0"], "--min-count must be at least 1, not 0"),
        (["--strength", "1e9"], "the strength 1000000000.0 is too large for 2 sentences at the rate 0.2; lower one"),
        (["-o", "-"], "a model cannot go to standard output; give the name of a file with -o"),
        (["--resume"], "--resume needs --checkpoint FILE"),
    ],
)
def test_a_bad_option_is_refused(refused: Refused, tmp_path: Path, options: list[str], complaint: str) -> None:
    (tmp_path / "train.txt").write_text(GOOD)
    assert refused("train", "train.txt", "-o", "old.sapo", "-q", *options).startswith(complaint)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-o", "no/such/place.sapo"], "no/such/place.sapo: cannot be written, there is no directory no/such"),
        (["-o", "temporary"], "temporary: is a directory; give the name of a file"),
        (["-o", "new.sapo", "--checkpoint", "no/run.state"], "no/run.state: cannot be written"),
        (["-o", "new.sapo", "--log", "no/log.jsonl"], "no/log.jsonl: cannot be written"),
    ],
)
def test_what_cannot_be_written_is_found_before_anything_is_read(
    refused: Refused, options: list[str], complaint: str
) -> None:
    assert refused("train", "missing.txt", "-q", *options).startswith(complaint)


@pytest.fixture(scope="session")
def bad_models(house: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    room = tmp_path_factory.mktemp("models")
    data = house.model.read_bytes()
    header, arrays = load_arrays(house.model, "a model")
    (room / "truncated").write_bytes(data[: len(data) // 2])
    (room / "damaged").write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    (room / "foreign").write_text("The DT B-NP\n" * 50)
    (room / "empty").touch()
    save_arrays(room / "newer", {**header, "format": 99}, arrays)
    labels = arrays["weight.labels"].copy()
    labels[:, 0] = 255
    save_arrays(room / "tampered", header, {**arrays, "weight.labels": labels})
    return {path.name: path for path in room.iterdir()}


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("truncated", "not a sapo model: "),
        ("damaged", "not a sapo model: its checksum is wrong: it was changed or damaged"),
        ("foreign", "not a sapo model: it begins like some other file, or its end is missing"),
        ("empty", "not a sapo model: it is too short"),
        ("newer", "has format 99, this sapo reads format 2; install a newer sapo"),
        ("tampered", "not a sapo model: its parts do not fit together"),
    ],
)
def test_a_bad_model_is_refused(
    refused: Refused, bad_models: dict[str, Path], house: Any, name: str, complaint: str
) -> None:
    model = bad_models[name]
    assert refused("tag", model, house.test, "-o", "out.txt").startswith(f"{model}: {complaint}")


@pytest.mark.parametrize(
    "args",
    [
        ("tag", "missing.sapo", "{test}", "-o", "out.txt"),
        ("inspect", "missing.sapo"),
        ("eval", "missing.sapo", "{test}"),
        ("tag", "{model}", "missing.txt", "-o", "out.txt"),
        ("eval", "missing.txt"),
        ("convert", "missing.txt", "out.jsonl"),
    ],
)
def test_a_missing_file_is_named_by_every_command(refused: Refused, house: Any, args: tuple[str, ...]) -> None:
    filled = [part.format(test=house.test, model=house.model) for part in args]
    assert refused(*filled).startswith("missing.")


def test_mistakes_in_the_text_to_be_tagged_leave_no_output(refused: Refused, house: Any, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("as it was")
    tag = functools.partial(refused, "tag", house.model, "-o", "out.txt")
    assert tag("-", input=b"The DT\n\nK\xf6ln NNP\n").startswith("standard input:3: not UTF-8: byte 0xf6 at place 2")
    assert tag("-", input="The DT\n\ncat NN\n\nsat\n").startswith("standard input:5: expected 2 columns, found 1")
    assert tag("-", input="The\ncat\n").startswith("standard input: has no column 'pos', which the features need")
    assert tag("-", "--nbest", "-1").startswith("--nbest must be at least 1, not -1")


def test_mistakes_of_the_other_commands_are_told_too(refused: Refused, house: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert refused("eval", "empty.txt") == "empty.txt: has no sentences"
    assert "there is no column -2; it has 1" in refused("eval", "-", input="a\nb\n")
    assert refused("inspect", house.model, "--label", "B-PN").startswith("the model has no label 'B-PN'; did you mean")
    assert refused("inspect", house.model, "--top", -1) == "top must be 0 or more, not -1"
    assert refused("convert", house.test, "out.txt", "--scheme", "bio").startswith(
        "unknown scheme 'bio'; did you mean 'iob2'?"
    )
    assert refused("convert", house.test, "no/out.txt").startswith("no/out.txt: cannot be written")


def small_files_only() -> None:
    """As on a full disk: what is longer than this cannot be written."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_disk_that_is_full_leaves_the_old_model(refused: Refused, house: Any) -> None:
    line = refused("train", house.train, "-o", "old.sapo", "-e", 1, "-q", preexec_fn=small_files_only)
    assert line.startswith("old.sapo: cannot be written ")
    assert line.endswith("what was there before is unchanged")


def test_a_disk_that_is_full_leaves_no_half_of_a_tagged_file(refused: Refused, house: Any) -> None:
    long = house.train.read_bytes() * 3
    line = refused("tag", house.model, "-", "-o", "out.txt", input=long, preexec_fn=small_files_only)
    assert line.startswith("out.txt: cannot be written (File too large)")


full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


@full_disk
def test_a_log_on_a_full_disk_does_not_lose_the_run(run: Any, house: Any, tmp_path: Path) -> None:
    model = tmp_path / "new.sapo"
    done = run("train", house.train, "-o", model, "-e", 3, "--set", "tolerance=0", "-q", "--log", "/dev/full")
    why = "/dev/full: cannot be written (No space left on device); training continues without it"
    assert done.stderr == f"sapo: warning: {why}\n"
    assert "100 sentences" in run("inspect", model).stdout


def test_a_checkpoint_that_does_not_fit_on_the_disk_does_not_lose_the_run(
    refused: Refused, run: Any, house: Any, tmp_path: Path
) -> None:
    (tmp_path / "run.state").write_bytes(b"an old one")
    line = refused(
        *("train", house.train, "-o", "old.sapo", "-e", 3, "--set", "tolerance=0", "-q", "--checkpoint", "run.state"),
        preexec_fn=small_files_only,
        warnings=1,
    )
    assert line.startswith("old.sapo: cannot be written ")  # the last thing said: all passes were made


@full_disk
@pytest.mark.parametrize("args", [("tag", "{model}", "{test}"), ("inspect", "{model}"), ("convert", "{test}", "-")])
def test_standard_output_on_a_full_disk_is_one_line(
    house: Any, command: list[str], env: dict[str, str], args: tuple[str, ...]
) -> None:
    filled = [part.format(model=house.model, test=house.test) for part in args]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*command, *filled], stdout=full, stderr=subprocess.PIPE, env=env, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapo: standard output: cannot be written (No space left on device)")


def test_a_refused_run_leaves_log_and_checkpoint_as_they_were(refused: Refused, house: Any, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("the log of an earlier run\n")
    (tmp_path / "run.state").write_bytes(b"no checkpoint at all")
    always = ("train", house.train, "-o", "old.sapo", "-q", "--log", "log.jsonl", "--checkpoint", "run.state")
    assert refused(*always, "--learner", "spo").startswith("unknown learner 'spo'")
    assert refused(*always, "--resume").startswith("run.state: not a checkpoint of sapo: ")


@full_disk
def test_a_model_that_cannot_be_saved_in_its_place_is_saved_elsewhere(run: Any, house: Any, tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path)}
    done = run("train", house.train, "-o", "/dev/full", "-e", 1, "-q", ends=2, env=env)
    (line,) = done.stderr.splitlines()
    assert line.startswith("sapo: /dev/full: cannot be written (No space left on device)")
    (refuge,) = tmp_path.rglob("full")
    assert line.endswith(f"the model was saved as {refuge} instead")
    told = run("inspect", refuge).stdout
    assert "100 sentences" in told


def test_files_that_are_not_there_are_told_before_anything_is_read(run: Any, house: Any, tmp_path: Path) -> None:
    train = ("train", "-o", tmp_path / "m.sapo")
    assert run(*train, "missing.txt", ends=2).stderr == "sapo: missing.txt: no such file\n"
    assert run(*train, tmp_path, ends=2).stderr == f"sapo: {tmp_path}: is a directory, not a file\n"
    assert run(*train, house.train, "--dev", "dev.txt", ends=2).stderr == "sapo: dev.txt: no such file\n"
    assert run(*train, house.train, "--rules", "r.txt", ends=2).stderr == "sapo: r.txt: no such file\n"
    assert run(*train, "new.txt", "--continue", house.model, ends=2).stderr == "sapo: new.txt: no such file\n"


def test_a_label_that_would_break_the_file_is_told_before_it_is_written(run: Any, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"tokens": ["a", "b"], "tags": ["X", "Y Z"]}\n')
    (tmp_path / "new.txt").write_text("a NN\nb NN\n")
    run("train", "train.jsonl", "-o", "m.sapo", "--epochs", "1", cwd=tmp_path)
    done = run("tag", "m.sapo", "new.txt", "-o", "out.txt", ends=2, cwd=tmp_path)
    assert done.stderr == (
        "sapo: the tag 'Y Z' contains a blank and cannot be written to this file; separate its columns by TABs\n"
    )
    assert not (tmp_path / "out.txt").exists()


def test_a_name_that_is_almost_right_is_named(refused: Refused, house: Any, tmp_path: Path) -> None:
    write(tmp_path / "ner-train.txt", GOOD)
    assert refused("train", "ner-trian.txt", "-o", "new.sapo") == (
        "ner-trian.txt: no such file; did you mean ner-train.txt?"
    )
    assert refused("tag", "odl.sapo", "ner-train.txt") == "odl.sapo: no such file; did you mean old.sapo?"
    told = refused("tag", house.model, "Ines lives in Leeds.")
    assert told == "Ines lives in Leeds.: no such file; to tag a text, write --text before it"


def test_a_model_does_not_overwrite_data(refused: Refused, house: Any, tmp_path: Path) -> None:
    write(tmp_path / "mine.txt", GOOD)
    complaint = "mine.txt: is not a model of sapo, and would be overwritten by one; give another name"
    assert refused("train", house.train, "-o", "mine.txt") == complaint
    assert refused("prune", house.model, "--half", "-o", "mine.txt") == complaint


def test_a_dev_file_without_its_option_is_told_where_it_goes(run: Any, house: Any) -> None:
    told = run("train", house.train, house.test, "-o", "new.sapo", ends=2).stderr
    assert "; the dev file comes after --dev; see sapo train --help" in told
