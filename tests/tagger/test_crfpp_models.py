"""Models of CRF++ and Wapiti: the taggings, n-best lists and probabilities of a literal reader, and hostile files."""

import itertools
import math
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.errors import SapoError
from sapo.tagger.crfpp import model_from

LABELS = ["DT", "NN", "VB"]
SENTENCES = [
    [("the", "D"), ("cat", "N"), ("sleeps", "V")],
    [("1/2", "C"), ("3", "C")],
    [("1", "C"), ("2/3", "C"), ("/", "P"), ("é", "X")],
    [("Oslo", "N")],
]
CRFPP = [
    "U0:%x[0,0]",
    "U1:%x[-1,0]/%x[0,0]",
    "U1:%x[0,0]/%x[1,0]",
    "U2:%x[-2,1]%x[1,1]",
    "U3",
    "B",
    "B1:%x[0,1]",
    "U0:%x[0,0]",
]
WAPITI = [
    "u:%x[0,0]",
    "u:%X[-1,0]/%x[0,1]",
    '*p=%m[-1,0,"^.?.?"]',
    r'*t=%t[1,0,"\p"]/%t[-2,0,"\u"]',
    '*s=%M[0,0,".$"]/%x[2,0]',
    "*",
    "bx%x[0,1]",
]


def expand(line: str, sentence: list[tuple[str, str]], at: int, wapiti: bool) -> bytes:
    """Return the string that a tool makes of a line: written for these tests, by the tools' manuals."""

    def value(macro: re.Match[str]) -> bytes:
        place = at + int(macro[2])
        outside = "_x" if wapiti else "_B"
        if place < 0:
            word = f"{outside}{place}".encode()
        elif place >= len(sentence):
            word = f"{outside}+{place - len(sentence) + 1}".encode()
        else:
            word = sentence[place][int(macro[3])].encode()
        if macro[4] is not None:
            pattern = macro[4].replace("\\p", r"[!-/:-@\[-`{-~]").replace("\\u", "[A-Z]").encode()
            found = re.search(pattern, word, re.DOTALL)
            word = (found[0] if found else b"") if macro[1] in "mM" else (b"true" if found else b"false")
        return word.lower() if macro[1] in "XM" else word

    parts, end = list[bytes](), 0
    for macro in re.finditer(r'%(\w)\[(-?\d),(\d)(?:,"(.*?)")?\]', line):
        parts += [line[end : macro.start()].encode(), value(macro)]
        end = macro.end()
    return b"".join([*parts, line[end:].encode()])


def random_weights(lines: list[str], wapiti: bool) -> dict[bytes, np.ndarray]:
    generator, weights = np.random.default_rng(3), dict[bytes, np.ndarray]()
    for sentence in SENTENCES:
        for at, line in itertools.product(range(len(sentence)), lines):
            string = expand(line, sentence, at, wapiti)
            shapes = {"U": 3, "u": 3, "B": 9, "b": 9, "*": 12}
            weights.setdefault(string, generator.normal(size=shapes[line[0]]).astype(np.float32).astype(float))
    return weights


def netstring(text: bytes) -> bytes:
    return b"%d:%b,\n" % (len(text), text)


def wapiti_file(weights: dict[bytes, np.ndarray], lines: list[str] = WAPITI) -> bytes:
    values = np.concatenate(list(weights.values()))
    rows = [b"%d=%b\n" % (at, float(value).hex().encode()) for at, value in enumerate(values) if value]
    parts = [b"#mdl#2#%d\n#rdr#%d/1/0\n" % (len(rows), len(lines)), *(netstring(line.encode()) for line in lines)]
    parts += [b"#qrk#%d\n" % len(LABELS), *(netstring(label.encode()) for label in LABELS)]
    return b"".join([*parts, b"#qrk#%d\n" % len(weights), *map(netstring, weights), *rows])


def crfpp_text(weights: dict[bytes, np.ndarray]) -> bytes:
    starts = np.cumsum([0, *map(len, weights.values())])
    entries = [b"%d %b\n" % (start, string) for start, string in zip(starts[:-1].tolist(), weights, strict=True)]
    values = "".join(f"{value:.16f}\n" for value in np.concatenate(list(weights.values())))
    head = f"version: 100\ncost-factor: 0.5\nmaxid: {starts[-1]}\nxsize: 2\n"
    parts = [head, "\n".join(LABELS) + "\n", "\n".join(CRFPP) + "\n"]
    return "\n".join(parts).encode() + b"\n" + b"".join(entries) + b"\n" + values.encode()


