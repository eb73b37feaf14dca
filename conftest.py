"""Leave out the doctests of rooms whose extras are not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/sapo/neural/*"]
if not (find_spec("msgspec") and find_spec("uvicorn")):
    collect_ignore_glob += ["src/sapo/apps/*"]
