"""sapo quickstart: go from labeled data to a model and a report in one command.

The directory holds the parts of the data, the model, the report, and `quickstart.json`: for each step a fingerprint of
what it read, and the fingerprints of the files that it wrote. A step whose input has not changed is not done again.
"""

import hashlib
import json
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapo.cli.options import (
    announce_compiling,
    columns_option,
    counted,
    encoding_option,
    format_option,
    label_option,
    quiet_option,
    split_names,
    tell,
)
from sapo.errors import DataError, OptionError

if TYPE_CHECKING:
    from sapo.corpus.conversion import Part, Source, Target
    from sapo.tagger.tagger import Tagger

SHARES = (70, 10, 20)  # of train, dev and test
FEWEST = 20  # documents or sentences; with fewer no score would mean anything
STATE, MODEL, REPORT, DATA = "quickstart.json", "model.sapo", "report.html", "data"
PROGRAM = "sapo quickstart"


@click.command("quickstart")
@click.argument("data")
@click.option(
    "--output",
    "-o",
    metavar="DIRECTORY",
    help="Where to write. Default: the name of DATA, as tickets-sapo for tickets.csv.",
)
@format_option
@encoding_option
@label_option
@columns_option
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Fixes everything that is random.")
@quiet_option
def quickstart_command(
    data: str,
    output: str | None,
    format: str | None,
    encoding: str | None,
    label: str | None,
    columns: str | None,
    seed: int,
    quiet: bool,
) -> None:
    """Go from labeled data to a model and a report.

    sapo quickstart tickets.csv

    Checks DATA, which may be in any format, splits it by document into train, dev and test, trains a model, calibrates
    it, evaluates it on test, and writes model.sapo and report.html: scores with intervals, errors, calibration, a
    learning curve, and what to label next. If you run it again, it does only what has changed.
    """
    from sapo.corpus.formats import format_of

    if data == "-":
        raise OptionError("quickstart reads its data several times; save standard input to a file first")
    say = (lambda line: None) if quiet else tell
    room = Path(output or default_directory(data))
    reading = DataOptions(format_of(data, format), label, split_names(columns), encoding)
    announce_compiling(quiet)
    run = Quickstart(data, room, reading, seed, say)
    run.run()


def default_directory(data: str) -> str:
    """Return the directory for some data.

    >>> default_directory("corpora/tickets.csv.gz"), default_directory("brat/")
    ('tickets-sapo', 'brat-sapo')
    """
    return f"{Path(data).name.partition('.')[0] or 'data'}-sapo"


@dataclass(frozen=True, slots=True)
class DataOptions:
    """How the data is read."""

    format: str
    label: str | None
    columns: list[str] | None
    encoding: str | None

    def options(self) -> dict[str, Any]:
        """Return the options for the parts, which are UTF-8."""
        return {"format": self.format, "label": self.label, "columns": self.columns}


@dataclass(slots=True)
class Steps:
    """What earlier runs did in a directory."""

    room: Path
    steps: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, room: Path) -> "Steps":
        """Return the state of a directory. Raise SapoError if it has files, but none of an earlier run."""
        path = room / STATE
        if not room.exists() or (room.is_dir() and not any(room.iterdir())):
            return cls(room)
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("program") != PROGRAM or not isinstance(found.get("steps"), dict):
            raise DataError(f"{room}: exists and was not made by {PROGRAM}; give another directory with -o")
        return cls(room, found["steps"])

    def is_done(self, step: str, key: str, files: Sequence[str], *, as_written: bool = True) -> bool:
        """Return whether a step had the same input, and its files are there, and as they were written."""
        known = self.steps.get(step, {})
        there = all((self.room / name).exists() for name in files)
        return known.get("key") == key and there and (not as_written or not self._changed(step, files))

    def clear(self, step: str, files: Sequence[str]) -> None:
        """Make room for the files of a step. Raise SapoError if one of them is not as this command wrote it."""
        for name in self._changed(step, files):
            raise DataError(
                f"{self.room / name}: is not as {PROGRAM} wrote it; move it away, or give another directory with -o"
            )
        for name in files:
            if (self.room / name).is_dir():
                shutil.rmtree(self.room / name)

    def keep(self, step: str, key: str, files: Sequence[str], **more: Any) -> None:
        """Remember that a step is done."""
        from sapo.corpus.files import write_file

        self.steps[step] = {"key": key, "files": {name: fingerprint(self.room / name) for name in files}, **more}
        with write_file(self.room / STATE) as stream:
            stream.write(json.dumps({"program": PROGRAM, "steps": self.steps}, indent=1).encode())

    def _changed(self, step: str, files: Sequence[str]) -> list[str]:
        written = self.steps.get(step, {}).get("files", {})
        return [
            name for name in files if (self.room / name).exists() and fingerprint(self.room / name) != written.get(name)
        ]


