"""Label sentences with a teacher: sapo models, a token classifier, a program, a function, or a file of answers.

A teacher gives each sentence one or more taggings with probabilities. Several models are an ensemble: the probability
of a tagging is its mean over the models, each of which sums over all taggings.

    {"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"]}
    {"tokens": ["Anna", "sings"], "candidates": [{"tags": ["B-PER", "O"], "probability": 0.8}, ...]}

Files and programs write such lines. Probabilities may sum to less than 1: then the teacher has kept other taggings to
itself. What `sapo tag --nbest` writes to JSONL is such a file, too.
"""

import contextlib
import itertools
import json
import math
import shlex
import subprocess
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sapo.corpus.blocks import check_labels, plain_sentence
from sapo.corpus.files import check_readable, is_model, show_path
from sapo.corpus.jsonl import Record, RecordReading, json_lines, read_record
from sapo.errors import DataError, ModelError, OptionError, did_you_mean, pip_install
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Floats
from sapo.search.chain import search_n
from sapo.search.lattice import Lattice
from sapo.tagger import decoding
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger, as_tagger
from sapo.tagger.text import check_words_only
from sapo.tags.recognition import recognize, scheme_bans, transition_counts

ENSEMBLE = 5  # candidates of each model of an ensemble, at least: the best on average may be second everywhere
ROUNDING = 1e-3  # by which probabilities may sum to more than 1: people and programs round them
AT_ONCE = 128  # sentences: a slow teacher should show that it goes on
BATCH = 32  # sentences of similar length that a network tags together
LONGEST = 100  # words that a network tags together: most read at most 512 pieces of words
ENDINGS = (".jsonl", ".ndjson")
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
ANSWERS = ("candidates", "nbest")  # keys of several taggings

Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tagging that a teacher considers, with its probability."""

    tags: tuple[str, ...]
    probability: float = 1.0


class Teacher(Protocol):
    """Labels sentences."""

    @property
    def labels(self) -> tuple[str, ...] | None:
        """All labels that it may give, or None if that is not known."""

    def label(self, sentences: Sentences, n: int) -> Iterator[list[Candidate]]:
        """Yield the candidates of each sentence, best first; they need not be exactly n."""


def check_candidates(found: Any, tokens: int, place: str) -> list[Candidate]:
    """Return what a teacher said about a sentence as candidates, best first. Raise SapoError if it makes no sense.

    >>> check_candidates(["DT", "NN"], 2, "sentence 1")
    [Candidate(tags=('DT', 'NN'), probability=1.0)]
    >>> [one.probability for one in check_candidates([(["DT"], 0.2), (["NN"], 0.7)], 1, "sentence 1")]
    [0.7, 0.2]
    """
    listed = plain_sentence(found, f"{place}: tags")
    if not len(listed):
        raise DataError(f"{place}: the teacher gave no tags; give one for each of the {tokens} tokens")
    if all(isinstance(one, str) for one in listed):
        return [Candidate(_check_tags(listed, tokens, place))]
    result = []
    for pair in listed:
        if isinstance(pair, Candidate):
            pair = pair.tags, pair.probability
        if not (isinstance(pair, list | tuple) and len(pair) == 2):
            raise DataError(f"{place}: expected tags, or pairs of tags and a probability, found {pair!r:.60}")
        result.append(Candidate(_check_tags(pair[0], tokens, place), _check_probability(pair[1], place)))
    total = sum(one.probability for one in result)
    if total > 1 + ROUNDING:
        raise DataError(f"{place}: the probabilities of the candidates sum to {total:g}; the sum must be at most 1")
    if total == 0:  # of a long sentence, rounded
        return [Candidate(result[0].tags)]
    return sorted(result, key=lambda one: -one.probability)


def check_known(labels: Iterable[str], known: Collection[str] | None, place: str) -> None:
    """Raise SapoError at a label that the gold sentences do not have; if `known` is None, there are none."""
    if known is None:
        return
    for label in labels:
        if label not in known:
            hint = did_you_mean(label, sorted(known))
            raise DataError(f"{place}: the label '{label}' is not in the training data{hint}")


def _check_tags(tags: Any, tokens: int, place: str) -> tuple[str, ...]:
    tags = plain_sentence(tags, f"{place}: tags")
    for tag in tags:
        if not isinstance(tag, str):
            raise DataError(f"{place}: a tag must be a string, found {tag!r:.40}")
    if len(tags) != tokens:
        raise DataError(f"{place}: the teacher gave {len(tags)} tags for {tokens} tokens; give one for each")
    check_labels(tags, place)
    return tuple(tags)


def _check_probability(given: Any, place: str) -> float:
    number = given if isinstance(given, int | float | np.floating) and not isinstance(given, bool) else math.nan
    if not 0 <= number <= 1 + ROUNDING:  # NaN too
        raise DataError(f"{place}: a probability must be a number from 0 to 1, found {given!r:.40}")
    return float(number)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that takes sentences and returns tags, or pairs of tags and a probability, for each of them."""

    function: Callable[[Sentences], Iterable[Any]]
    labels: tuple[str, ...] | None = None

    def label(self, sentences: Sentences, n: int) -> Iterator[list[Candidate]]:
        number = 0
        for first in range(0, len(sentences), AT_ONCE):
            some = [list(tokens) for tokens in sentences[first : first + AT_ONCE]]
            answers = iter(self.function(some))
            for tokens, answer in zip(some, answers, strict=False):
                number += 1
                yield check_candidates(answer, len(tokens), f"teacher: sentence {number}")
            if number < first + len(some) or next(answers, None) is not None:
                count = number - first if number < first + len(some) else f"more than {len(some)}"
                raise DataError(f"teacher: gave {count} answers for {len(some)} sentences; give one for each")


