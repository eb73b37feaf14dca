"""How smoothly the page of `sapo teach` scrolls through 1,000 sentences: python benchmarks/teach_page.py

Loads them all from the stand-in of the tests, then scrolls through them in Chromium, one step a frame, and prints the
processor time of the page's main thread for a frame. A screen of 60 frames a second leaves 16.7 ms for each.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "shared")]

from browser import FLAGS, find_browser  # noqa: E402
from teach_stand_in import Teacher, stage  # noqa: E402

SENTENCES = 1000
STEP = 100  # pixels a frame: 6,000 a second, as one turns a wheel fast
TEXT = "Anna and Ben went with Clara to Oslo and to London, where the old bank of New York had hired them again, number"
KNOWN = {"Anna": "PER", "Ben": "PER", "Clara": "PER", "Oslo": "LOC", "London": "LOC", "New": "LOC", "York": "LOC"}

# Scroll to the end of the list; return the wall-clock milliseconds of each frame.
SCROLL = """async step => {
  const frames = [];
  let last = await new Promise(requestAnimationFrame);
  while (scrollY + innerHeight < document.body.scrollHeight - 1 && frames.length < 2000) {
    scrollBy(0, step);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""


def load(page: Any) -> None:
    """Load all sentences, page by page."""
    page.get_by_label("Order").select_option("in-order")
    for _ in range(100):
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(50)
        if page.locator(".sentence").count() == SENTENCES:
            break
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(200)


def measure(page: Any) -> dict[str, float]:
    """Scroll through all sentences; return the processor times of a frame in milliseconds."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read() -> dict[str, float]:
        return {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}

    before = read()
    frames = page.evaluate(SCROLL, STEP)
    after = read()
    parts = ("TaskDuration", "ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
    spent = {part: 1000 * (after[part] - before[part]) / len(frames) for part in parts}
    late = sum(frame > 50 for frame in frames)
    return {"frames": len(frames), "frames over 50 ms (wall clock)": late, **spent, "Nodes": after["Nodes"]}


def main() -> None:
    """Print the measurement as JSON."""
    from playwright.sync_api import sync_playwright

    teacher = Teacher([f"{TEXT} {number}." for number in range(SENTENCES)], ["PER", "LOC"], known=KNOWN)
    with stage() as server, sync_playwright() as started:
        server.show(teacher)
        browser = started.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(server.address)
        page.locator("#author-name").fill("anna")
        page.keyboard.press("Enter")
        page.locator(".sentence.current").wait_for()
        load(page)
        measured = measure(page)
        browser.close()
    print(json.dumps({name: round(value, 2) for name, value in measured.items()}, indent=1))


if __name__ == "__main__":
    main()
