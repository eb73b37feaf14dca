"""The doctests of `sapo.neural` need PyTorch, which is an extra."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/sapo/neural/*"]