def fingerprint(path: Path) -> str:
    """Return a hash of a file, or of all files of a directory with their names."""
    from sapo.corpus.files import missing_file

    if not path.exists():
        raise missing_file(path)
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def key_of(*parts: object) -> str:
    """Return a fingerprint of values and of this version of sapo."""
    from sapo import __version__

    return hashlib.sha256(json.dumps([__version__, *parts], default=str).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Quickstart:
    """One run of the command."""

    data: str
    room: Path
    reading: DataOptions
    seed: int
    say: Callable[[str], None]

    def run(self) -> None:
        """Do the steps that are not done yet, and say what was reused."""
        from sapo.check.doctor import examine
        from sapo.cli.pages import write_page
        from sapo.cli.report import About, judge, report_page
        from sapo.corpus.conversion import Source, Target, part_paths
        from sapo.corpus.files import with_encoding
        from sapo.tagger.tagger import Tagger

        state = Steps.load(self.room)
        given = fingerprint(Path(self.data))
        source = Source(
            with_encoding(self.data, self.reading.encoding),
            self.reading.format,
            self.reading.label,
            self.reading.columns,
        )
        target = Target(self.room / DATA)
        parts = part_paths(source, target, len(SHARES))
        names = [path.relative_to(self.room).as_posix() for path in parts]
        reused = []

        key = key_of(given, self.reading.options(), self.reading.encoding, self.seed, SHARES)
        if state.is_done("split", key, names, as_written=False):
            reused.append("the split")
        else:
            self._split(state, key, source, target, names)
        split = state.steps["split"]
        self.say(f"{self.data}: {split['sizes']}")

        key = key_of(*map(fingerprint, parts[:2]), self.reading.options(), self.seed)
        if state.is_done("train", key, [MODEL]):
            reused.append("the model")
            tagger = Tagger.load(self.room / MODEL)
        else:
            tagger = self._train(state, key, parts)

        key = key_of(fingerprint(self.room / MODEL), fingerprint(parts[2]), given, self.data)
        if state.is_done("report", key, [REPORT]):
            reused.append("the report")
        else:
            state.clear("report", [REPORT])
            options = self.reading.options()
            checked = examine([self.data], encoding=self.reading.encoding, **options)
            judged = judge(tagger, parts, options, self.seed, self.say)
            about = About(self.data, split["sizes"], split["unit"], parts[2], self.next_commands(tagger))
            write_page(str(self.room / REPORT), report_page(about, judged, checked))
            state.keep("report", key, [REPORT], score=judged.headline())
        if reused:
            self.say(f"reused, as nothing changed: {', '.join(reused)}")
        self.say(state.steps["report"]["score"])
        self.say(f"{self.room / MODEL} and {self.room / REPORT} are ready; next:")
        for command in self.next_commands(tagger):
            self.say(f"  {command}")

    def next_commands(self, tagger: "Tagger") -> list[str]:
        """Return what to do with the model: serve it, and teach it, or tag with it if it needs more than words."""
        model, name = shlex.quote(str(self.room / MODEL)), Path(self.data).name.partition(".")[0]
        teach = f"sapo teach new.txt -o {shlex.quote(name)}.teach --model {model}"
        return [f"sapo serve {model}", teach if tagger.columns == ("word",) else f"sapo tag {model} new.txt"]

    def _split(self, state: Steps, key: str, source: "Source", target: "Target", names: Sequence[str]) -> None:
        from sapo.corpus.conversion import split_corpus

        state.clear("split", names)
        parts, _ = split_corpus(source, target, SHARES, seed=self.seed)
        units = [part.sentences if part.documents is None else part.documents for part in parts]
        if sum(units) < FEWEST:
            shutil.rmtree(self.room / DATA)
            raise DataError(
                f"{self.data}: {counted(sum(units), self._unit(parts))} are too few; label at least {FEWEST}, "
                "for example with sapo teach"
            )
        state.keep("split", key, names, sizes=_sizes(parts), units=units, unit=self._unit(parts))

    @staticmethod
    def _unit(parts: "Sequence[Part]") -> str:
        return "sentence" if parts[0].documents is None else "document"

    def _train(self, state: Steps, key: str, parts: Sequence[Path]) -> "Tagger":
        from sapo.training.run import train

        state.clear("train", [MODEL])
        started = time.perf_counter()
        tagger = train(parts[0], dev=parts[1], seed=self.seed, **self.reading.options())
        tagger.save(self.room / MODEL)
        state.keep("train", key, [MODEL])
        self.say(f"trained in {time.perf_counter() - started:.1f} s")
        return tagger


def _sizes(parts: "Sequence[Part]") -> str:
    """Return the sizes of the parts in words."""
    units = [part.sentences if part.documents is None else part.documents for part in parts]
    unit = "sentence" if parts[0].documents is None else "document"
    whole = [counted(sum(units), unit)] + (
        [counted(sum(part.sentences for part in parts), "sentence")] * (unit != "sentence")
    )
    tokens = counted(sum(part.tokens for part in parts), "token")
    train, dev, test = units
    return f"{', '.join([*whole, tokens])}; {train:,} to train, {dev:,} dev, {test:,} test"
