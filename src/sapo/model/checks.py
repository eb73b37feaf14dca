"""Check a model whole before anything uses it: its header, its numbers, and how its parts fit together.

A checksum protects from accidents, not from people: anybody can compute one. So nothing in a file is trusted. The
classes that know the layout of their arrays check sizes and indices when they are made (`from_arrays`); this module
calls for everything else. What would take too long here, such as the keys of millions of features, is checked where
it is used: see `make_tables` of encode/open_tables.py. All functions raise ValueError, KeyError or TypeError.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapo import limits
from sapo.encode.strings import bounded
from sapo.search.lattice import Parameters
from sapo.tags import TABLE, Constraints, as_prefixed, impossible_length, parse_rules

LARGEST_NUMBER = 1e300  # in a header: it can be shown and calculated with
TEMPERATURES = 1e-9, 1e9
LARGEST_BIAS = 1e9
LARGEST_WEIGHT = 1e30  # sums of them stay finite
LARGEST_SCALED_WEIGHT = 1e36  # of ready-made features, whose values may be as small


def check_header(header: dict[str, Any]) -> None:
    """Check labels, reader, record and the numbers of a header."""
    labels = header["labels"]
    if not isinstance(labels, list) or not labels or not _distinct_strings(labels):
        raise ValueError("labels")
    if len(labels) > limits.MOST_LABELS:
        raise ValueError("labels")
    shown = header.get("shown", [])
    if not _strings(shown) or len(shown) not in (0, len(labels)):
        raise ValueError("shown")
    _check_bias(header.get("bias", {}), shown or labels)
    temperature = header.get("temperature", 1.0)
    if not (is_number(temperature) and TEMPERATURES[0] <= temperature <= TEMPERATURES[1]):
        raise ValueError("temperature")
    _check_reader(header["reader"])
    _check_record(header["record"])
    if not isinstance(header["encoder"], dict):
        raise ValueError("encoder")


def check_constraints(constraints: Constraints, labels: Sequence[str], shown: Sequence[str]) -> None:
    """Check that constraints name labels of the model, and that their rules can be read."""
    known = set(labels)
    for before, after in constraints.exceptions:
        if (before is None and after is None) or not {before, after} <= known | {None}:
            raise ValueError("exceptions")
    if constraints.scheme is not None:
        scheme = TABLE[constraints.scheme]
        if not all(scheme.fits(label) for label in as_prefixed(labels)):
            raise ValueError(f"labels that do not fit {constraints.scheme}")
    for _ in parse_rules(constraints.rules, list(dict.fromkeys(shown or labels))):
        pass


def check_weights(parameters: Parameters, kind: str) -> None:
    """Check that all weights are finite and not absurdly large, and that the bans leave a tagging."""
    rows = parameters.rows.arrays
    largest = LARGEST_SCALED_WEIGHT if kind == "features" else LARGEST_WEIGHT
    if not (bounded(rows.dense, largest) and bounded(rows.values, largest)):
        raise ValueError("weights that are not finite numbers")
    for name, block in (("edge weights", parameters.edges), ("pair weights", parameters.pair_weights)):
        if not bounded(block, LARGEST_WEIGHT):
            raise ValueError(f"{name} that are not finite numbers")
    bans = parameters.bans
    if not bans.any():
        return
    if not ((bans == 0) | (bans == -np.inf)).all():
        raise ValueError("bans")
    if impossible_length(bans):
        raise ValueError("it allows no tagging")


def _check_bias(bias: Any, labels: Sequence[str]) -> None:
    known = set(labels)
    if not isinstance(bias, dict) or not all(
        name in known and is_number(value) and abs(value) <= LARGEST_BIAS for name, value in bias.items()
    ):
        raise ValueError("bias")


def _check_reader(reader: Any) -> None:
    if not isinstance(reader, dict):
        raise ValueError("reader")
    columns = reader.get("columns")
    if columns is not None and not (isinstance(columns, list) and _distinct_strings(columns)):
        raise ValueError("reader")
    if not all(reader.get(key) is None or isinstance(reader[key], str) for key in ("format", "label")):
        raise ValueError("reader")


def _check_record(record: Any) -> None:
    """A model made by hand has none; that of a training run is shown by `sapo inspect`, and training goes on by it."""
    if not isinstance(record, dict):
        raise ValueError("record")
    if not record:
        return
    _check_settings(record["settings"])
    for key in ("sentences", "tokens", "passes", "kept_pass"):
        if not is_count(record[key]):
            raise ValueError(f"record: {key}")
    if not is_count(record.get("features", 0)):
        raise ValueError("record: features")
    for key in ("learner", "stopped", "score_name", "template"):
        if not isinstance(record[key], str):
            raise ValueError(f"record: {key}")
    if not isinstance(record.get("missing", ""), str):
        raise ValueError("record: missing")
    for entry in _listed(record, "history"):
        if not (is_count(entry["epoch"]) and all(is_number(entry[key]) for key in ("objective", "w_complexity"))):
            raise ValueError("record: history")
        if not (all(is_number(entry.get(key, 0.0)) for key in ("looked", "lost")) and is_count(entry.get("n", 1))):
            raise ValueError("record: history")
        if not (entry["dev"] is None or is_number(entry["dev"])):
            raise ValueError("record: history")
    for entry in _listed(record, "continued"):
        _check_settings(entry["settings"])
        if not all(is_count(entry[key]) for key in ("updates", "sentences", "passes")):
            raise ValueError("record: continued")
        if not isinstance(entry["stopped"], str):
            raise ValueError("record: continued")


def _check_settings(settings: Any) -> None:
    """Settings are plain values. Whether they are good ones is checked by whoever trains with them."""
    plain = isinstance(settings, dict) and all(
        value is None or isinstance(value, str | bool) or is_number(value) for value in settings.values()
    )
    if not plain:
        raise ValueError("record: settings")


def _listed(record: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = record.get(key, []) if key == "continued" else record[key]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"record: {key}")
    return entries


def is_count(value: Any) -> bool:
    """Return whether a value of JSON is a whole number from 0 on, of a size that can be calculated with."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def is_number(value: Any) -> bool:
    """Return whether a value of JSON is a number that can be calculated with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST_NUMBER < value < LARGEST_NUMBER


def _strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _distinct_strings(values: list[Any]) -> bool:
    return _strings(values) and len(set(values)) == len(values)
