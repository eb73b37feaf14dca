"""Which files of the package one job walks through: a reader who follows it has to open them all.

    python benchmarks/walk.py [--json]

Each job has two sentences and a process of its own, so that nothing is cached. Counted are calls of functions,
properties and comprehensions, not what runs while a module is imported. A call by way of another library belongs to the
file that called the library. A way back is a call from one room (a name directly below `sapo`) to another that does not
stand below it in the layers of pyproject.toml, other than through that room's `__init__`: the code that is called was
handed down as an object or a function.

The files of four rooms are not counted. Kernels are interpreted here, so that their calls are seen; compiled ones call
each other outside Python, and only the one that Python calls would be on the walk. And cli/ parses the command line
before there is a sentence. errors looks up names that users may have misspelt. text/ cuts raw text, a subject of its
own; here sentences are cut already, and training only counts how. `sapo tag` gets a model that is loaded; `Tagger.load`
is a job of its own.
"""

import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from inspect import CO_GENERATOR
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import FrameType

import sapo
from sapo import kernels

PACKAGE = Path(sapo.__file__).parent
LAYERS = Path(__file__).parent.parent / "pyproject.toml"
NOT_COUNTED = {
    "kernels",
    "cli",
    "text",
    "errors",
    "limits",
    "limits.py",
}  # limits: a table of numbers that readers look at
OUTSIDE, IMPORTING = "", "<module>"  # files of frames that do not count
SENTENCES = [(["the", "dog", "barks"], ["DT", "NN", "VBZ"]), (["a", "cat", "sleeps"], ["DT", "NN", "VBZ"])]
NEW = [(["the", "bird", "sings"], ["DT", "NN", "VBZ"]), (["sing", "!"], ["VB", "."])]


@dataclass
class Walk:
    """The files of a walk in the order they are met, and the calls from one to another."""

    files: list[str] = field(default_factory=list)
    steps: Counter[tuple[str, str]] = field(default_factory=Counter)

    def counted(self) -> "Walk":
        """Return the same walk, where some rooms are not looked into."""
        steps = {step: count for step, count in self.steps.items() if NOT_COUNTED.isdisjoint(map(room_of, step))}
        return Walk([file for file in self.files if room_of(file) not in NOT_COUNTED], Counter(steps))

    def ways_back(self, ranks: dict[str, int]) -> Counter[tuple[str, str]]:
        """Return the calls into a room that does not stand below the caller's."""
        return Counter({step: count for step, count in self.steps.items() if is_way_back(*step, ranks)})


def room_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def is_way_back(caller: str, called: str, ranks: dict[str, int]) -> bool:
    here, there = room_of(caller), room_of(called)
    if here == there or called.endswith("__init__.py") or not {here, there} <= ranks.keys():
        return False
    return ranks[there] <= ranks[here]


def ranks_of_rooms() -> dict[str, int]:
    """Return the layer of each room; 0 is the top."""
    contracts = tomllib.loads(LAYERS.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return {room.strip(): rank for rank, layer in enumerate(layers) for room in layer.split("|")}


def file_of(frame: FrameType) -> str | None:
    """Return the file of the package whose code this is. What a dataclass writes has the globals of its module."""
    path = Path(frame.f_globals.get("__file__") or "")
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


@contextmanager
def traced() -> Iterator[Walk]:
    """Note each call of the package's code in this block."""
    walk = Walk()
    stack = [OUTSIDE]  # the file that each running function counts for
    resumed: set[FrameType] = set()  # generators that have begun: to go on with one is not a new call

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "return":
            if len(stack) > 1:
                stack.pop()
        elif event == "call":
            caller, code = stack[-1], frame.f_code
            if caller == IMPORTING or code.co_name == "<module>":
                stack.append(IMPORTING)
            elif (file := file_of(frame)) is None:
                stack.append(caller)
            else:
                stack.append(file)
                if frame not in resumed:
                    if file not in walk.files:
                        walk.files.append(file)
                    if caller not in (OUTSIDE, file):
                        walk.steps[caller, file] += 1
                if code.co_flags & CO_GENERATOR:
                    resumed.add(frame)

    sys.setprofile(note)
    try:
        yield walk
    finally:
        sys.setprofile(None)


def walk_train() -> Walk:
    from sapo import train

    with traced() as walk:
        train(SENTENCES)
    return walk


def walk_fit() -> Walk:
    from sapo import SequenceLabeler

    labeler = SequenceLabeler()
    with traced() as walk:
        labeler.fit([tokens for tokens, _ in SENTENCES], [tags for _, tags in SENTENCES])
    return walk


def walk_update() -> Walk:
    from sapo import Trainer, train

    trainer = Trainer(train(SENTENCES))
    with traced() as walk:
        trainer.update(NEW, new_labels=True)
    return walk


def walk_tag() -> Walk:
    from sapo import train

    tagger = train(SENTENCES)
    with traced() as walk:
        for tokens, _ in NEW:
            tagger.tag(tokens)
    return walk


def walk_load() -> Walk:
    from sapo import Tagger, train

    with tempfile.TemporaryDirectory() as room:
        train(SENTENCES).save(Path(room) / "model.sapo")
        with traced() as walk:
            Tagger.load(Path(room) / "model.sapo")
    return walk


def walk_tag_command() -> Walk:
    from sapo import Tagger, train
    from sapo.cli import main

    tagger = train(SENTENCES)
    Tagger.load = lambda path: tagger  # type: ignore[method-assign, assignment]
    with tempfile.TemporaryDirectory() as room, redirect_stdout(TextIOWrapper(BytesIO())):
        text = Path(room) / "text.txt"
        text.write_text("".join("\n".join(tokens) + "\n\n" for tokens, _ in NEW), "utf-8")
        sys.argv = ["sapo", "tag", "model.sapo", str(text)]
        with traced() as walk:
            main()
    return walk


JOBS: dict[str, Callable[[], Walk]] = {
    "sapo.train": walk_train,
    "SequenceLabeler.fit": walk_fit,
    "Trainer.update": walk_update,
    "Tagger.load": walk_load,
    "Tagger.tag": walk_tag,
    "sapo tag": walk_tag_command,
}


def walk_of(job: str) -> Walk:
    kernels.compile_kernels = lambda: None  # whoever asks for it: compiled code is not seen
    return JOBS[job]()


def main() -> None:
    ranks = ranks_of_rooms()
    with ProcessPoolExecutor(1, max_tasks_per_child=1) as pool:
        walks = dict(zip(JOBS, pool.map(walk_of, JOBS), strict=True))
    if "--json" in sys.argv:
        print(json.dumps({job: numbers(walk, ranks) for job, walk in walks.items()}, indent=1))
        return
    print("| job | files | calls from file to file | distinct | ways back | files with kernels and cli |")
    print("|---" + "|--:" * 5 + "|")
    for job, walk in walks.items():
        bare = walk.counted()
        cells = len(bare.files), bare.steps.total(), len(bare.steps), len(walk.ways_back(ranks)), len(walk.files)
        print(f"| {job} | {' | '.join(map(str, cells))} |")
    for job, walk in walks.items():
        print(f"\n{job}: {' → '.join(walk.files)}")
        for (caller, called), count in walk.ways_back(ranks).items():
            print(f"  way back: {caller} → {called} ({count} calls)")


def numbers(walk: Walk, ranks: dict[str, int]) -> dict[str, list[str]]:
    """Return what the limits of the tests are about."""
    return {
        "files": walk.counted().files,
        "ways back": [f"{caller} → {called}" for caller, called in walk.ways_back(ranks)],
    }


if __name__ == "__main__":
    main()
