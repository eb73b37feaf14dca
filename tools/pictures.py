"""Draw the pictures of the documentation from real results: python tools/pictures.py

Writes demo.svg (the terminal after `sapo demo`), explain.svg (`sapo explain`) and lattice.svg (the variables of
docs/explanation/how-it-works.md) to docs/pictures. All are plain SVG: no scripts, no external fonts.
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
    (PICTURES / "explain.svg").write_text(explanation(json.loads(printed)), "utf-8")
    found = lattice(page["x"], page["oracle"], [y.tags for y in page["found"]], page["P"])
    (PICTURES / "lattice.svg").write_text(found, "utf-8")


if __name__ == "__main__":
    main()
