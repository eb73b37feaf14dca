"""Draw the pictures of the documentation from real results: python tools/pictures.py

Writes demo.svg (the terminal after `sapo demo`), explain.svg (`sapo explain`), lattice.svg (the variables of
docs/explanation/how-it-works.md) and beam.svg (a parser of the sample treebank) to docs/pictures. All are plain SVG: no
scripts, no external fonts.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
WIDE, HIGH = 8.0, 18.0  # of a character
BEAM_WORDS, BEAM_UPOS = "The old dogs see Anna", "DET ADJ NOUN VERB PROPN"
SENTENCE = "The/DT visiting/VBG choir/NN sang/VBD twice/RB ./."
PAGE = ROOT / "docs" / "explanation" / "how-it-works.md"
RANKS = ("#b5541c", "#0b7a75", "#7a5ea8", "#3d7ab8", "#a8862e")  # colors of the first, second ... tagging
THICK = 24.0  # thickness of all taggings together
COLOURS = {"LOC": "#8bd5a0", "ORG": "#f0c674", "PER": "#81b1f5", "NP": "#81b1f5", "VP": "#f0c674", "PP": "#8bd5a0"}


def sapo(*arguments: str, room: str | Path = ".") -> str:
    """Run the command of this clone and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "sapo", *arguments]
    done = subprocess.run(
        command, cwd=room, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True
    )
    return done.stdout


def terminal(command: str, output: str) -> str:
    """Return a terminal with a command and its output as SVG."""
    lines = [f"$ {command}", *output.rstrip().splitlines()]
    width = max(map(len, lines)) * WIDE + 40
    height = len(lines) * HIGH + 64
    parts = [
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#1d2433"/>',
        *(f'<circle cx="{20 + 18 * i}" cy="18" r="5.5" fill="{c}"/>' for i, c in enumerate(("#f66", "#fc5", "#5c6"))),
    ]
    parts += [_line(line, 52 + number * HIGH, "#e6e9f0") for number, line in enumerate(lines)]
    return _svg(width, height, parts, f"A terminal after {command}")


def _line(line: str, y: float, color: str) -> str:
    """Return a line of text whose words are at their places whatever the font is; labels of spans are colored."""
    words = []
    for word in re.finditer(r"\S+", line):
        label = re.fullmatch(r"[BI]-(\w+)", word[0])
        fill = COLOURS.get(label[1], color) if label else color
        words.append(_text(20 + word.start() * WIDE, y, word[0], fill))
    return "".join(words)


def _text(x: float, y: float, text: str, fill: str, anchor: str = "start", wide: float = WIDE) -> str:
    length = f'textLength="{len(text) * wide:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}" {length}>{escape(text)}</text>'


def explanation(why: dict[str, Any]) -> str:
    """Return an explanation, as `sapo explain --json` prints it, as bars in SVG."""
    rows = [(part["name"], part["difference"]) for part in why["contributions"]]
    if why["others"]:
        rows.append((f"{why['others']} others", why["others_difference"]))
    rows += [(f"{one['word']}: {one['tag']}, not {one['rival']}", one["difference"]) for one in why["elsewhere"]]
    word = why["words"][why["token"]]
    title = f"Why is “{word}” {why['tag']} and not {why['rival']}?"
    longest = max(abs(value) for _, value in rows)
    middle, half, width = 560.0, 150.0, 800.0
    parts = [f'<rect width="{width:g}" height="{len(rows) * 24 + 130:g}" rx="8" fill="#fbfbf8" stroke="#d8d8d0"/>']
    parts.append(_text(24, 36, title, "#222222", wide=9.5).replace("<text ", '<text font-weight="bold" ', 1))
    for place, (token, tag) in enumerate(zip(why["words"], why["tags"], strict=True)):
        fill = "#0b7a75" if place == why["token"] else "#555555"
        parts += [_text(24 + place * 110, 64, token, fill), _text(24 + place * 110, 82, tag, fill)]
    for number, (name, value) in enumerate(rows):
        y = 116.0 + 24 * number
        size = half * abs(value) / longest
        color, left = ("#0b7a75", middle) if value >= 0 else ("#b5541c", middle - size)
        parts.append(_text(24, y, name, "#222222", wide=7.2))
        parts.append(f'<rect x="{left:.1f}" y="{y - 12:g}" width="{size:.1f}" height="15" fill="{color}"/>')
        parts.append(_text(width - 16, y, f"{value:+.2f}", "#555555", "end"))
    end = 116.0 + 24 * len(rows)
    parts.append(f'<line x1="{middle:g}" y1="98" x2="{middle:g}" y2="{end - 14:g}" stroke="#999999"/>')
    parts.append(_text(width - 16, end, f"sum {why['difference']:+.2f}", "#222222", "end"))
    return _svg(width, len(rows) * 24 + 130.0, parts, title)


