"""Distill a teacher into a small and fast student, which learns the teacher's taggings of text without labels.

The teacher gives each sentence x candidates y_k with probabilities Q_k, and the student moves toward all of them:

    w <- w + rate * weight * sum_k (Q_k - P_k) F(x, y_k)

Here P_k is SAPO's own distribution over its candidates. No learner knows about Q: each y_k is a sentence of its own,
with the weight Q_k * weight. The sum of their updates at the same w is the update above: the Q_k sum to 1, so that
the part of P_k is counted once. Gold sentences have weight 1.

Copies of a sentence must not be learned and judged at once. So the settings are chosen, and probabilities are
calibrated, with the best candidate of each sentence alone.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sapo import jit
from sapo.corpus.blocks import Sentence, plain_sentence
from sapo.corpus.formats import read_blocks
from sapo.corpus.labeled import Labeled, Source, read_labeled, with_evidence
from sapo.corpus.plain_text import read_text
from sapo.errors import DataError, OptionError
from sapo.evaluate.scores import Scores, score
from sapo.features.encoded import subset
from sapo.features.strings import StringTable
from sapo.learn.records import Stop
from sapo.learn.settings import Settings
from sapo.tagger.tagger import Tagger
from sapo.text.learning import Evidence, rules_of
from sapo.text.tokens import Rules
from sapo.training.choice import choose_template
from sapo.training.data import encode_data, input_columns, reader_of, reading_of, word_column
from sapo.training.plan import Options, Plan, make_plan
from sapo.training.progress import Quiet, shown
from sapo.training.run import start
from sapo.training.teachers import (
    Candidate,
    Ensemble,
    Teacher,
    check_known,
    is_answers,
    open_teacher,
    read_answers,
)

WEIGHT = 0.3  # of a sentence that a teacher has labeled
NBEST = 1  # more candidates take longer, and were no better: docs/how-to/distil.md
SMALLEST = 0.05  # probability of a candidate, as a share of all candidates, below which it is not learned
CHEAP = 0.5  # tokens of gold sentences for each one of the teacher, up to which a student of these alone is trained
SAMPLE = 5_000  # tokens, to measure speeds on
OFTEN = 1.0  # seconds between two messages

Watch = Callable[[str], None]
Words = tuple[str, ...]
Taught = tuple[Words, list[Candidate]]  # a sentence, and what the teacher says about it


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOptions:
    """How a teacher teaches. Raises SapoError if a value breaks its rule."""

    weight: float = WEIGHT  # of a sentence that it has labeled; a gold sentence has 1
    nbest: int = NBEST  # candidates of a sentence, at most; 1 for its best tagging alone
    tokens: int | None = None  # label this many tokens of the texts instead of all
    text_format: str | None = None  # of the texts

    def __post_init__(self) -> None:
        if not isinstance(self.weight, int | float) or not 0 < self.weight <= 1000:
            raise OptionError(f"weight must be a number above 0 and up to 1000, not {self.weight}")
        if not isinstance(self.nbest, int) or not 1 <= self.nbest <= 100:
            raise OptionError(f"nbest must be a whole number from 1 to 100, not {self.nbest}")
        if self.tokens is not None and (not isinstance(self.tokens, int) or self.tokens < 1):
            raise OptionError(f"tokens must be a whole number, 1 or more, not {self.tokens}")


@dataclass(frozen=True, slots=True)
class Performance:
    """How well and how fast a tagger tags."""

    score: float | None  # of the dev data
    speed: float | None  # tokens per second


@dataclass(frozen=True, slots=True)
class Distillation:
    """A student, and how it compares with its teacher."""

    tagger: Tagger
    stop: Stop
    score_name: str
    teacher: Performance
    student: Performance
    alone: float | None = None  # the score of a student that learned the gold sentences only

    def line(self) -> str:
        """Return the comparison as a line; empty if there is nothing to compare.

        >>> stop: Any = None
        >>> print(Distillation(stop, stop, "F1", Performance(0.5, 2e3), Performance(0.48, 3e5), 0.4).line())
        dev F1: teacher 50.00, student 48.00, without the teacher 40.00 (80 % of its lead kept); \