@dataclass(frozen=True, slots=True)
class Ensemble:
    """One or more sapo models."""

    taggers: tuple[Tagger, ...]

    def __post_init__(self) -> None:
        for tagger in self.taggers:
            check_words_only(tagger.model)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for tagger in self.taggers for label in tagger.labels))

    def label(self, sentences: Sentences, n: int) -> Iterator[list[Candidate]]:
        models = [tagger.model for tagger in self.taggers]
        if n == 1 and len(models) == 1:
            for first in range(0, len(sentences), AT_ONCE):
                yield from ([Candidate(tuple(tags))] for tags in self.taggers[0].tag_many(sentences[first:][:AT_ONCE]))
            return
        wanted = n if len(models) == 1 else max(n, ENSEMBLE)
        for batch in zip(*(decoding.encoded_batches(model, sentences) for model in models), strict=True):
            for i in range(batch[0].sentences):
                yield mean_candidates([_one(*pair, i, wanted) for pair in zip(models, batch, strict=True)])[:n]


Judge = Callable[[Sequence[str]], float]  # the probability of a tagging


def mean_candidates(opinions: Sequence[tuple[list[Candidate], Judge]]) -> list[Candidate]:
    """Return the candidates of all models, each with its mean probability, best first.

    >>> first = [Candidate(("A",), 0.9)], {"A": 0.9, "B": 0.1}
    >>> second = [Candidate(("B",), 0.7)], {"A": 0.3, "B": 0.7}
    >>> found = mean_candidates([(some, lambda tags, p=p: p[tags[0]]) for some, p in (first, second)])
    >>> [(one.tags, round(one.probability, 3)) for one in found]
    [(('A',), 0.6), (('B',), 0.4)]
    """
    if len(opinions) == 1:
        return opinions[0][0]
    each = dict.fromkeys(one.tags for found, _ in opinions for one in found)
    means = [Candidate(tags, sum(judge(tags) for _, judge in opinions) / len(opinions)) for tags in each]
    return sorted(means, key=lambda one: -one.probability)


def _one(model: Model, corpus: EncodedCorpus, sentence: int, n: int) -> tuple[list[Candidate], Judge]:
    """Return the n best taggings of a sentence, and what the model thinks of any other."""
    whole = decoding.sentence_distribution(model, corpus, sentence)
    found = decoding.ranked(model, decoding.candidates(model, corpus, sentence, n, "topn", 0), whole)
    listed = [Candidate(tuple(decoding.label_names(model, one.tags)), one.probability) for one in found]
    known = {one.tags: one.probability for one in listed}

    def judge(tags: Sequence[str]) -> float:
        if (own := known.get(tuple(tags))) is not None:
            return own
        if not set(tags) <= set(model.outer_labels):
            return 0.0
        return decoding.tagging_probability(model, corpus, sentence, tags)

    return listed, judge