def double_array(numbers: dict[bytes, int]) -> bytes:
    """Return a double array: the child of a node by byte c is the unit base + c + 1, the end of a string base."""
    base, check, taken = dict[int, int](), dict[int, int](), {0}
    waiting = [(0, sorted(numbers), 0)]
    while waiting:
        node, strings, depth = waiting.pop()
        groups = {step: list(some) for step, some in itertools.groupby(
            strings, lambda string, depth=depth: string[depth] + 1 if depth < len(string) else 0)}  # fmt: skip
        begin = next(
            b for b in itertools.count(1) if b not in base.values() and not any(b + step in taken for step in groups)
        )
        base[node] = begin
        for step, some in groups.items():
            taken.add(begin + step)
            check[begin + step] = begin
            if step:
                waiting.append((begin + step, some, depth + 1))
            else:
                base[begin] = -1 - numbers[some[0]]
    units = np.zeros((max(taken) + 257, 2), "<i4")
    for at in taken:
        units[at] = base.get(at, 0), check.get(at, 0)
    return units.tobytes()


def crfpp_binary(weights: dict[bytes, np.ndarray]) -> bytes:
    starts = np.cumsum([0, *map(len, weights.values())]).tolist()
    array = double_array(dict(zip(weights, starts[:-1], strict=True)))
    labels, lines = ("".join(f"{text}\0" for text in texts).encode() for texts in (LABELS, CRFPP))
    lines += bytes(-(len(labels) + len(lines)) % 4)
    head = struct.pack("<IidIII", 100, 0, 0.5, starts[-1], 2, len(array))
    sized = b"".join(struct.pack("<I", len(part)) + part for part in (labels, lines))
    return head + sized + array + np.concatenate(list(weights.values())).astype("<f4").tobytes()


def all_taggings(
    sentence: list[tuple[str, str]], lines: list[str], weights: dict[bytes, np.ndarray], wapiti: bool
) -> dict[tuple[int, ...], float]:
    """Return the score of every tagging."""
    scores = {}
    for tags in itertools.product(range(3), repeat=len(sentence)):
        total = 0.0
        for at, line in itertools.product(range(len(sentence)), lines):
            mine = weights.get(expand(line, sentence, at, wapiti))
            if mine is None:
                continue
            if line[0] in "Uu*":
                total += mine[tags[at]]
            if line[0] in "Bb*" and at:
                total += mine[len(mine) - 9 + 3 * tags[at - 1] + tags[at]]
        scores[tags] = total
    return scores


UNSEEN = [[("Cat", "N"), ("1", "C"), ("3", "V")], [("cat", "N"), ("é", "V"), ("1/2", "X"), ("the", "D")]]
MADE: dict[str, tuple[list[str], Callable[[dict[bytes, np.ndarray]], bytes]]] = {
    "CRF++ text": (CRFPP, crfpp_text),
    "CRF++ binary": (CRFPP, crfpp_binary),
    "Wapiti": (WAPITI, wapiti_file),
}
FILES = {tool: make(random_weights(lines, tool == "Wapiti")) for tool, (lines, make) in MADE.items()}


@pytest.mark.parametrize("tool", FILES)
def test_taggings_and_probabilities_are_those_of_all_taggings(tool: str, tmp_path: Path) -> None:
    lines = MADE[tool][0]
    (tmp_path / "model").write_bytes(FILES[tool])
    tagger = sapo.Tagger.load(tmp_path / "model")
    tagger.save(tmp_path / "m.sapo")
    weights = random_weights(lines, tool == "Wapiti")
    for one, sentence in itertools.product((tagger, sapo.Tagger.load(tmp_path / "m.sapo")), SENTENCES + UNSEEN):
        scores = all_taggings(sentence, lines, weights, tool == "Wapiti")
        whole = math.log(sum(map(math.exp, scores.values())))
        best = sorted(scores, key=lambda tags: -scores[tags])
        found = one.nbest(sentence, 3)
        assert [list(each.tags) for each in found] == [[LABELS[tag] for tag in tags] for tags in best[:3]]
        assert one.tag(sentence) == found[0].tags
        marginals = one.marginals(sentence)
        for at, label in itertools.product(range(len(sentence)), range(3)):
            right = sum(math.exp(score - whole) for tags, score in scores.items() if tags[at] == label)
            assert marginals[at][LABELS[label]] == pytest.approx(right, abs=1e-6)


