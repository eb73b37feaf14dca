"""The corpora of the zoo: a directory in; files, sentences and equal features out."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sapo
from sapo.errors import SapoError, did_you_mean

OTHERS = ("conll2000", "jnlpba", "ud-ewt", "wsj-sample", "genia-pos")  # beside the directory zoo
ENDINGS = (".txt.gz", ".conllu.gz")
NEIGHBOURS = {-1: "before", 1: "after"}

Features = dict[str, Any]
Pair = tuple[list[Features], list[str]]  # the features of each token of a sentence, and its tags


@dataclass(frozen=True, slots=True)
class Corpus:
    """Files train, and dev or test or both, in one directory."""

    name: str
    directory: Path
    ending: str

    @property
    def label(self) -> str | None:
        """The column of the labels: UPOS in CoNLL-U, else the last one."""
        return "upos" if ".conllu" in self.ending else None

    def path(self, part: str) -> Path:
        return self.directory / f"{part}{self.ending}"

    def parts(self) -> list[str]:
        """Return which of dev and test there are."""
        return [part for part in ("dev", "test") if self.path(part).is_file()]

    def sentences(self, part: str) -> Iterator[tuple[Sequence[str], list[str]]]:
        """Yield words and tags. Other columns, such as a position, are left out: all systems see the words alone."""
        for sentence in sapo.read(self.path(part), label=self.label):
            yield sentence.words, list(sentence.tags or ())

    def pairs(self, part: str) -> list[Pair]:
        return [(features(words), tags) for words, tags in self.sentences(part)]

    def with_dev(self, room: Path) -> "Corpus":
        """Return a corpus with a dev file: the last tenth of train, in `room`, where there is none."""
        if "dev" in self.parts():
            return self
        texts = self._texts()
        cut = len(texts) * 9 // 10
        return self._written(f"{self.name} (9/10)", room / "held-out", train=texts[:cut], dev=texts[cut:])

    def beginning(self, room: Path, sentences: int) -> "Corpus":
        """Return a corpus of the first training sentences, in `room`."""
        return self._written(self.name, room / "beginning", train=self._texts()[:sentences])

    def _texts(self) -> list[str]:
        return gzip.decompress(self.path("train").read_bytes()).decode().strip("\n").split("\n\n")

    def _written(self, name: str, room: Path, **parts: list[str]) -> "Corpus":
        made = replace(self, name=name, directory=room / self.name)
        made.directory.mkdir(parents=True, exist_ok=True)
        for part, texts in parts.items():
            made.path(part).write_bytes(gzip.compress("".join(f"{text}\n\n" for text in texts).encode(), 1))
        return made


def find_corpora(data: Path, names: Sequence[str] = ()) -> list[Corpus]:
    """Return the corpora of these names, or all: those of the directory zoo, and the five beside it.

    Raises SapoError if one is not there.
    """
    directories = {path.name: path for path in (*sorted((data / "zoo").glob("*")), *(data / name for name in OTHERS))}
    found = {
        name: Corpus(name, directory, ending)
        for name, directory in directories.items()
        for ending in ENDINGS
        if (directory / f"train{ending}").is_file()
    }
    for name in names or OTHERS:
        if name not in found:
            raise SapoError(f"{data}: no corpus '{name}'; known: {', '.join(found)}{did_you_mean(name, found)}")
    return [found[name] for name in names or found]


def features(words: Sequence[str]) -> list[Features]:
    """Return the features of each token: the word, its ends and its shape, and the words beside it.

    >>> features(["Oslo", "rains"])[0]
    {'bias': 1.0, 'word': 'oslo', 'prefix': 'Osl', 'suffix3': 'slo', 'suffix2': 'lo', 'title': 1.0, 'first': 1.0, \
'after:word': 'rains'}
    """
    own = [
        {"bias": 1.0, "word": word.lower(), "prefix": word[:3], "suffix3": word[-3:], "suffix2": word[-2:]}
        | shape(word, digits=True)
        for word in words
    ]
    for place, token in enumerate(own):
        for step, name in NEIGHBOURS.items():
            if 0 <= place + step < len(words):
                word = words[place + step]
                token[f"{name}:word"] = word.lower()
                token.update({f"{name}:{key}": value for key, value in shape(word).items()})
            else:
                token["first" if step < 0 else "last"] = 1.0
    return own


def shape(word: str, *, digits: bool = False) -> Features:
    """Return the flags that hold: flags of value 0 would be features, too.

    >>> shape("NATO"), shape("1984", digits=True)
    ({'upper': 1.0}, {'digit': 1.0})
    """
    flags = {"upper": word.isupper(), "title": word.istitle(), "digit": digits and word.isdigit()}
    return {name: 1.0 for name, holds in flags.items() if holds}
