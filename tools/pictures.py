"""Draw the pictures of the README from what the commands really print: python tools/pictures.py

Writes docs/pictures/demo.svg (the terminal after `sapo demo`) and docs/pictures/explain.svg (`sapo explain`). Both are
plain SVG: no scripts, no fonts from elsewhere.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
WIDE, HIGH = 8.0, 18.0  # of a character
SENTENCE = "The/DT visiting/VBG choir/NN sang/VBD twice/RB ./."
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


def _svg(width: float, height: float, parts: list[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'font-family="{FONT}" font-size="13.3" role="img">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])


def main() -> None:
    """Write both pictures."""
    (PICTURES / "demo.svg").write_text(terminal("sapo demo", sapo("demo")), "utf-8")
    with tempfile.TemporaryDirectory() as room:
        sapo("sample", ".", "-q", room=room)
        sapo("train", "train.txt", "--template", "chunking", "-q", "-o", "chunk.sapo", room=room)
        printed = sapo("explain", "chunk.sapo", SENTENCE, "--token", "2", "--top", "5", "--json", room=room)
    (PICTURES / "explain.svg").write_text(explanation(json.loads(printed)), "utf-8")


if __name__ == "__main__":
    main()
