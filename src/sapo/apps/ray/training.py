"""Train on a Ray cluster by iterative parameter mixing (McDonald et al. 2010).

All weights of a large model take long to write, and the workers need the cores. So a pass writes them once, after its
first mixing, and then what each mixing changed. A run that goes on takes the checkpoint and makes these changes again.

The sentences are dealt into lanes, one for each worker. All workers begin with the same weights, and each learns from
the next part of its lane. Then their changes are mixed: a weight moves by the mean of what the workers did to it. That
happens several times a pass. Only what has changed travels.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from sapo import jit
from sapo.apps.ray.changes import Change, mix
from sapo.apps.ray.connection import LOCAL, connected
from sapo.apps.ray.lanes import LanePart, Lanes, MemoryLanes, ShardLanes, cut_lanes
from sapo.apps.ray.pool import Pool
from sapo.apps.ray.worker import FOLD_BELOW, PartReport, Setup, Step, bare_arrays, follow, size_of
from sapo.errors import SapoError
from sapo.learn import LEARNERS
from sapo.learn.loop import RunPass
from sapo.learn.records import RANKS, Observer, PassCounts, State
from sapo.learn.samples import Counts
from sapo.learn.settings import Option, Settings, settle
from sapo.learn.weights import Weights
from sapo.search.lattice import BY_RANK, TOKENS
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.training.checkpoint import Checkpoint

WHAT = "a mixing of sapo"
ID = "journal"  # of a checkpoint; its files have the same


@dataclass(slots=True)
class Journal:
    """The files of a checkpoint: PATH.mixing-1, PATH.mixing-2 ..."""

    checkpoint: Checkpoint
    _id: str = ""  # none: the next to be saved are all weights
    _count: int = 0

    def begin(self) -> None:
        """Begin a pass: what is there belongs to an earlier one."""
        self._id = ""

    def save(self, state: State, step: Step | None, more: dict[str, Any]) -> None:
        """Save the state after a step, with what `more` says of it."""
        if not self._id or step is None:
            self._id, self._count = uuid4().hex, 0
            self.checkpoint.more = more | {ID: self._id}
            self.checkpoint.save(state)
            return
        self._count += 1
        change = step.change
        header = {"format": 1, ID: self._id, "shrunk": change.shrunk, "fold": step.fold, "more": more}
        places = change.places.view(np.int32) if change.places.dtype == np.uint32 else change.places
        self.checkpoint.guard(
            lambda: save_arrays(self._path(self._count), header, {"places": places, "values": change.values})
        )

    def replay(self, weights: Weights) -> None:
        """Bring weights that were loaded from the checkpoint up to the last mixing that was saved."""
        for header, step in self._steps(weights):
            follow(weights, step.change, fold=step.fold)
            self.checkpoint.more = dict(header["more"])

    def remove(self) -> None:
        """Remove all files, where the checkpoint itself is later."""
        number = 1
        while (path := self._path(number)).exists():
            path.unlink()
            number += 1

    def _path(self, number: int) -> Path:
        return Path(f"{self.checkpoint.path}.mixing-{number}")

    def _steps(self, weights: Weights) -> Iterator[tuple[dict[str, Any], Step]]:
        wanted, number = self.checkpoint.more.get(ID), 1
        while wanted and (path := self._path(number)).exists():
            header, arrays = load_arrays(path, WHAT)
            if header.get(ID) != wanted:  # of an earlier checkpoint
                return
            try:
                yield header, _step(header, arrays, size_of(weights))
            except (KeyError, TypeError, ValueError) as error:
                raise SapoError(
                    f"{path}: not {WHAT} ({error}); delete it to continue from the checkpoint before it"
                ) from None
            number += 1


def _step(header: dict[str, Any], arrays: dict[str, Any], size: int) -> Step:
    """Return the step of a file. Raise KeyError, TypeError or ValueError if it is damaged."""
    places, values = arrays["places"], arrays["values"]
    if places.dtype == np.int32:
        places = places.view(np.uint32)
    if places.dtype not in (np.uint32, np.int64) or values.dtype != np.float32 or places.shape != values.shape:
        raise ValueError("places")
    if len(places) and not (places[0] >= 0 and places[-1] < size and (places[1:] > places[:-1]).all()):
        raise ValueError("places")
    shrunk = float(header["shrunk"])
    if not (np.isfinite(values).all() and 0 < shrunk <= 1 and isinstance(header["more"], dict)):
        raise ValueError("values")
    return Step(Change(places, values, shrunk), bool(header["fold"]))


MIXINGS = 16  # a pass: see docs/explanation/scaling.md
WAIT = 10.0  # seconds
MANY = Option(int, "a whole number from 1 to 10,000", 1, 10_000)


def _silent(_: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to train: `sapo.train(data, cluster=Cluster("local", workers=4))`.

    `address` is `local` (this machine), or that of a Ray cluster. The sentences are dealt out to `workers`; by default
    there are as many as the cluster has cores. Their weights are mixed `mixings` times a pass. A slow worker is
    waited for `wait` seconds, or three times as long as the others took. `say` gets messages, `log` a
    dictionary for each mixing.

    The result depends on the seed, the workers and the mixings, and not on how many cores there really are: a run that
    loses or gains machines gives the same model, unless some worker was so late that the others did not wait for it.
    """

    address: str = LOCAL
    workers: int | None = MANY.field(None, "With --ray: workers that share the work; as many as the cluster has cores.")
    mixings: int = MANY.field(MIXINGS, "With --ray: how often in an epoch the weights of the workers are mixed.")
    wait: float = WAIT
    say: Callable[[str], None] = _silent
    log: Callable[[dict[str, Any]], None] = _silent

    def __post_init__(self) -> None:
        settle(self)
        if not self.wait > 0:
            raise SapoError(f"wait must be more than 0 seconds, not {self.wait}")

    @contextmanager
    def passes(
        self, learner: str, source: Any, settings: Settings, state: State, checkpoint: Checkpoint | None
    ) -> Iterator[RunPass]:
        """Give a function that makes a pass on the cluster, with the arguments of `sapo.learn.loop.run_pass`."""
        check(learner, settings, state.weights)
        with connected(self.address) as ray:
            workers, mixings = self._sizes(ray, checkpoint)
            lanes, mixings = _lanes(ray, source, workers, mixings, settings.seed)
            settings.shrink_of(max(1, source.sentences // lanes.count))
            self.say(f"{lanes.count} workers, mixed {mixings} times an epoch")
            pool = Pool(ray, Setup.of(learner, state.weights, lanes), self.say, lambda: driver.whole(), self.wait)
            journal = None if checkpoint is None else Journal(checkpoint)
            driver = Driver(pool, state, mixings, self.log, journal)
            driver.resume()
            pool.begin()
            try:
                yield driver.one_pass
                driver.end()
                if pool.busy:
                    self.say(f"did not wait for {len(pool.busy)} late parts of the last epoch")
            finally:
                pool.end()

    def _sizes(self, ray: Any, checkpoint: Checkpoint | None) -> tuple[int, int]:
        """Return the number of workers and of mixings; those of a checkpoint hold."""
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        if checkpoint is None or "workers" not in checkpoint.more:
            return self.workers or cores, self.mixings
        then = checkpoint.more["workers"]
        if self.workers not in (None, then):
            raise SapoError(f"{checkpoint.path}: was made with {then} workers; give the same, or leave `resume` out")
        return then, checkpoint.more["mixings"]


def check(learner: str, settings: Settings, weights: Any) -> None:
    """Raise SapoError if this cannot be learned on a cluster."""
    if learner not in LEARNERS:
        raise SapoError(f"`cluster` is for {', '.join(LEARNERS)}, not for {learner}; leave it out")
    if settings.regularizer not in ("l2", "none"):
        raise SapoError(f"`cluster` takes the regularizer l2 or none, not {settings.regularizer}")
    if LEARNERS[learner].all_labels and weights.rows.listed and not settings.all_pairs:
        raise SapoError(
            f"`cluster` cannot train {learner} with more than 32 labels; add `all_pairs=True`, or leave it out"
        )


def _lanes(ray: Any, source: Any, workers: int, mixings: int, seed: int) -> tuple[Lanes, int]:
    """Return the lanes of the data, and how often a pass can be mixed."""
    from sapo.features.encoded import EncodedCorpus

    if isinstance(source, EncodedCorpus):
        count = min(workers, source.sentences)
        stored = [ray.put(lane) for lane in cut_lanes(source, count, seed)]
        return MemoryLanes(count, _Fetch(stored), Counts(np.bincount(source.rows))), min(
            mixings, -(-source.sentences // count)
        )
    shards = len(source.numbers)
    if shards < workers:
        raise SapoError(f"{shards} shards are too few for {workers} workers; ask for fewer workers, or smaller shards")
    return ShardLanes(workers, str(source.directory.resolve())), mixings


@dataclass(frozen=True, slots=True)
class _Fetch:
    """Gets the corpus of a lane from the object store."""

    stored: Sequence[Any]

    def __call__(self, lane: int) -> Any:
        import ray

        return ray.get(self.stored[lane])


@dataclass(slots=True)
class Driver:
    """Makes passes: hands out parts, mixes what comes back, and saves the state after each mixing."""

    pool: Pool
    state: State
    mixings: int
    log: Callable[[dict[str, Any]], None]
    journal: Journal | None
    folds: list[tuple[int, float]] = field(default_factory=list)  # at which mixing v was multiplied, and by what
    ahead: Step | None = None  # what workers follow already, and the weights here do not
    followed: Step | None = None  # the last one
    within: bool = False  # a pass

    def one_pass(
        self,
        learner: Any,
        corpus: Any,
        settings: Settings,
        weights: Weights,
        epoch: int,
        *,
        observers: Sequence[Observer] = (),
    ) -> PassCounts:
        """Learn from every sentence once, in parts; return what was counted."""
        totals, seconds, first = self._resumed(settings, epoch)
        self.within = True
        if self.journal is not None:
            self.journal.begin()
        started = jit.clock() - seconds
        if settings.average and epoch == settings.averaged_from and first == 0:
            weights.begin_average()
        for mixing in range(first, self.mixings):
            lanes = self.pool.setup.lanes.count
            parts = [LanePart(epoch, mixing, lane, self.mixings, lanes) for lane in range(lanes)]
            self.pool.hand_out(parts, settings)
            self._follow()  # this and saving take a while, in which the workers learn
            if mixing > first:
                self._save(epoch, mixing, totals, jit.clock() - started)
            last = epoch == settings.epochs and mixing == self.mixings - 1
            begun = jit.clock()
            reports = self.pool.collect(settings, all_of_them=last)
            waited = jit.clock() - begun
            fold = mixing == self.mixings - 1 and epoch + 1 == settings.averaged_from and settings.average > 0
            mixed_bytes = self._mix(reports, weights, fold)
            for report in reports:
                totals += report.totals
            times = {"seconds": waited, "mixing_seconds": jit.clock() - begun - waited}
            self.log(_entry(epoch, mixing, reports, self.pool) | times | {"mixed_bytes": mixed_bytes})
            for observer in observers:
                observer.samples(epoch, corpus.sentences * (mixing + 1) // self.mixings, corpus.sentences)
        self._follow()
        self.within = False
        if self.journal is not None:  # whose checkpoint saves the state itself after the pass
            self.journal.checkpoint.more = self._sizes() | {"late": _listed(self.pool.busy)}
        return PassCounts(epoch, settings.rate_of(epoch), totals, jit.clock() - started)

    def resume(self) -> None:
        """Go on from the last mixing that was saved, if the state was loaded from a checkpoint."""
        if self.journal is not None:
            self.journal.replay(self.state.weights)

    def end(self) -> None:
        """Remove what the checkpoint of the last pass has made useless."""
        if self.journal is not None and not self.within:
            self.journal.remove()

    def whole(self) -> dict[str, Any]:
        """Return all weights as arrays, for a worker that joins."""
        self._follow()
        return bare_arrays(self.state.weights)

    def _mix(self, reports: Sequence[PartReport], weights: Weights, fold: bool) -> int:
        """Mix what workers learned, and let all follow; return how many bytes each of them gets."""
        if not reports:
            return 0
        change = mix([report.change.rescaled(self._folded_since(report.begun_at)) for report in reports])
        scale = weights.scale * change.shrunk
        fold = fold or scale < FOLD_BELOW
        if fold:
            self.folds.append((self.pool.version + 1, scale))
        self.ahead = Step(change, fold)
        self.pool.mixed(self.ahead)
        return change.nbytes

    def _follow(self) -> None:
        """Bring the weights here up to the last mixing."""
        if self.ahead is not None:
            follow(self.state.weights, self.ahead.change, fold=self.ahead.fold)
            self.followed, self.ahead = self.ahead, None

    def _folded_since(self, version: int) -> float:
        return float(np.prod([factor for at, factor in self.folds if at > version]))

    def _save(self, epoch: int, mixing: int, totals: Any, seconds: float) -> None:
        if self.journal is not None:
            late = [part for part in self.pool.busy if (part.epoch, part.mixing) < (epoch, mixing)]
            more = {"mixing": mixing, "totals": totals.tolist(), "seconds": seconds, "late": _listed(late)}
            self.journal.save(self.state, self.followed, self._sizes() | more)
            self.followed = None

    def _sizes(self) -> dict[str, Any]:
        return {"workers": self.pool.setup.lanes.count, "mixings": self.mixings}

    def _resumed(self, settings: Settings, epoch: int) -> tuple[Any, float, int]:
        """Return totals, seconds and the first mixing to do; those of the checkpoint if it was saved in this pass."""
        totals = np.zeros(BY_RANK + RANKS)
        more = {} if self.journal is None else self.journal.checkpoint.more
        late = [LanePart(*numbers) for numbers in more.pop("late", [])]
        if late and self.pool.version == 0:
            self.pool.say(f"{len(late)} parts were late when the run was stopped; redoing them")
            self.pool.hand_out(late, settings)
        if "mixing" not in more:
            return totals, 0.0, 0
        stored = np.array(more.pop("totals"))
        return stored, float(more.pop("seconds")), int(more.pop("mixing"))


def _listed(parts: Sequence[LanePart]) -> list[list[int]]:
    return [[part.epoch, part.mixing, part.lane, part.of, part.lanes] for part in parts]


def _entry(epoch: int, mixing: int, reports: Sequence[PartReport], pool: Pool) -> dict[str, Any]:
    """Return what the log says of a mixing."""
    return {
        "event": "mixing",
        "epoch": epoch,
        "mixing": mixing + 1,
        "bytes": sum(report.change.nbytes for report in reports),
        "late": len([part for part in pool.busy if part.mixing <= mixing]),
        "workers": [
            {
                "lane": report.part.lane,
                "mixing": report.part.mixing + 1,
                "host": report.place.host,
                "process": report.place.process,
                "seconds": report.seconds,
                "processor_seconds": report.processor_seconds,
                "tokens": int(report.totals[TOKENS]),
                "bytes": report.change.nbytes,
            }
            for report in reports
        ],
    }
