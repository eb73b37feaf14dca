"""Tag a directory of files on a Ray cluster.

A file is tagged by one worker as a stream, so that it may have any length and keeps its order, and is put in its place
when it is whole. So a run that was stopped goes on with the files that are missing. A worker that dies is replaced, and
its file is tagged again.
"""

import hashlib
import json
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from sapo.apps.ray.connection import LOCAL, LONELY, connected, no_worker, reason
from sapo.corpus.files import write_file
from sapo.corpus.formats import format_of, open_output
from sapo.errors import SapoError
from sapo.tagger.decoding import Output
from sapo.tagger.file import model_from_bytes
from sapo.tagger.files import tagged_file
from sapo.tagger.tagger import Tagger

HIDDEN = (".", "_")  # how names of files begin that are not data


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory: a path of this machine, or an address that fsspec knows, such as s3://bucket/texts."""

    address: str

    @property
    def local(self) -> Path | None:
        """The path, if it is one of this machine."""
        if self.address.startswith("file://"):
            return Path(self.address.removeprefix("file://"))
        return None if "://" in self.address else Path(self.address)

    def files(self) -> dict[str, int]:
        """Return the names of all files below, relative to the directory, with their sizes.

        Raises SapoError if there is no such directory.
        """
        store, root = self._open()
        try:
            if not store.isdir(root):
                raise SapoError(f"{self.address}: no such directory")
            found = store.find(root, detail=True)
        except OSError as error:
            raise SapoError(f"{self.address}: cannot be read ({error})") from None
        named = {str(PurePosixPath(path).relative_to(root)): int(entry["size"] or 0) for path, entry in found.items()}
        return {
            name: named[name]
            for name in sorted(named)
            if not any(part.startswith(HIDDEN) for part in PurePosixPath(name).parts)
        }

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Give a file as one of this machine."""
        if self.local is not None:
            yield self.local / name
            return
        store, root = self._open()
        with tempfile.TemporaryDirectory() as room:
            path = Path(room) / PurePosixPath(name).name
            with self._as_sapo_error(name):
                store.get_file(f"{root}/{name}", str(path))
            yield path

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """Give a path to write a file to, which is in its place, whole, only at the end. It must be written whole."""
        if self.local is not None:
            path = self.local / name
            with self._as_sapo_error(name):
                path.parent.mkdir(parents=True, exist_ok=True)
            yield path  # whoever writes files of sapo writes them whole
            return
        store, root = self._open()
        target = PurePosixPath(root) / name
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")
        with tempfile.TemporaryDirectory() as room:
            path = Path(room) / target.name
            yield path
            with self._as_sapo_error(name):
                store.makedirs(str(target.parent), exist_ok=True)
                try:
                    store.put_file(str(path), str(part))
                    store.mv(str(part), str(target))
                except BaseException:
                    with suppress(OSError):
                        store.rm(str(part))
                    raise

    def make(self) -> None:
        """Make the directory if it is not there."""
        store, root = self._open()
        with self._as_sapo_error(""):
            store.makedirs(root, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, or None if there is none."""
        store, root = self._open()
        with self._as_sapo_error(name):
            return bytes(store.cat_file(f"{root}/{name}")) if store.exists(f"{root}/{name}") else None

    def _open(self) -> tuple[Any, str]:
        import fsspec

        try:
            store, root = fsspec.core.url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise SapoError(f"{self.address}: not an address that fsspec can open ({error})") from None
        return store, str(root).rstrip("/") or "/"

    @contextmanager
    def _as_sapo_error(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, shutil.Error) as error:
            raise SapoError(f"{self.address}/{name}: cannot be read or written ({error})") from None


RECORD = ".sapo-tagged.json"  # what the files of a directory were tagged with
TRIES = 5  # for a file whose worker dies
LOOK = 10  # seconds after which to look whether there still are machines


@dataclass(frozen=True, slots=True)
class Job:
    """What to do with each file."""

    model: bytes  # the model file
    output: Output
    bias: Mapping[str, float] = field(default_factory=dict)
    format: str | None = None
    label: str | None = None
    encoding: str | None = None
    to: str | None = None

    def tagger(self) -> Tagger:
        """Return the tagger of the job."""
        tagger = Tagger(model_from_bytes(self.model, name="the model"))
        for label, value in self.bias.items():
            tagger = tagger.with_bias(label, value)
        return tagger

    def name_of(self, name: str) -> str:
        """Return the name of the tagged file: text that becomes JSONL is named so."""
        if self.to != "jsonl" or format_of(name, self.format) != "text":
            return name
        path = PurePosixPath(name)
        ending = ".gz" if path.suffix == ".gz" else ""
        return str(path.with_name(path.name.removesuffix(".gz")).with_suffix(".jsonl")) + ending

    def record(self) -> dict[str, Any]:
        """Return what tells this job from others, for the record in the output directory."""
        options = asdict(self) | {"model": hashlib.sha256(self.model).hexdigest(), "bias": dict(self.bias)}
        options["output"] = {key: value for key, value in asdict(self.output).items() if key != "threads"}
        return options


@dataclass(frozen=True, slots=True)
class Tagged:
    """A file that is done, or the reason why it is not."""

    name: str
    tokens: int
    error: str = ""


