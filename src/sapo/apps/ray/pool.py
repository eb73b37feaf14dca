"""Hand parts of the data to workers on a Ray cluster, whatever happens to the workers.

A worker that dies is replaced, and its part is done again. One that is late is not waited for: its report comes with
those of a later mixing. Workers that the cluster has no room for wait, and join when there is some.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from numpy.typing import NDArray

from sapo.apps.ray.connection import LONELY, no_worker, reason
from sapo.apps.ray.lanes import LanePart
from sapo.apps.ray.worker import PartReport, Setup, Step, Worker, WorkerPlace
from sapo.errors import SapoError
from sapo.learn.settings import Settings

KEPT = 8  # mixings that a worker may be behind; after more it gets all weights
LATE = 3  # times as long as the others
HUNG = 10  # times as long as what is late
HOUR = 3600.0  # before the first report it is unknown how long a part takes
TRIES = 5  # for a part
STARTS = 10  # of workers in a row that end before they join
TICK = 0.5  # seconds
Whole = Mapping[str, NDArray[Any]]


@dataclass(slots=True, eq=False)
class Member:
    """A worker, as the driver sees it."""

    number: int
    actor: Any
    place: WorkerPlace | None = None  # None until it has joined
    version: int = -1  # mixings that its weights have seen
    part: LanePart | None = None
    began: float = 0.0
    done: int = 0  # parts


@dataclass(slots=True)
class Pool:
    """The workers of a run. `whole` gives all weights as arrays, for a worker that joins."""

    ray: Any
    setup: Setup
    say: Callable[[str], None]
    whole: Callable[[], Whole]
    wait: float  # seconds before anybody is late
    members: list[Member] = field(default_factory=list)
    version: int = 0
    _running: dict[Any, Member] = field(default_factory=dict)  # by what they promised
    _waiting: deque[LanePart] = field(default_factory=deque)
    _steps: deque[Any] = field(default_factory=lambda: deque(maxlen=KEPT))
    _whole: tuple[int, Any] = (-1, None)
    _tries: dict[LanePart, int] = field(default_factory=dict)
    _said_late: set[LanePart] = field(default_factory=set)  # parts that were reported as late
    _longest: float = 0.0  # seconds that a part took so far
    _started: int = 0
    _failed: int = 0  # to join, one after the other
    _setup: Any = None

    def begin(self) -> None:
        """Ask for one worker for each lane. Those that there is room for come soon, the others when there is some."""
        self._setup = self.ray.put(self.setup)
        for _ in range(self.setup.lanes.count):
            self._recruit()

    def end(self) -> None:
        """Let all workers go."""
        for member in self.members:
            self.ray.kill(member.actor)
        self.members.clear()
        self._running.clear()

    @property
    def busy(self) -> list[LanePart]:
        """The parts that are not done yet."""
        return sorted(
            [member.part for member in self._running.values() if member.part is not None] + list(self._waiting),
            key=lambda part: (part.epoch, part.mixing, part.lane),
        )

    def mixed(self, step: Step) -> None:
        """Take note of a mixing, which all workers will follow before their next part."""
        self._steps.append(self.ray.put(step))
        self.version += 1

    def hand_out(self, parts: Sequence[LanePart], settings: Settings) -> None:
        """Add parts, and give free workers something to do."""
        self._waiting.extend(parts)
        self._assign(settings)

    def collect(self, settings: Settings, *, all_of_them: bool = False) -> list[PartReport]:
        """Wait for the parts that were handed out, but not for late ones unless `all_of_them`; return what is there."""
        reports: list[PartReport] = []
        alone = monotonic()
        while self._waiting or any(member.part for member in self._running.values()):
            self._assign(settings)
            done, _ = self.ray.wait(list(self._running), num_returns=1, timeout=TICK)
            for promise in done:
                self._look_at(promise, reports)
            if any(member.place for member in self.members):
                alone = monotonic()
            elif monotonic() - alone > LONELY:
                raise no_worker()
            if not self._waiting and self._only_late(reports, end=all_of_them):
                break
        return sorted(reports, key=lambda report: (report.part.epoch, report.part.mixing, report.part.lane))

    def _recruit(self) -> None:
        actor = self.ray.remote(num_cpus=1, max_restarts=0)(Worker).remote(self._setup)
        member = Member(self._started, actor)
        self._started += 1
        self.members.append(member)
        self._running[actor.place.remote()] = member

    def _assign(self, settings: Settings) -> None:
        free = [member for member in self.members if member.place is not None and member.part is None]
        for member in tuple(free):
            # first the lanes that it had before, whose data are there already; then those of workers that are not free
            own = [part for part in self._waiting if self._home(part) is member]
            others = [part for part in self._waiting if self._home(part) not in free]
            if own or others:
                part = (own or others)[0]
                self._waiting.remove(part)
                self._start(member, part, settings)

    def _home(self, part: LanePart) -> Member:
        joined = [member for member in self.members if member.place is not None]
        return joined[part.lane % len(joined)]

    def _start(self, member: Member, part: LanePart, settings: Settings) -> None:
        behind = self.version - member.version
        whole, steps = None, list(self._steps)[len(self._steps) - behind :] if behind else []
        if member.version < 0 or behind > len(self._steps):
            if self._whole[0] != self.version:
                self._whole = self.version, self.ray.put(dict(self.whole()))
            whole, steps = self._whole[1], []
        promise = member.actor.learn.remote(part, settings, self.version, whole, *steps)
        member.part, member.version, member.began = part, self.version, monotonic()
        self._running[promise] = member

    def _look_at(self, promise: Any, reports: list[PartReport]) -> None:
        member = self._running.pop(promise)
        try:
            found = self.ray.get(promise)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SapoError):
                raise error.cause from None
            if not isinstance(error.cause, self.ray.exceptions.RayError):
                raise
            self._lost(member, error.cause)
        except self.ray.exceptions.RayError as error:
            self._lost(member, error)
        else:
            if member.part is None:
                member.place = found
                self._failed = 0
                if member.number >= self.setup.lanes.count:
                    self.say(f"worker {member.number + 1} joined on {found.host} (process {found.process})")
            else:
                self._said_late.discard(member.part)
                member.part = None
                member.done += 1
                self._longest = max(self._longest, found.seconds)
                reports.append(found)

    def _lost(self, member: Member, error: Exception) -> None:
        """Replace a worker, and let another one do its part."""
        self.members.remove(member)
        self.ray.kill(member.actor)
        where = f" on {member.place.host} (process {member.place.process})" if member.place else ""
        why = type(error).__name__
        if member.part is None:
            self.say(f"worker {member.number + 1}{where} was lost ({why}); a new one replaces it")
            self._failed += member.place is None
            if self._failed >= STARTS:
                raise SapoError(f"{STARTS} workers failed to start; the last one: {reason(error)}")
        else:
            self.say(f"worker {member.number + 1}{where} was lost ({why}); redoing {member.part}")
            tries = self._tries[member.part] = self._tries.get(member.part, 0) + 1
            if tries >= TRIES:
                raise SapoError(f"{member.part}: gave up after losing {tries} workers, the last one by {why}")
            self._waiting.appendleft(member.part)
        self._recruit()

    def _only_late(self, reports: Sequence[PartReport], *, end: bool) -> bool:
        """Return whether all that runs is late. Replace who has hung."""
        running = [(promise, member) for promise, member in self._running.items() if member.part is not None]
        limit = max(self.wait, LATE * max((report.seconds for report in reports), default=math.inf))
        hung = HUNG * max(self.wait, LATE * self._longest) if self._longest else HOUR
        now = monotonic()
        for promise, member in running:
            if now - member.began > hung:
                del self._running[promise]
                self._lost(member, TimeoutError())
                return False
        # the first part of a worker takes longer: it gets its data and may compile
        late = [member for _, member in running if member.done and now - member.began > limit]
        if end or not running or len(late) < len(running):
            return False
        for member in late:
            if member.part is not None and member.part not in self._said_late:
                self._said_late.add(member.part)
                self.say(f"worker {member.number + 1} is late: {member.part} will be mixed in when it comes")
        return True
