"""Add parts of speech and chunks to the BioNLP corpora.

JNLPBA has words and entities only; the paper's features look at parts of speech and chunks, too. They come from taggers
of our own: parts of speech from one trained on GENIA, chunks from one trained on CoNLL-2000. The abstracts of the
training set are those of GENIA, so it is tagged in blocks, each by a model that was trained without them.
"""

import itertools
from pathlib import Path

from laboratory.setup import Say
from sapo.corpus.files import write_file
from sapo.corpus.formats import read
from sapo.errors import SapoError
from sapo.tagger.stack import TrainedStep
from sapo.training.stack import Watcher, run_pipeline

FILES = ("train.txt", "test.txt")
BLOCKS = {"train.txt": 10, "test.txt": 1}
PASSES = 8


class _Telling(Watcher):
    """Says which tagger is being trained."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def training(self, what: str) -> None:
        self._say(f"bioner: training {what}")


def tagged_corpora(
    source: Path, cache: Path, *, first: int | None = None, say: Say = lambda message: None
) -> tuple[Path, Path]:
    """Return the training and the test file with all columns, made once and kept in `cache`; `source` is SAPO_DATA.

    With `first`, use only that many sentences of each corpus.
    """
    for name in FILES:
        if (cache / name).is_file():
            continue
        genia = tuple(_file(source, cache, "genia-pos", part, first) for part in ("train", "dev", "test"))
        chunks = _file(source, cache, "conll2000", "train", first)
        steps = (TrainedStep("pos", genia, "pos"), TrainedStep("chunk", (chunks,), "chunking"))
        given = _file(source, cache, "jnlpba", name.removesuffix(".txt"), first)
        cache.mkdir(parents=True, exist_ok=True)
        run_pipeline(given, cache / name, steps, cross=BLOCKS[name], epochs=PASSES, watcher=_Telling(say))
    train, test = (cache / name for name in FILES)
    return train, test


def _file(source: Path, cache: Path, corpus: str, part: str, first: int | None) -> Path:
    path = source / corpus / f"{part}.txt.gz"
    if not path.is_file():
        raise SapoError(f"{path}: no such file; bioner needs it, and SAPO_DATA names the directory to look in")
    if first is None:
        return path
    short = cache / f"{corpus}-{part}.txt"
    if not short.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        lines = []
        for sentence in itertools.islice(read(path), first):
            columns = [*sentence.columns.values(), sentence.tags or ()]
            lines += ["\t".join(fields) for fields in zip(*columns, strict=True)]
            lines.append("")
        with write_file(short) as stream:
            stream.write("\n".join([*lines, ""]).encode())
    return short
