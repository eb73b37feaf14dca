"""Put what the commands print now into the pages: python tools/outputs.py [PAGE ...]

Runs the code blocks of the pages as the tests do (default: all pages), and rewrites the blocks of text that show
something else, be it a number. Look at the changes before you commit them.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "shared")]

from doc_pages import Page, all_pages, read_blocks  # noqa: E402
from sapo.corpus.sample import sample_files  # noqa: E402


def update(path: Path) -> int:
    """Rewrite one page; return how many blocks changed."""
    text = path.read_text("utf-8")
    changed = 0
    with tempfile.TemporaryDirectory() as room:
        for name, content in sample_files().items():
            (Path(room) / name).write_text(content, "utf-8")
        for _, printed, shown in Page(text, Path(room)).run():
            now = _beginning(printed, shown) if shown.rstrip().endswith("...") else f"{printed.rstrip()}\n"
            if now != shown:
                text = text.replace(f"```text\n{shown}```", f"```text\n{now}```", 1)
                changed += 1
    path.write_text(text, "utf-8")
    return changed


def _beginning(printed: str, shown: str) -> str:
    """Return as many lines of what is printed as the page shows before its "..."."""
    lines = printed.splitlines()[: len(shown.rstrip().splitlines()) - 1]
    return "".join(f"{line.rstrip()}\n" for line in [*lines, "..."])


def main() -> None:
    """Update the pages that are named, or all."""
    pages = [Path(name) for name in sys.argv[1:]] or all_pages(ROOT)
    for page in pages:
        if any(block.runs for block in read_blocks(page.read_text("utf-8"))):
            print(f"{page}: {update(page)} blocks changed", flush=True)


if __name__ == "__main__":
    main()