class TokenClassifier:
    """A token classifier of Hugging Face transformers in a local directory. No code of the directory is run.

    The network gives each word the probabilities of its labels, at its first piece, and knows no tag scheme. Here they
    are the nodes of a lattice, which leaves out what the scheme forbids, and the n best taggings are searched in it.
    The scheme is the one that fits the most likely labels of the first sentences best.
    """

    def __init__(self, directory: str | Path) -> None:
        path = Path(directory)
        config = _config(path)
        try:
            import torch
            import transformers
        except ImportError:
            raise OptionError(f"{path}: a token classifier needs transformers: {pip_install('transformers')}") from None
        transformers.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        safe = {"local_files_only": True, "trust_remote_code": False}
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(path), **safe)
            model = transformers.AutoModelForTokenClassification.from_pretrained(
                str(path), use_safetensors=True, **safe
            )
        except Exception as error:  # transformers raises anything for a damaged directory
            reason = " ".join(str(error).split())[:120]
            raise ModelError(f"{path}: cannot be loaded as a token classifier ({reason})") from None
        if not self.tokenizer.is_fast:
            raise ModelError(f"{path}: has no fast tokenizer (tokenizer.json), which says where words begin; save one")
        self.torch, self.model = torch, model.eval()
        names = config.get("id2label") or {}
        self.labels: tuple[str, ...] = tuple(str(names[key]) for key in sorted(names, key=int))
        self.bans: Floats | None = None

    def label(self, sentences: Sentences, n: int) -> Iterator[list[Candidate]]:
        for first in range(0, len(sentences), AT_ONCE):
            scores = self._scores([list(tokens) for tokens in sentences[first : first + AT_ONCE]])
            if self.bans is None:
                self.bans = self._find_bans(scores)
            bans, size = self.bans, len(self.labels)
            for node in scores:
                node[0] += bans[size]
                node[-1] += bans[size + 1]
                found = search_n("topn", Lattice(node, bans[:size]), n=n)
                chances = np.minimum(np.exp(found.scores), 1.0).tolist()
                tags = [tuple(self.labels[label] for label in path) for path in found.paths.tolist()]
                # what the scheme forbids has a part of the probability
                yield list(map(Candidate, tags, [chance / max(1.0, sum(chances)) for chance in chances]))

    def _find_bans(self, scores: list[Floats]) -> Floats:
        size = len(self.labels)
        best = np.concatenate([node.argmax(axis=1) for node in scores]).astype(np.int32)
        offsets = np.cumsum([0, *map(len, scores)])
        found = recognize(self.labels, transition_counts(best, offsets, size))
        return np.zeros((size + 2, size), np.float32) if found is None else scheme_bans(self.labels, found[0])

    def _scores(self, sentences: list[list[str]]) -> list[Floats]:
        """Return the log probabilities of the labels, [tokens, labels], of each sentence."""
        outside = np.full(len(self.labels), -np.inf, np.float32)
        outside[self.labels.index("O") if "O" in self.labels else 0] = 0.0
        result = [np.tile(outside, (len(tokens), 1)) for tokens in sentences]  # a word of blanks has no piece
        parts = [(i, at) for i, tokens in enumerate(sentences) for at in range(0, len(tokens), LONGEST)]
        parts.sort(key=lambda part: len(sentences[part[0]]))
        for begin in range(0, len(parts), BATCH):
            some = parts[begin : begin + BATCH]
            words = [sentences[i][at : at + LONGEST] for i, at in some]
            pieces = self.tokenizer(
                words,
                is_split_into_words=True,
                truncation=True,
                max_length=self._room(),
                padding=True,
                return_tensors="pt",
            )
            with self.torch.inference_mode():
                logits = self.model(**pieces).logits.log_softmax(-1).float().numpy()
            for row, (i, at) in enumerate(some):
                seen = set[int]()
                for place, word in enumerate(pieces.word_ids(row)):
                    if word is not None and word not in seen:
                        seen.add(word)
                        result[i][at + word] = logits[row, place]
        return result

    def _room(self) -> int:
        most = getattr(self.model.config, "max_position_embeddings", 512)
        return min(int(self.tokenizer.model_max_length), int(most) - 2 if most > 0 else 512)


def _config(path: Path) -> dict[str, Any]:
    """Return the configuration of a token classifier. Raise SapoError if the directory has none, or no safetensors."""
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
        kinds = config.get("architectures") or []
    except (OSError, ValueError, AttributeError):
        raise ModelError(f"{path}: is a directory without a config.json of transformers; give a model") from None
    if not any(str(kind).endswith("ForTokenClassification") for kind in kinds):
        raise ModelError(
            f"{path}: is not a token classifier, but {', '.join(map(str, kinds)) or 'of unknown kind'}; "
            "fine-tune it first"
        )
    if not any((path / name).is_file() for name in WEIGHTS):
        raise ModelError(f"{path}: has no {WEIGHTS[0]}; save it with safetensors, since other files can hold code")
    return dict(config)


