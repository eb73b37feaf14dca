"""Make docs/pictures/teach.png from the page of a running `sapo teach`: python tools/teach_picture.py

Needs Chromium, playwright and Pillow. The model has learned from sentences of our own sample; the page shows others.
"""

import re
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "teach.png"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "shared")]

from PIL import Image  # noqa: E402

from browser import FLAGS, find_browser  # noqa: E402
from sapo.corpus.sample import sample_files  # noqa: E402

LEARNED = 60  # sentences
SIZE = {"width": 1280, "height": 760}


def start(room: Path) -> subprocess.Popen[str]:
    """Start a project whose model knows some sentences of the sample."""
    files = sample_files()
    known = files["ner-train.txt"].strip().split("\n\n")[:LEARNED]
    (room / "known.txt").write_text("\n\n".join(known) + "\n", "utf-8")
    (room / "new.txt").write_text(_plain(files["ner-test.txt"]), "utf-8")
    command = [sys.executable, "-m", "sapo", "teach", str(room / "new.txt"), "-o", str(room / "news.teach")]
    command += ["--annotated", str(room / "known.txt"), "--author", "Sanna", "--no-browser", "--port", "0"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=room)


def _plain(columns: str) -> str:
    """Return sentences of a column file as text, a line each; punctuation stands close to its word."""
    lines = [" ".join(row.split()[0] for row in block.splitlines()) for block in columns.strip().split("\n\n")]
    return "\n".join(re.sub(r" ([.,;:?!'])", r"\1", line) for line in lines) + "\n"


def take(address: str) -> bytes:
    """Return a picture of the page after a few accepted sentences, with a span opened."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.goto(address)
        page.locator("#author-name").fill("Sanna")
        page.keyboard.press("Enter")
        page.locator(".sentence.current").wait_for()
        for _ in range(8):
            page.keyboard.press("Enter")
        page.locator(".sentence[data-state=accepted]").nth(7).wait_for()
        picture = _pose(page)
        browser.close()
    return picture


def _pose(page: Any) -> bytes:
    """Show the list in order, from its beginning, with a span of the second sentence that has one opened."""
    page.get_by_label("Order").select_option("in-order")
    page.wait_for_timeout(2500)  # until nothing flashes any more
    page.locator(".sentence:has(.mark)").nth(1).locator(".labeled").first.click()
    page.locator(".why tr").first.wait_for()
    page.mouse.move(5, 5)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    return bytes(page.screenshot())


def main() -> None:
    """Write the picture, with few colors, so that it is small."""
    with tempfile.TemporaryDirectory() as room, start(Path(room)) as process:
        try:
            assert process.stderr is not None
            found = next(filter(None, (re.search(r"http://\S+/", line) for line in process.stderr)))
            picture = Image.open(BytesIO(take(found[0]))).convert("RGB").quantize(200)
            picture.save(PICTURE, optimize=True)
        finally:
            process.terminate()
    print(f"{PICTURE}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