def lattice(x: Sequence[tuple[str, str]], oracle: Sequence[str], taggings: Sequence[Sequence[str]], P: Any) -> str:
    """Return a lattice with its best taggings as SVG; the line of y_k is as thick as P_k is large."""
    labels = list(dict.fromkeys([*oracle, *(label for tags in taggings for label in tags)]))
    left, top, across, down = 120.0, 104.0, 104.0, 46.0
    width, bottom = left + across * (len(x) - 1) + 60, top + down * len(labels)
    height = bottom + 26.0 * len(taggings) + 4
    title = f"The lattice of “{' '.join(word for word, _ in x)}” and its {len(taggings)} best taggings"
    parts = [
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#fbfbf8" stroke="#d8d8d0"/>',
        *(_text(24, top + down * row + 5, label, "#222222") for row, label in enumerate(labels)),
    ]
    rings = []  # around the nodes of the oracle, on top of the lines
    for t, (word, pos) in enumerate(x):
        parts.append(_text(left + across * t, 40, word, "#222222", "middle"))
        parts.append(_text(left + across * t, 60, pos, "#777777", "middle"))
        for row, label in enumerate(labels):
            node = f'<circle cx="{left + across * t:g}" cy="{top + down * row:g}" r="16"'
            parts.append(f'{node} fill="#ffffff" stroke="#d8d8d0"/>')
            if label == oracle[t]:
                rings.append(f'{node} fill="none" stroke="#222222" stroke-width="2"/>')
    shift = -THICK / 2
    for k, (tags, p, color) in enumerate(zip(taggings, P, RANKS, strict=True)):
        middle = shift + THICK * p / 2
        shift += THICK * p
        points = [(left + across * t, top + down * labels.index(label) + middle) for t, label in enumerate(tags)]
        y = bottom + 26.0 * k + 8
        path = f"M{points[0][0] - 12:.1f} {points[0][1]:.1f}"
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            path += f"H{x1 + 12:.1f}C{x1 + 52:.1f} {y1:.1f} {x2 - 52:.1f} {y2:.1f} {x2 - 12:.1f} {y2:.1f}"
        path += f"H{points[-1][0] + 12:.1f}"
        parts += [
            f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{THICK * p - 0.6:.1f}"/>',
            f'<rect x="24" y="{y - 12:g}" width="{200 * p:.1f}" height="15" fill="{color}"/>',
            _text(90, y, f"y_{k + 1}", color),
            _text(120, y, f"P_{k + 1} = {p:.3f}", "#222222"),
            _text(240, y, " ".join(tags) + ("  (oracle, circled)" if list(tags) == list(oracle) else ""), "#222222"),
        ]
    return _svg(width, height, [*parts, *rings], title)


