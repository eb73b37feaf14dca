"""What a cache directory was made from: the input file, and every option that its shards depend on."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sapo.corpus.files import is_special, missing_file
from sapo.encode.template import TemplateSet
from sapo.errors import SapoError
from sapo.training.data import reading_of
from sapo.training.plan import Plan
from sapo.training.rules import read_rules

CHUNK = 1 << 24


def input_file(plan: Plan) -> Path:
    """Return the file to read. Raise SapoError if the data is something else."""
    if not isinstance(plan.data, str | Path):
        raise SapoError("stream: the training data must be a file; write the sentences into one first")
    path = Path(plan.data)
    if str(plan.data) == "-" or is_special(path):
        raise SapoError(f"{plan.data}: --stream reads its input again when it goes on; give it a file, not a pipe")
    if path.is_dir():
        raise SapoError(f"{path}: --stream reads a single file, not a directory; sapo convert makes one")
    if not path.exists():
        raise missing_file(path)
    return path


def request_of(plan: Plan, path: Path, templates: TemplateSet, shard: int, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the shards depend on, as JSON values. `old` is the request of a directory, or empty.

    A file that has the size and the time of the old input is taken for the same; otherwise its content decides.
    """
    labels = plan.labels
    rules = read_rules(labels.rules) if isinstance(labels.rules, str | Path) else list(labels.rules)
    return {
        "input": _identity(path, old.get("input")),
        "template": templates.text,
        "columns": list(templates.file_columns),
        "reading": {name: _plain(value) for name, value in reading_of(plan.reading).items()},
        "min_count": plan.min_count,
        "constraints": labels.constraints,
        "scheme": labels.scheme,
        "rules": rules,
        "shard": shard,
    }


def _identity(path: Path, old: Any) -> dict[str, Any]:
    stat = path.stat()
    found: dict[str, Any] = {"size": stat.st_size, "time": stat.st_mtime_ns}
    if isinstance(old, dict) and {key: old.get(key) for key in found} == found:
        return old
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    found["sha256"] = digest.hexdigest()
    if isinstance(old, dict) and old.get("sha256") == found["sha256"]:
        return old  # copied, or touched
    return found


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int) else list(value)
