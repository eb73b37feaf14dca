"""Put what the commands print now into the pages: python tools/outputs.py [PAGE ...]

Runs the code blocks of the pages as the tests do (default: all pages), and rewrites the blocks of text that show
something else. Look at the changes before you commit them.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "shared")]

from doc_pages import Page, comparable, read_blocks  # noqa: E402
from sapo.corpus.sample.copies import sample_files  # noqa: E402


def update(path: Path) -> int:
    """Rewrite one page; return how many blocks changed."""
    text = path.read_text("utf-8")
    changed = 0
    with tempfile.TemporaryDirectory() as room:
        for name, content in sample_files().items():
            (Path(room) / name).write_text(content, "utf-8")
        for _, printed, shown in Page(text, Path(room)).run():
            wanted, told = comparable(shown), comparable(printed)
            beginning = wanted[-1:] == ["..."]
            if beginning:
                told = [*told[: len(wanted) - 1], "..."]
            if told != wanted and not beginning:
                text = text.replace(f"```text\n{shown}```", f"```text\n{printed.rstrip()}\n```", 1)
                changed += 1
            elif told != wanted:
                print(f"{path}: a block that ends with ... shows something else; change it by hand")
    path.write_text(text, "utf-8")
    return changed


def main() -> None:
    """Update the pages that are named, or all."""
    pages = [Path(name) for name in sys.argv[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        if any(block.runs for block in read_blocks(page.read_text("utf-8"))):
            print(f"{page}: {update(page)} blocks changed", flush=True)


if __name__ == "__main__":
    main()