def beam(words: Sequence[str], steps: Sequence[Sequence[tuple[int, str, str, float]]], stacks: Sequence[str]) -> str:
    """Return the beam of a parse as SVG.

    A state in a step has the place of the state before it, an action, its relation and the score so far. `stacks` has
    the stack of the best parse after each step.
    """
    left, top, across, down, wide, high = 24.0, 84.0, 102.0, 58.0, 84.0, 36.0
    width, bottom = left + across * len(steps) + 4, top + down * max(map(len, steps))
    best, place = [0] * len(steps), 0
    for t in range(len(steps) - 1, -1, -1):
        best[t], place = place, steps[t][place][0]
    title = f"The beam while “{' '.join(words)}” is parsed"
    parts = [f'<rect width="{width:g}" height="{bottom + 58:g}" rx="8" fill="#fbfbf8" stroke="#d8d8d0"/>']
    parts.append(_text(24, bottom + 16, "the stack after each step of the best sequence", "#777777"))
    parts.append(_text(24, 34, title, "#222222", wide=9.0).replace("<text ", '<text font-weight="bold" ', 1))
    lines, boxes = [], []
    for t, step in enumerate(steps):
        x = left + across * t
        parts += [_text(x, 62, f"step {t + 1}", "#777777"), _text(x, bottom + 40, stacks[t], RANKS[0], wide=6.6)]
        for k, (before, action, relation, score) in enumerate(step):
            y = top + down * k
            on_path = k == best[t]
            color = RANKS[0] if on_path else "#b8b8b0"
            if t:
                x1, y1, y2 = x - across + wide, top + down * before + high / 2, y + high / 2
                path = f"M{x1:g} {y1:g}C{x1 + 9:g} {y1:g} {x - 9:g} {y2:g} {x:g} {y2:g}"
                line = f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{2.5 if on_path else 1:g}"/>'
                lines.insert(len(lines) if on_path else 0, line)  # the best one on top
            boxes.append(f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="5" fill="#ffffff" ')
            boxes[-1] += f'stroke="{color}" stroke-width="{2.5 if on_path else 1:g}"/>'
            boxes.append(_text(x + 7, y + 15, f"{action} {relation}".strip(), "#222222", wide=6.4))
            boxes.append(_text(x + wide - 7, y + 30, f"{score:.2f}", "#777777", "end", wide=6.4))
    return _svg(width, bottom + 58, [*parts, *lines, *boxes], title)


def beam_of(room: str | Path) -> str:
    """Return the picture of a beam of four states, of a parser that has seen the sample treebank twice."""
    from sapo.corpus.treebank import read_treebank
    from sapo.search import transitions
    from sapo.search.trees import Tree, TreeSentence
    from sapo.training.parser import Parser, TreeStructure

    def tree_sentence(words: Sequence[str], upos: Sequence[str], tree: Tree | None) -> TreeSentence:
        return TreeSentence(tuple(words), tuple(upos), ("_",) * len(words), ("_",) * len(words), tree)

    learned = [
        tree_sentence(
            [word.form for word in one.words],
            [word.upos for word in one.words],
            Tree(tuple(one.heads), tuple(word.deprel for word in one.words)),
        )
        for one in read_treebank(Path(room) / "treebank.conllu")
    ]
    parser = Parser.train(learned, epochs=2, bits=16)
    words = BEAM_WORDS.split()
    new = tree_sentence(words, BEAM_UPOS.split(), None)
    structure = TreeStructure(parser.encoder, parser.encoder.encode([new]), 4, learning=False)
    end, _ = structure.best_states(0, parser.weights)
    found, names = structure.beam, ("SHIFT", "LEFT", "RIGHT")
    steps, stacks = [], []
    for t in range(1, 2 * len(words) + 1):
        first, step = int(found.begins[t]), []
        for state in range(first, first + int(found.counts[t])):
            action, relation = found.states[state, [transitions.ACTION, transitions.RELATION]].tolist()
            before = int(found.states[state, transitions.PARENT] - found.begins[t - 1])
            name = parser.encoder.relations[relation] if action else ""
            step.append((before, names[action], name, float(found.scores[state])))
        steps.append(step)
    state = end
    while found.states[state, transitions.PARENT] >= 0:
        stack, below = list[str](), state
        for _ in range(found.states[state, transitions.DEPTH]):
            stack.insert(0, words[found.states[below, transitions.S0] - 1])
            below = int(found.states[below, transitions.TAIL])
        stacks.insert(0, " ".join(stack) or "(empty)")
        state = int(found.states[state, transitions.PARENT])
    return beam(words, steps, stacks)


def page_names(room: str | Path) -> dict[str, Any]:
    """Run the blocks of PAGE in a directory with the sample and return their variables."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "shared")]
    from doc_pages import Page

    page = Page(PAGE.read_text("utf-8"), Path(room))
    for _ in page.run():
        pass
    return page.names


def _svg(width: float, height: float, parts: list[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'font-family="{FONT}" font-size="13.3" role="img">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])


def main() -> None:
    """Write all pictures."""
    (PICTURES / "demo.svg").write_text(terminal("sapo demo", sapo("demo")), "utf-8")
    with tempfile.TemporaryDirectory() as room:
        sapo("demo", ".", "-q", room=room)
        sapo("train", "train.txt", "--template", "chunking", "-q", "-o", "chunk.sapo", room=room)
        printed = sapo("explain", "chunk.sapo", SENTENCE, "--token", "2", "--top", "5", "--json", room=room)
        page = page_names(room)
        (PICTURES / "beam.svg").write_text(beam_of(room), "utf-8")
    (PICTURES / "explain.svg").write_text(explanation(json.loads(printed)), "utf-8")
    found = lattice(page["x"], page["oracle"], [y.tags for y in page["found"]], page["P"])
    (PICTURES / "lattice.svg").write_text(found, "utf-8")


if __name__ == "__main__":
    main()