def tag_directory(
    source: str,
    target: str,
    job: Job,
    *,
    address: str = LOCAL,
    workers: int | None = None,
    say: Callable[[str], None] = lambda message: None,
) -> Iterator[Tagged]:
    """Tag all files of a directory that are not in the other one yet; yield each when it is done.

    Both may be paths or addresses that fsspec knows; on a cluster all nodes must see them. A file that cannot be tagged
    is reported, and the others go on. Raises SapoError if the directories or options are wrong.
    """
    found, out = Directory(source).files(), Directory(target)
    if source == target or (out.local and out.local.resolve() == (Directory(source).local or Path()).resolve()):
        raise SapoError(f"{target}: the output would overwrite the input; give another directory")
    if not found:
        raise SapoError(f"{source}: contains no files")
    for name in found:
        if format_of(name, job.format) in ("label-studio", "brat", "spacy"):
            raise SapoError(f"{source}/{name}: --ray tags lines and Parquet, not {format_of(name, job.format)}")
    out.make()
    _check_record(out, job)
    done = set(out.files())
    left = [name for name in sorted(found, key=lambda name: -found[name]) if job.name_of(name) not in done]
    if len(left) < len(found):
        say(f"{len(found) - len(left):,} of {len(found):,} files are done already")
    if left:
        with connected(address) as ray:
            yield from _tag(ray, left, source, target, job, workers)


def _check_record(out: Directory, job: Job) -> None:
    """Leave a record of the job in the output directory. Raise SapoError if there is that of another one."""
    wanted = json.dumps(job.record(), sort_keys=True).encode()
    there = out.read(RECORD)
    if there is None:
        with out.placed(RECORD) as path, write_file(path) as stream:
            stream.write(wanted)
    elif there != wanted:
        raise SapoError(f"{out.address}: has files of another model or other options; give another directory")


def _tag(ray: Any, names: list[str], source: str, target: str, job: Job, workers: int | None) -> Iterator[Tagged]:
    """Give each worker a file at a time. A worker that the cluster has no room for joins when there is some."""
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    # Ray restarts a worker that dies, and lets it tag its file again
    kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=TRIES - 1)(FileTagger)
    shared = ray.put(job)  # each call has it: Ray warns of large arguments of what it may restart
    waiting, left = deque(names), len(names)
    running: dict[Any, tuple[Any, str | None]] = {}

    def start() -> None:
        worker = kind.remote(source, target)
        running[worker.begin.remote(shared)] = worker, None

    try:
        for _ in range(min(workers or cores, len(names))):
            start()
        while left:
            call = _wait(ray, running)
            worker, name = running.pop(call)
            try:
                tagged = ray.get(call)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, SapoError):
                    raise SapoError(f"a worker cannot start: {error.cause}") from None
                raise  # a bug
            except ray.exceptions.RayError as error:
                ray.kill(worker)
                if name is None:
                    if not running:
                        raise SapoError(f"no worker can start: {reason(error)}") from None
                    continue
                tagged = Tagged(name, 0, f"{source}/{name}: {TRIES} workers died while they tagged it")
                start()
            else:
                if waiting:
                    following = waiting.popleft()
                    running[worker.tag.remote(shared, following)] = worker, following
            if name is not None:
                left -= 1
                yield tagged
    finally:  # in a cluster of others, cores are given back at once
        for worker in {worker for worker, _ in running.values()}:
            ray.kill(worker)


def _wait(ray: Any, running: Mapping[Any, tuple[Any, str | None]]) -> Any:
    """Return a call that is done. Raise SapoError if no worker could do it."""
    lonely = 0
    while lonely < LONELY:
        done, _ = ray.wait(list(running), num_returns=1, timeout=LOOK)
        if done:
            return done[0]
        begun = any(name for _, name in running.values())
        lonely = 0 if begun and ray.cluster_resources().get("CPU", 0) >= 1 else lonely + LOOK
    raise no_worker()


class FileTagger:
    """Tags one file after the other in a process of Ray; the model is loaded once."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = Directory(source), Directory(target)
        self.tagger: Tagger | None = None

    def begin(self, job: Job) -> None:
        """Load the model, unless it is there. The answer also says that there was room for the worker."""
        if self.tagger is None:
            self.tagger = job.tagger()
            self.session = self.tagger.model.encoder.session()  # for all files: most of their new words are the same

    def tag(self, job: Job, name: str) -> Tagged:
        """Tag a file; return how many tokens it has, or what is wrong with it."""
        self.begin(job)  # Ray may have restarted this worker
        try:
            return Tagged(name, self._tag(job, name))
        except SapoError as error:
            return Tagged(name, 0, str(error))

    def _tag(self, job: Job, name: str) -> int:
        """Tag a file, and put the result in its place."""
        assert self.tagger is not None
        tokens = 0
        how = {"format": job.format, "label": job.label, "encoding": job.encoding, "to": job.to}
        with (
            self.source.fetched(name) as path,
            self.target.placed(job.name_of(name)) as result,
            open_output(result, format_of(name, job.format)) as stream,
        ):
            for count, written in tagged_file(self.tagger, path, job.output, session=self.session, **how):
                stream.write(written)
                tokens += count
        return tokens