tokens/s: teacher 2,000, student 300,000 (150 times as fast)
        """
        teacher, student, parts = self.teacher, self.student, []
        if student.score is not None:
            scores = f"student {100 * student.score:.2f}"
            if teacher.score is not None:
                scores = f"teacher {100 * teacher.score:.2f}, {scores}"
            if self.alone is not None:
                scores += f", without the teacher {100 * self.alone:.2f}"
                if teacher.score is not None and teacher.score > self.alone:
                    kept = (student.score - self.alone) / (teacher.score - self.alone)
                    scores += f" ({100 * kept:.0f} % of its lead kept)"
            parts.append(f"dev {self.score_name}: {scores}")
        if teacher.speed and student.speed:
            ratio = student.speed / teacher.speed
            times = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
            parts.append(
                f"tokens/s: teacher {teacher.speed:,.0f}, student {student.speed:,.0f} ({times} times as fast)"
            )
        return "; ".join(parts)


def distil(
    teacher: Any,
    texts: Any = (),
    *,
    train: Source | None = None,
    dev: Source | None = None,
    weight: float = WEIGHT,
    nbest: int = NBEST,
    tokens: int | None = None,
    text_format: str | None = None,
    template: str | Path | None = None,
    settings: Settings | dict[str, object] | None = None,
    verbose: bool = False,
    **options: Unpack[Options],
) -> Tagger:
    """Train a student on what a teacher says about texts without labels.

    `teacher` is a Tagger or a model file; a list of these, whose probabilities are averaged; the directory of a token
    classifier of Hugging Face transformers; a JSONL file of sentences that were labeled elsewhere, without `texts`; or
    a function. A function takes a list of sentences, each a list of tokens, and gives for each one its tags, or pairs
    of tags and a probability.

    `texts` are files, or sentences as lists of tokens; `tokens` takes that many tokens of them instead of all.
    `text_format` is lines (a sentence per line, with blanks between tokens), text (running text, which is cut into
    tokens first), or a format of `sapo.read`; the default is by the file.

    `train` has sentences with gold tags, which the student learns as well. A sentence of the teacher has `weight`, one
    with gold tags has 1. The student learns up to `nbest` taggings of each sentence, by their probabilities. All other
    parameters are those of `sapo.train`.

    Raises SapoError if the teacher, a text or an option is wrong.

    >>> def teacher(sentences):
    ...     return [["NAME" if token.istitle() else "OTHER" for token in tokens] for tokens in sentences]
    >>> student = distil(teacher, [["Anna", "met", "Ben"], ["no", "news"]] * 5, template="pos", epochs=5)
    >>> student.tag(["Ben", "met", "Cleo"])
    ['NAME', 'OTHER', 'NAME']
    """
    how = DistilOptions(weight=weight, nbest=nbest, tokens=tokens, text_format=text_format)
    plan = make_plan([] if train is None else train, dev=dev, template=template, settings=settings, **options)
    if verbose:
        with shown(plan.settings) as show:
            return run_distillation(plan, teacher, texts, how, show).tagger
    return run_distillation(plan, teacher, texts, how, Quiet(plan.settings)).tagger


def run_distillation(plan: Plan, teacher: Any, texts: Any, how: DistilOptions, show: Quiet) -> Distillation:
    """Carry out a plan, whose data has the gold sentences, if there are any; the parameters are those of `distil`."""
    if plan.stream is not None or plan.labels.sample_weight is not None or plan.labels.class_weight is not None:
        raise OptionError("distil takes neither stream nor sample_weight nor class_weight; leave them out")
    nothing = isinstance(plan.data, list) and not plan.data
    gold = None if nothing else _Gold.read(plan, plan.data, "training data")
    if gold is not None and gold.unused:
        show.say(f"not used: {', '.join(gold.unused)} of the training data, because a text has words alone")
    dev = None if plan.dev is None else _Gold.read(plan, plan.dev, "dev data")
    known = None if gold is None else gold.labels - set(plan.labels.marks)
    if isinstance(teacher, str | Path) and is_answers(teacher):
        opened: Teacher | None = None
        if texts:
            raise OptionError(f"{teacher}: has the sentences that the student learns; leave the texts out")
        if how.tokens is not None:
            raise OptionError(f"{teacher}: all of its sentences are learned; leave `tokens` out")
        taught = list(read_answers(teacher, known))
    else:
        opened = open_teacher(teacher)
        if opened.labels is not None and known is not None:
            check_known(opened.labels, known, "teacher")
        rules = _text_rules(opened, gold)
        sentences = _read_texts(texts, how.text_format, plan.reading.get("encoding"), rules)
        if how.tokens is not None:
            sentences = draw_sentences(sentences, how.tokens, plan.settings.seed)
        total = sum(map(len, sentences))
        show.say(f"the teacher labels {len(sentences):,} sentences, {total:,} tokens")
        answers = opened.label(sentences, how.nbest)
        watched = _watched(zip(sentences, answers, strict=True), total, show.detail)
        taught = []
        for number, (words, candidates) in enumerate(watched, 1):
            for one in candidates:
                check_known(one.tags, known, f"teacher: sentence {number}")
            taught.append((words, candidates))
    if not taught:
        raise DataError("teacher: there are no sentences to learn from; give texts that have some")
    stop, tagger = _learn(plan, how, taught, gold, dev, opened, show)
    show.detail("comparing teacher and student")
    judged, own, name = _compare(opened, tagger, dev, [words for words, _ in taught])
    without = None
    if gold is not None and dev is not None and not stop.interrupted:
        if sum(map(len, gold.sentences)) <= CHEAP * sum(len(words) for words, _ in taught):
            show.detail("training a student without the teacher, to compare")
            alone = start(dataclasses.replace(plan, data=gold.sentences, dev=dev.sentences)).finish().tagger
            without = alone.evaluate(dev.sentences).main[1]
    return Distillation(tagger, stop, name, judged, own, without)


@dataclass(frozen=True, slots=True)
class _Gold:
    """Labeled sentences, of which the words and the tags are kept: a text has nothing else."""

    sentences: list[Sentence]
    reader: dict[str, Any]  # how to read other files in the same way
    rules: Rules  # how text is cut into such tokens
    unused: list[str]  # columns

    @classmethod
    def read(cls, plan: Plan, source: Source, what: str) -> "_Gold":
        reading = reading_of(plan.reading)
        given: Labeled = read_labeled(source, what, **reading)
        if given.first.features is not None and len(given.first.columns) < 2:
            raise DataError(f"{given.name}: has ready-made features and no words, which a text has; give words")
        evidence, words = Evidence(), word_column(given.first)
        sentences = [
            Sentence({"word": one.columns[words]}, one.tags)
            for block in with_evidence(given.blocks, evidence)
            for one in block.sentences()
        ]
        unused = list(input_columns(given.first).values())
        return cls(sentences, reader_of(source, given.first, reading), rules_of(evidence), unused)

    @property
    def labels(self) -> set[str]:
        return {tag for sentence in self.sentences for tag in sentence.tags or ()}


def soft_samples(taught: Iterable[Taught], how: DistilOptions) -> Iterator[list[tuple[Sentence, float]]]:
    """Yield the samples of each sentence with their weights: its candidates, best first.

    The weights of a sentence sum to `how.weight`, whatever the teacher has kept to itself.

    >>> found = [Candidate(("DT", "NN"), 0.6), Candidate(("NN", "NN"), 0.2), Candidate(("NN", "DT"), 0.01)]
    >>> samples = next(soft_samples([(("no", "rain"), found)], DistilOptions(weight=0.5, nbest=5)))
    >>> [(sentence.tags, round(weight, 3)) for sentence, weight in samples]
    [(('DT', 'NN'), 0.375), (('NN', 'NN'), 0.125)]
    """
    for words, candidates in taught:
        some = candidates[: how.nbest]
        least = SMALLEST * sum(one.probability for one in some)
        kept = [one for one in some if one.probability >= least]
        total = sum(one.probability for one in kept)
        columns = {"word": words}
        yield [(Sentence(columns, one.tags), how.weight * one.probability / total) for one in kept]


def draw_sentences(sentences: Sequence[Words], tokens: int, seed: int) -> list[Words]:
    """Return sentences with about this many tokens, drawn at random, in their order.

    To take those that a first student is least sure of is no better: docs/how-to/distil.md has measurements.
    """
    order = np.random.default_rng(seed).permutation(len(sentences))
    sizes = np.cumsum([len(sentences[i]) for i in order.tolist()])
    some = order[: max(1, int(np.searchsorted(sizes, tokens, side="right")))]
    return [sentences[i] for i in np.sort(some).tolist()]


def _read_texts(texts: Any, format: str | None, encoding: str | None, rules: Rules) -> list[Words]:
    """Return the sentences of texts. Raise SapoError if there are none, or if one is not split into tokens."""
    listed = [texts] if isinstance(texts, str | Path) else list(texts)
    found = list[Words]()
    for number, one in enumerate(listed, 1):
        if isinstance(one, str | Path):
            found += _read_text(one, format, encoding, rules)
            continue
        tokens = tuple(plain_sentence(one, f"texts: sentence {number}"))
        for token in tokens:
            if not isinstance(token, str):
                raise DataError(f"texts: sentence {number}: expected tokens as strings, found {token!r:.40}")
        found += [tokens] if tokens else []
    if not found:
        raise OptionError("texts: there are no sentences; give texts for the teacher to label")
    return found


def _read_text(path: str | Path, format: str | None, encoding: str | None, rules: Rules) -> Iterator[Words]:
    from sapo.text.splitter import Splitter

    how, blocks = read_text(path, format=format, encoding=encoding)
    if how == "text":
        if format is None:
            raise DataError(
                f"{path}: seems to be running text; give a sentence per line with blanks between tokens, or use "
                "`text_format='text'` to cut it by rules"
            )
        blocks = read_blocks(path, format=how, labeled=False, encoding=encoding, splitter=Splitter(rules))
    for block in blocks:
        words = block.strings(word_column(block))
        for begin, end in zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True):
            if end > begin:
                yield tuple(words[begin:end])


def _text_rules(teacher: Teacher | None, gold: _Gold | None) -> Rules:
    """Return how to cut text into tokens: as in the gold sentences, or as the teacher does."""
    if gold is None and isinstance(teacher, Ensemble):
        return teacher.taggers[0].model.text_rules
    return Rules() if gold is None else gold.rules


def _watched(taught: Iterable[Taught], total: int, watch: Watch) -> Iterator[Taught]:
    """Yield what is taught, and say every second how far it is."""
    done, said = 0, time.perf_counter()
    for one in taught:
        done += len(one[0])
        now = time.perf_counter()
        if now - said > OFTEN:
            said = now
            watch(f"labeled {done:,} of {total:,} tokens")
        yield one


def _learn(
    plan: Plan,
    how: DistilOptions,
    taught: list[Taught],
    gold: _Gold | None,
    dev: _Gold | None,
    teacher: Teacher | None,
    show: Quiet,
) -> tuple[Stop, Tagger]:
    """Train the student on gold sentences and on those of the teacher."""
    sentences, weights, firsts = list[Sentence](), list[float](), list[int]()
    if gold is None:
        how = dataclasses.replace(how, weight=1.0)
    else:
        sentences += gold.sentences
        weights += [1.0] * len(sentences)
        firsts += range(len(sentences))
    for samples in soft_samples(taught, how):
        firsts.append(len(sentences))
        sentences += [sentence for sentence, _ in samples]
        weights += [weight for _, weight in samples]
    labels = dataclasses.replace(plan.labels, sample_weight=weights)
    dev_sentences = None if dev is None else dev.sentences
    plan = dataclasses.replace(plan, data=sentences, dev=dev_sentences, labels=labels)
    jit.expect(jit.TRAINING)
    data = encode_data(plan, pick=partial(choose_template, plan=plan, say=show.say))
    if gold is not None:
        data = dataclasses.replace(data, reader=gold.reader)
    elif isinstance(teacher, Ensemble):
        data = dataclasses.replace(data, reader=teacher.taggers[0].model.reader)
    data = dataclasses.replace(data, text_rules=_text_rules(teacher, gold))
    copies = f" ({len(sentences):,} with all candidates)" if len(sentences) > len(firsts) else ""
    show.say(
        f"{len(firsts):,} sentences{copies}, {data.corpus.tokens:,} tokens, {len(data.labels):,} labels, "
        f"{data.encoder.features:,} features (template {data.template})"
    )
    for note in data.gold.notes:
        show.say(note)
    # the best candidate of each sentence, with the weight of all
    best = subset(data.corpus, np.array(firsts, np.int64))
    each = np.full(len(firsts), how.weight, np.float32)
    each[: len(firsts) - len(taught)] = 1.0
    best = dataclasses.replace(best, importance=np.repeat(each, np.diff(best.offsets)))
    run = start(plan, data.with_corpus(best), show=show)
    outcome = dataclasses.replace(run, data=data).finish_shown(show, calibrate=False)
    return outcome.stop, run.calibrated(outcome, show).tagger


def _compare(
    teacher: Teacher | None, student: Tagger, dev: _Gold | None, taught: list[Words]
) -> tuple[Performance, Performance, str]:
    """Score teacher and student on the dev sentences, and time both on the same sentences."""
    if dev is not None:
        sentences = [sentence.words for sentence in dev.sentences]
    else:
        sizes = np.cumsum([len(words) for words in taught[:SAMPLE]])
        sentences = taught[: int(np.searchsorted(sizes, SAMPLE)) + 1]
    tokens, name = sum(map(len, sentences)), ""

    def judge(tag: Callable[[Sequence[Words]], Sequence[Sequence[str]]]) -> Performance:
        nonlocal name
        tag(sentences[:8])  # what is loaded on first use
        started = time.perf_counter()
        tags = tag(sentences)
        speed = tokens / max(time.perf_counter() - started, 1e-9)
        if dev is None:
            return Performance(None, speed)
        name, value = _score(dev.sentences, tags).main
        return Performance(value, speed)

    def best_of_teacher(some: Sequence[Words]) -> list[tuple[str, ...]]:
        return [found[0].tags for found in teacher.label(some, 1)] if teacher is not None else []

    judged = Performance(None, None) if teacher is None else judge(best_of_teacher)
    return judged, judge(student.tag_many), name


def _score(sentences: Sequence[Sentence], found: Sequence[Sequence[str]]) -> Scores:
    table = StringTable()
    gold = table.add([tag for sentence in sentences for tag in sentence.tags or ()])
    predicted = table.add([tag for tags in found for tag in tags])
    return score(table.strings(), gold, predicted, np.cumsum([0, *(len(sentence) for sentence in sentences)]))
