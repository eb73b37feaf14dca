"""The files of the page, read once when the server starts: no request can name another file."""

from importlib.resources import files

from sapo.serve.asgi import Reply
from sapo.teach.guard import HEADERS

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE = "page.html"


def page_files() -> dict[str, Reply]:
    """Return the files of the page by their paths; the page itself is at /."""
    found = {}
    room = files("sapo.teach") / "page"
    for file in room.iterdir() if room.is_dir() else ():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None and file.is_file():
            path = "/" if file.name == PAGE else f"/{file.name}"
            found[path] = Reply(file.read_bytes(), type=kind, headers=HEADERS)
    return found