def test_the_real_crfpp_gives_the_same_probabilities(tmp_path: Path) -> None:
    pycrfpp = pytest.importorskip("pycrfpp", reason="needs pycrfpp, which reads binary models of CRF++")
    (tmp_path / "model").write_bytes(FILES["CRF++ binary"])
    theirs, ours = pycrfpp.Tagger(f"-m {tmp_path / 'model'} -v 2 -n 3"), sapo.Tagger.load(tmp_path / "model")
    for sentence in SENTENCES + UNSEEN:
        theirs.clear()
        for token in sentence:
            theirs.add("\t".join(token))
        theirs.parse()
        assert ours.tag(sentence) == [theirs.y2(at) for at in range(len(sentence))]
        for at, by_label in enumerate(ours.marginals(sentence)):
            for y in range(theirs.ysize()):
                assert by_label[theirs.yname(y)] == pytest.approx(theirs.prob(at, y), abs=1e-6)


@pytest.mark.skipif(shutil.which("wapiti") is None, reason="needs the command wapiti")
def test_the_real_wapiti_gives_the_same_probabilities(tmp_path: Path) -> None:
    model, text, out = (tmp_path / name for name in ("model", "text", "out"))
    model.write_bytes(FILES["Wapiti"])
    text.write_text("\n\n".join("\n".join(map(" ".join, sentence)) for sentence in SENTENCES + UNSEEN) + "\n\n")
    subprocess.run(["wapiti", "label", "-m", model, "-p", "-s", text, out], check=True, capture_output=True)
    ours = sapo.Tagger.load(model)
    for sentence, block in zip(SENTENCES + UNSEEN, out.read_text().strip().split("\n\n"), strict=True):
        for by_label, line in zip(ours.marginals(sentence), block.split("\n")[-len(sentence) :], strict=True):
            label, value = line.split()[-1].split("/")
            assert by_label[label] == pytest.approx(float(value), abs=1e-5)


def run(*arguments: Any) -> str:
    command = [sys.executable, "-m", "sapo", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_take_models_of_wapiti(tmp_path: Path) -> None:
    model, text = tmp_path / "m.wapiti", tmp_path / "text.txt"
    model.write_bytes(FILES["Wapiti"])
    text.write_text("the D DT\ncat N NN\nsleeps V VB\n")
    run("convert", model, tmp_path / "m.sapo", "-q")
    run("prune", model, "--below", "0.5", "-o", tmp_path / "small.sapo")
    assert run("tag", model, text) == run("tag", tmp_path / "m.sapo", text)
    assert "accuracy" in run("eval", model, text)
    assert 'match(word[-1], "^.?.?")' in run("inspect", model, "--top", "50")
    assert "cat" in run("explain", model, "the/D cat/N", "--token", "2")


@pytest.mark.parametrize("tool", FILES)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4), st.integers(0, 10**6))
def test_changed_files_are_refused_or_work(tool: str, at: int, value: bytes, cut: int) -> None:
    data = FILES[tool]
    at %= len(data)
    for changed in (
        data[:at] + value + data[at + len(value) :],
        data[: cut % len(data)],
        data[:at] + value + data[at:],
    ):
        try:
            model = model_from(changed, tool)
        except SapoError:
            continue
        columns = len(list(model.encoder.columns))
        assert len(sapo.Tagger(model).tag([("cat",) * columns, ("x",) * columns] if columns > 1 else ["cat", "x"])) == 2


def test_a_line_of_messages_says_what_cannot_be_read() -> None:
    weights = random_weights(WAPITI, True)
    with pytest.raises(SapoError, match="type memm"):
        model_from(wapiti_file(weights).replace(b"#mdl#2", b"#mdl#1", 1), "Wapiti", "m")
    with pytest.raises(SapoError, match="without patterns"):
        model_from(wapiti_file(weights, []), "Wapiti", "m")
    with pytest.raises(SapoError, match=r"^m: .*not in UTF-8"):
        model_from(wapiti_file({b"u:\xe9": np.ones(3)}, ["u:%x[0,0]"]), "Wapiti", "m")
    with pytest.raises(SapoError, match=r"^m: its template.*expected %x"):
        model_from(FILES["CRF++ text"].replace(b"U0:%x[0,0]\n", b"U0:%q[0,0]\n"), "CRF++ text", "m")


def test_strings_that_can_be_read_in_very_many_ways_are_refused() -> None:
    line = "u:" + "/".join(["%x[0,0]"] * 12)
    with pytest.raises(SapoError, match="too many ways"):
        model_from(wapiti_file({b"u:" + b"a/" * 300: np.ones(3)}, [line]), "Wapiti", "m")