@dataclass(frozen=True, slots=True)
class Command:
    """A program that reads lines such as {"tokens": [...]}, and writes a line with tags or candidates for each."""

    words: tuple[str, ...]
    labels: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> "Command":
        """Return the command in a text, split as a shell splits it; nothing else of a shell is understood."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise OptionError(f"teacher_command must be a program with arguments, not '{text}' ({error})") from None
        if not words:
            raise OptionError("teacher_command must be a program with arguments, not nothing")
        return cls(words)

    def label(self, sentences: Sentences, n: int) -> Iterator[list[Candidate]]:
        name = self.words[0]
        try:
            process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise OptionError(f"{name}: cannot be run ({error.strerror or error}); check the program's name") from None
        assert process.stdin is not None
        assert process.stdout is not None
        stream = process.stdin

        def feed() -> None:
            with contextlib.suppress(OSError, ValueError), stream:  # a program that has ended reads no more
                stream.writelines(json.dumps({"tokens": list(tokens)}).encode() + b"\n" for tokens in sentences)

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        try:
            count = 0
            for tokens, line in zip(sentences, process.stdout, strict=False):
                count += 1
                yield _answer(read_record(_with_tokens(line, tokens), f"{name}:{count}", UNLABELED), f"{name}:{count}")
            if count < len(sentences) or process.stdout.read(1):
                more = f"{count}" if count < len(sentences) else f"more than {count}"
                code = f" and ended with code {process.wait()}" if count < len(sentences) else ""
                raise DataError(f"{name}: wrote {more} lines for {len(sentences)} sentences{code}; write one for each")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


UNLABELED = RecordReading(labeled=False)


def _with_tokens(line: bytes, tokens: Sequence[str]) -> bytes:
    """Return a line of a program, which may leave the tokens out, with the tokens that it was given."""
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            return json.dumps({**found, "tokens": list(tokens)}).encode()
    return line


def read_answers(
    path: str | Path, known: Collection[str] | None = None
) -> Iterator[tuple[tuple[str, ...], list[Candidate]]]:
    """Yield the tokens and the candidates of each line of a JSONL file. Raise SapoError where it is wrong.

    `known` are the labels that a tag can be, if they are known.
    """
    name = show_path(path)
    for number, line in json_lines(path):
        place = f"{name}:{number}"
        record = read_record(line, place, UNLABELED)
        if found := _answer(record, place):
            for one in found:
                check_known(one.tags, known, place)
            yield record.sentences[0].words, found


def _answer(record: Record, place: str) -> list[Candidate]:
    values = record.values
    if "tokens" not in values:
        raise DataError(f"{place}: has no 'tokens'; text must be split first, so that each token has a tag")
    key = next((key for key in (*ANSWERS, "tags") if key in values), None)
    if key is None:
        raise DataError(f"{place}: has neither 'tags' nor 'candidates'; known here: {', '.join(values)}")
    words, found = record.sentences[0].words, values[key]
    if not words:
        return []
    if key in ANSWERS:
        if not isinstance(found, list) or not all(isinstance(one, dict) and "tags" in one for one in found):
            raise DataError(
                f"{place}: '{key}' must be a list of objects with tags and probability, found {found!r:.40}"
            )
        found = [(one["tags"], one.get("probability")) for one in found]
    return check_candidates(found, len(words), place)


def is_answers(path: str | Path) -> bool:
    """Return whether a file has answers of a teacher, by its extension."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in (".gz", ".zip")]
    return bool(suffixes) and suffixes[-1] in ENDINGS


def open_teacher(given: Any) -> Teacher:
    """Return the teacher that is meant: a tagger, a function, a model file, several of these, or a directory.

    Raises SapoError if there is no such file, or if it cannot teach.
    """
    if isinstance(given, Tagger):
        return Ensemble((given,))
    if isinstance(given, str | Path):
        parts = [part.strip() for part in str(given).split(",")]
        return open_teacher(parts) if len(parts) > 1 and not Path(given).exists() else _open_file(Path(given))
    if isinstance(given, Sequence):
        return Ensemble(tuple(itertools.chain.from_iterable(_taggers(one) for one in given)))
    if isinstance(given, Command | Ensemble | Function | TokenClassifier):
        return given
    if callable(given):
        return Function(given)
    raise OptionError(f"teacher must be a model, a function, or a directory of a token classifier, not {given!r:.60}")


def _taggers(given: Any) -> tuple[Tagger, ...]:
    if not isinstance(given, Tagger):
        check_readable(given)
        if not is_model(given):
            raise ModelError(f"{given}: is not a model of sapo, and only such models can be an ensemble; leave it out")
    return (as_tagger(given),)


def _open_file(path: Path) -> Teacher:
    if path.is_dir():
        return TokenClassifier(path)
    check_readable(path)
    if not is_model(path):
        raise ModelError(
            f"{path}: is no teacher; give a model of sapo, a JSONL file with tags ({ENDINGS[0]}), or the directory of "
            "a token classifier"
        )
    return Ensemble((Tagger.load(path),))
