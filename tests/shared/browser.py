"""Chromium for tests: where it is, and how it is started."""

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Nothing but the page under test is asked for anything. (Playwright itself starts Chromium without its sandbox.)
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
]


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


if __name__ == "__main__":
    print(f"browser: {find_browser() or 'no Chromium found, the tests of the page of sapo teach are skipped'}")
