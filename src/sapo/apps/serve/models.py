"""Keep the models that are served; load a changed file in the background, and reject a broken one."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sapo.apps.http import Say
from sapo.apps.serve.messages import ModelAnswer
from sapo.apps.taggers import read_model, ready_tagger
from sapo.errors import SapoError, did_you_mean
from sapo.tagger.arrayfile import unpack_arrays
from sapo.tagger.tagger import Tagger
from sapo.tags.schemes import looks_like_spans
from sapo.training import ud
from sapo.training.ud import UD

INTERVAL = 1.0  # seconds between two looks at the files
Stamp = tuple[int, int, int]  # changes with the file


@dataclass(slots=True)
class ServedModel:
    """A model in use, and the file it came from."""

    name: str
    path: Path
    stamp: Stamp
    model: Tagger | UD
    loaded: float  # seconds since 1970
    reloads: int = 0
    failures: int = 0
    problem: str | None = None  # why the file as it is now was not loaded
    seen: Stamp | None = None  # of a changed file, at the last look

    def describe(self, *, record: bool = False) -> ModelAnswer:
        """Return what clients may know; not where the file is."""
        tagger = self.model.steps.upos if isinstance(self.model, UD) else self.model
        model = tagger.model
        return ModelAnswer(
            name=self.name,
            kind="ud" if isinstance(self.model, UD) else "tagger",
            labels=list(tagger.labels),
            columns=list(tagger.columns),
            marks_spans=looks_like_spans(model.outer_labels),
            features=model.encoder.features,
            loaded=datetime.fromtimestamp(self.loaded, UTC).isoformat(timespec="seconds"),
            reloads=self.reloads,
            problem=self.problem,
            record=dict(model.record) if record else None,
        )


class Models:
    """All models that are served. Other threads may ask while a model is replaced."""

    def __init__(self, paths: Sequence[str | Path], say: Say) -> None:
        self._say = say
        self._stop = threading.Event()
        self._by_name: dict[str, ServedModel] = {}
        for path in map(Path, paths):
            if (other := self._by_name.get(path.stem)) is not None:
                raise SapoError(f"{path} and {other.path} are both called '{path.stem}'; rename one of the files")
            try:
                stamp = _stamp(path)
            except OSError:  # which loading explains
                stamp = (0, 0, 0)
            self._by_name[path.stem] = ServedModel(path.stem, path, stamp, _load(path), time.time())

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._by_name.values())

    def find(self, name: str | None) -> ServedModel:
        """Return a model by name, or the first one. Raise SapoError if there is none of that name."""
        if name is None:
            return next(iter(self._by_name.values()))
        if name not in self._by_name:
            raise SapoError(f"no model is called '{name}'{did_you_mean(name, self._by_name)}")
        return self._by_name[name]

    def problems(self) -> dict[str, str]:
        """Return which changed files were not loaded, by the name of the model; not why, which is for the log."""
        return {one.name: "the changed file was not loaded" for one in self if one.problem is not None}

    def watch(self) -> None:
        """Look for changed files from now on, in a thread."""
        threading.Thread(target=self._watch, name="sapo-models", daemon=True).start()

    def end(self) -> None:
        """Stop looking for changed files."""
        self._stop.set()

    def refresh(self) -> None:
        """Load files that have changed, and did not change again since the last look: then they are whole."""
        for served in self:
            try:
                stamp = _stamp(served.path)
            except OSError as error:
                self._refuse(served, error.strerror or f"{error}")
                continue
            if stamp == served.stamp:
                continue
            if stamp == served.seen:
                self._replace(served, stamp)
            served.seen = stamp

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.refresh()

    def _replace(self, served: ServedModel, stamp: Stamp) -> None:
        try:
            model = _load(served.path)
            if _stamp(served.path) != stamp:  # it is being written; look again
                return
        except Exception as error:  # whatever it is, the old model must stay
            self._refuse(served, f"{error}")
        else:
            served.model, served.loaded, served.problem = model, time.time(), None
            served.reloads += 1
            self._say(f"sapo: {served.name}: loaded the changed file")
        served.stamp = stamp

    def _refuse(self, served: ServedModel, problem: str) -> None:
        # the message begins with the path, which clients should not see
        reason = problem.removeprefix(f"{served.path}: ")
        if reason != served.problem:
            served.failures += 1
            self._say(f"sapo: {served.path}: the changed file was not loaded, the old model stays ({reason})")
        served.problem = reason


def _load(path: Path) -> Tagger | UD:
    """Load a model and everything that it needs to answer. Raise SapoError if it is missing or damaged."""
    data = read_model(path)
    header, arrays = unpack_arrays(data, path, "a sapo model")
    if header.get("kind") != ud.KIND:
        return ready_tagger(data, path)
    pipeline = UD.of_parts(path, header, arrays)
    pipeline("Warm up.")
    return pipeline


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
