"""The doctests of `sapo.neural`, `sapo.assist`, `sapo.serve` and `sapo.teach` need packages that are extras."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/sapo/neural/*"]
if not (find_spec("msgspec") and find_spec("uvicorn")):
    collect_ignore_glob += ["src/sapo/assist/*", "src/sapo/serve/*", "src/sapo/teach/*"]
