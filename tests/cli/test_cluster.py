"""`sapo cluster` writes word clusters from any text, and says in one line what is wrong."""

import gzip
import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

SENTENCES = [
    f"{who} {does} {what} ."
    for who, does, what in itertools.product(("Anna", "Ben", "Cleo"), ("sees", "hears"), ("dogs", "cats", "42"))
]
LINES = "".join(f"{sentence}\n" for sentence in SENTENCES)
CLUSTERS = [["##", "cats", "dogs"], ["."], ["Anna", "Ben", "Cleo"], ["hears", "sees"]]
FOUR = ("--clusters", "4")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(LINES)
    return path


def read(written: str) -> list[list[str]]:
    """Return the words of each cluster; assert that the lines are in order."""
    rows = [(bits, -int(count), word) for bits, word, count in (line.split("\t") for line in written.splitlines())]
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    clusters = defaultdict(list)
    for bits, _, word in rows:
        assert set(bits) <= set("01")
        clusters[bits].append(word)
    assert not any(other.startswith(one) for one, other in itertools.permutations(clusters, 2))
    return sorted(map(sorted, clusters.values()))


def test_lines_have_bits_word_and_count(run: Any, text: Path, tmp_path: Path) -> None:
    done = run("cluster", text, "-o", tmp_path / "out.txt", *FOUR)
    assert done.stdout == ""
    assert done.stderr == f"4 clusters of 9 words written to {tmp_path / 'out.txt'} (72 tokens read as lines)\n"
    written = (tmp_path / "out.txt").read_text()
    assert read(written) == CLUSTERS
    assert sum(int(line.split("\t")[2]) for line in written.splitlines()) == 72


def test_the_same_text_gives_the_same_bytes_on_standard_output(run: Any, text: Path) -> None:
    first, second = (run("cluster", text, *FOUR, "-q") for _ in range(2))
    assert first.stdout == second.stdout
    assert first.stderr == ""
    assert read(first.stdout) == CLUSTERS


def columns() -> str:
    return "".join("".join(f"{word} X\n" for word in sentence.split()) + "\n" for sentence in SENTENCES)


def records() -> str:
    return "".join(json.dumps({"tokens": sentence.split()}) + "\n" for sentence in SENTENCES)


@pytest.mark.parametrize(
    ("name", "content", "options", "how"),
    [
        ("a.txt", columns(), [], "columns"),
        ("a.jsonl", records(), [], "jsonl"),
        ("a.txt", LINES.replace(" .", "."), [], "text"),
        ("a.txt", LINES.replace(" .", ".").replace("\n", " "), [], "text"),
        ("a.txt", LINES, ["--format", "text"], "text"),
        ("a.txt", LINES.replace(" .", "."), ["--format", "Text"], "text"),
    ],
)
def test_text_of_any_kind_is_read(
    run: Any, tmp_path: Path, name: str, content: str, options: list[str], how: str
) -> None:
    (tmp_path / name).write_text(content)
    done = run("cluster", tmp_path / name, *FOUR, *options)
    assert done.stderr == f"4 clusters of 9 words (72 tokens read as {how})\n"
    assert read(done.stdout) == CLUSTERS


def test_tokens_between_blanks_stay_as_they_are(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("do n't (stop)\ncan't (stop) .\n" * 3)
    done = run("cluster", tmp_path / "a.txt", "--clusters", "2", "-q")
    assert {line.split("\t")[1] for line in done.stdout.splitlines()} == {"do", "n't", "(stop)", "can't", "."}


def test_several_files_compressed_ones_and_standard_input_are_one_text(run: Any, tmp_path: Path, text: Path) -> None:
    whole = run("cluster", text, *FOUR).stdout
    half = LINES.index("Ben")
    (tmp_path / "first.txt.gz").write_bytes(gzip.compress(LINES[:half].encode()))
    done = run("cluster", tmp_path / "first.txt.gz", "-", *FOUR, input=LINES[half:])
    assert done.stdout == whole
    assert run("cluster", "-", *FOUR, input=gzip.compress(LINES.encode())).stdout == whole
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(LINES.replace(" .", "."))
    assert run("cluster", tmp_path / "texts", "--format", "text", *FOUR).stdout == whole


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_format_of_long_standard_input_is_found(run: Any, encoding: str) -> None:
    done = run("cluster", "-", *FOUR, "--encoding", encoding, input=(20 * columns()).encode(encoding))
    assert done.stderr == "4 clusters of 9 words (1,440 tokens read as columns)\n"
    assert read(done.stdout) == CLUSTERS


def test_another_encoding_is_read(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Öl fließt .\nGeld fließt .\n".encode("latin-1") * 3)
    shown = run("cluster", tmp_path / "a.txt", "--clusters", "3", "--encoding", "latin-1", "-q").stdout
    assert read(shown) == [["."], ["Geld", "Öl"], ["fließt"]]


def test_with_fewer_words_than_clusters_each_word_is_a_cluster(run: Any, text: Path) -> None:
    done = run("cluster", text, "--clusters", 500)
    warning, made = done.stderr.splitlines()
    assert "9 words that are frequent enough, fewer than 500 clusters; each word is a cluster" in warning
    assert made.startswith("9 clusters of 9 words")
    assert len({line.split("\t")[0] for line in done.stdout.splitlines()}) == 9
    assert run("cluster", text, "--clusters", 500, "-q").stderr == ""


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["{text}", "--clusters", "1"], "--clusters must be between 2 and 2,000, not 1"),
        (["{text}", "--clusters", "9999"], "--clusters must be between 2 and 2,000, not 9,999"),
        (["{text}", "--min-count", "0"], "--min-count must be between 1 and 1,000,000, not 0"),
        (
            ["{text}", "--min-count", "1000"],
            "the text has 72 tokens, but fewer than 2 words with a count of 1,000 or more",
        ),
        (["{text}", "--format", "txet"], "unknown format 'txet'; did you mean 'text'?"),
        (["{empty}"], "the text is empty; give a file with words"),
        (["{latin}"], "{latin}:2: not UTF-8: byte 0xd6 at place 1 of the line; it looks like latin-1: use --encoding"),
        (["{text}", "missing.txt"], "missing.txt: no such file"),
        (["{text}", "{empty}", "-o", "{text}"], "{text}: -o would overwrite the input {text}; give another name"),
        (["{text}", "-o", "no/such/place"], "no/such/place: cannot be written, there is no directory no/such"),
        (["-", "-"], "standard input can be read only once; give - once"),
    ],
)
def test_a_mistake_is_one_line(run: Any, text: Path, args: list[str], complaint: str) -> None:
    names = {"text": text, "empty": text.with_name("empty.txt"), "latin": text.with_name("latin.txt")}
    names["empty"].touch()
    names["latin"].write_bytes("a b .\nÖl .\n".encode("latin-1"))
    done = run("cluster", *(part.format(**names) for part in args), ends=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sapo: {complaint.format(**names)}")
    assert done.stdout == ""
    assert text.read_text() == LINES


def test_at_least_one_text_is_needed(run: Any) -> None:
    (line,) = run("cluster", ends=2).stderr.splitlines()
    assert line == "sapo cluster: missing argument 'TEXT...'; see sapo cluster --help"
