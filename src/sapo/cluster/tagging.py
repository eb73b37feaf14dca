"""Tag a directory of files on a Ray cluster, with Ray Data: a directory in, a directory of the same names out.

A file is tagged by one worker as a stream, so that it may have any length and keeps its order, and is put in its place
when it is whole. So a run that was stopped goes on with the files that are missing.
"""

import hashlib
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from sapo.cluster.connection import LOCAL, connected
from sapo.cluster.files import Directory
from sapo.corpus.files import write_file
from sapo.corpus.formats import COLLECTED, format_of, open_output
from sapo.errors import SapoError
from sapo.model.file import model_from_bytes
from sapo.tagger import Tagger
from sapo.tagger.output import Output, tagged_file

RECORD = ".sapo-tagged.json"  # what the files of a directory were tagged with
MOST_BLOCKS = 1000  # of Ray Data; each holds one file, or more where there are more files


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
        raise SapoError(f"{source}: holds no files")
    for name in found:
        if format_of(name, job.format) in COLLECTED and format_of(name, job.format) != "arrow":
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
        raise SapoError(f"{out.address}: holds files of another model or other options; give another directory")


def _tag(ray: Any, names: list[str], source: str, target: str, job: Job, workers: int | None) -> Iterator[Tagged]:
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    size = min(workers or cores, len(names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray Data warns of its own settings
        import ray.data as data

        context = data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)  # after the import, which sets it
        files = data.from_items([{"name": name} for name in names], override_num_blocks=min(len(names), MOST_BLOCKS))
        rows = files.map(
            FileTagger,
            fn_constructor_args=(job, source, target),
            # all workers at once, as far as there are cores; a file takes long, so two that wait would be unfair
            compute=data.ActorPoolStrategy(
                min_size=1, max_size=size, initial_size=min(size, cores), max_tasks_in_flight_per_actor=2
            ),
            num_cpus=1,
        ).iter_rows()
    for row in rows:
        yield Tagged(row["name"], int(row["tokens"]), row["error"])


class FileTagger:
    """Tags one file after the other in a process of Ray; the model is loaded once."""

    def __init__(self, job: Job, source: str, target: str) -> None:
        self.job, self.tagger = job, job.tagger()
        self.session = self.tagger.model.encoder.session()  # for all files: most of their new words are the same
        self.source, self.target = Directory(source), Directory(target)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Tag the file of a row; return how many tokens it has, or what is wrong with it."""
        name = str(row["name"])
        try:
            return {"name": name, "tokens": self.tag(name), "error": ""}
        except SapoError as error:
            return {"name": name, "tokens": 0, "error": str(error)}

    def tag(self, name: str) -> int:
        """Tag a file, and put the result in its place."""
        job, tokens = self.job, 0
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
