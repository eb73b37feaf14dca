"""Train a tagger: read and encode the data, choose a rate, learn. All training goes through this module."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Unpack

from sapo import jit
from sapo.corpus.labeled import Source
from sapo.errors import ModelError, OptionError
from sapo.jit.arrays import return_large_arrays
from sapo.learn import LEARNERS
from sapo.learn.loop import RunPass, final_weights, learn
from sapo.learn.records import Halt, Observer, PassRecord, State, Stop
from sapo.learn.settings import AUTO, Settings
from sapo.neural.options import NeuralOptions
from sapo.search.lattice import Parameters
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger
from sapo.training.calibration import calibrated, calibration_part
from sapo.training.checkpoint import Checkpoint, fingerprint, saved_choice
from sapo.training.choice import choose_template
from sapo.training.data import TrainingData, encode_data, warn_of
from sapo.training.learners import Beginning, Linear, System, find_system
from sapo.training.plan import OFF, Options, Plan, known_learner, make_plan
from sapo.training.progress import Quiet, shown
from sapo.training.shards.preparation import sharded_data

REHEARSED = ("search", "regularizer", "order", "schedule")  # settings that decide which kernels are called, and how


class PassMaker(Protocol):
    """Makes the passes of a run somewhere else, as `sapo.apps.ray.training.Cluster` does."""

    def passes(
        self, learner: str, source: Any, settings: Settings, state: State, checkpoint: Checkpoint | None
    ) -> AbstractContextManager[RunPass]:
        """Give a function that makes a pass and takes the arguments of `sapo.learn.loop.run_pass`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of training, and why it stopped."""

    tagger: Tagger
    stop: Stop
    history: list[PassRecord]
    best_epoch: int  # the pass whose weights were kept


def train(
    data: Source,
    *,
    dev: Source | None = None,
    template: str | Path | None = None,
    learner: str = "sapo",
    settings: Settings | Mapping[str, object] | None = None,
    observers: Sequence[Observer] = (),
    verbose: bool = False,
    cluster: PassMaker | None = None,
    calibrate: bool = True,
    **options: Unpack[Options],
) -> Tagger:
    """Train a tagger.

    `data` and `dev` are paths of files, or sentences in Python: pairs of tokens and tags, or a table of pandas, polars,
    Arrow or Hugging Face. A token is a string, a tuple of strings (word, pos, ...), or a list or dictionary of
    features. With `dev`, training stops when the score on it no longer improves, and the epoch to keep is chosen by
    it; evaluate the model on other sentences. `template` is a preset (chunking-best, pos-best, ner ...) or the path of
    a template file; the default is the preset that suits columns and tags.
    `observers` watch the epochs; `verbose` prints to standard error what `sapo train` prints. `cluster` (a
    `sapo.apps.ray.training.Cluster`) says on which Ray cluster to learn. `calibrate` fits a temperature on the dev
    set; without one, or if it has few errors, on training sentences held out from a shorter run.

    `settings` is a dictionary with fields of `sapo.Settings` and, for the neural learners, of
    `sapo.neural.options.NeuralOptions`; what is not in it is chosen from the data, or is the default of the learner.
    A `sapo.Settings` instead states all settings, and nothing is chosen. The settings in most use, `n`, `strength`,
    `rate`, `epochs`, `threads` and `seed`, are also keywords, which win over `settings`.

    The other options (see `sapo.training.plan.Options`) are:

    - `format`, `label`, `columns` and `encoding`: how to read files;
    - `clusters`: word clusters that `sapo cluster` or another tool has made: a file, or a dictionary of words and bits,
      or a list of these; `unlabeled`: text without labels, a file or a list of files, to make such clusters from, which
      are kept for later runs; `names`: a file or a list of names for each kind, such as {"city": "cities.txt"},
      or {"city:case": "cities.txt"} if capitals count;
      `vectors`: a file of word vectors (word2vec, GloVe, fastText or safetensors), from which networks start;
    - `repetition`: "on" tags twice, so that a model sees how the same words are tagged nearby, "auto" where that gains
      on held-out sentences; the default is "off";
    - `min_count`: leave out features that occur less often; `stream`: a directory for shards of the data, if it is
      larger than memory;
    - `constraints`: taggings follow the tag scheme of the data; `rules`: further rules, such as "forbid B-NP B-VP", or
      a file with rules; `scheme`: learn the labels in another scheme, such as bioes;
    - `missing`: what is written for a missing tag, which may be any tag; None always stands for one;
    - `sample_weight`: a weight for each sentence; `class_weight`: a weight for each label, or "balanced".

    Raises SapoError if the data or an option is wrong.

    >>> tagger = train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=3)
    >>> tagger.labels
    ('DT', 'NN')
    """
    plan = make_plan(data, dev=dev, template=template, learner=learner, settings=settings, **options)
    if plan.resume and plan.checkpoint is None:
        raise OptionError("resume needs stream, the directory that has the checkpoint")
    if verbose:
        with shown(plan.settings) as show:
            return _train(plan, show, observers, cluster, calibrate)
    return _train(plan, Quiet(plan.settings), observers, cluster, calibrate)


def _train(
    plan: Plan, show: Quiet, observers: Sequence[Observer], cluster: PassMaker | None, calibrate: bool
) -> Tagger:
    run = start(plan, show=show, check=lambda data: warn_of(plan, data))
    return run.finish_shown(show, observers, cluster=cluster, calibrate=calibrate).tagger


@dataclass(frozen=True, slots=True)
class Run:
    """A training run with its data read and its settings complete."""

    plan: Plan
    data: TrainingData
    settings: Settings
    system: System
    first: Model | None = None  # the first pass, if the model sees how words are tagged nearby

    def finish(self, observers: Sequence[Observer] = (), *, cluster: PassMaker | None = None) -> Outcome:
        """Train to the end, here or on a cluster; return the tagger, and why training stopped."""
        data = self.data
        begun = self.system.begin(self.plan, data, self.settings)
        state = State(begun.weights)
        watching = list(observers)
        checkpoint = None
        if self.plan.checkpoint is not None:
            dev = data.dev.corpus if data.dev else None
            corpus, names = (
                (data.corpus, begun.names) if data.shards is None else (None, data.shards.names(begun.names))
            )
            checkpoint = Checkpoint(self.plan.checkpoint, begun.options, fingerprint(corpus, dev, names))
            if self.plan.resume and Path(self.plan.checkpoint).exists():
                checkpoint.load(state)
                _check_where(checkpoint, cluster)
            watching.append(checkpoint)
        with _passes(self.plan.learner, data, begun, state, checkpoint, cluster) as passes:
            stop = learn(
                begun.one_pass,
                data.source,
                begun.settings,
                state,
                dev=begun.dev,
                observers=watching,
                passes=passes,
            )
        parameters = final_weights(state)
        if begun.settings.drop:
            parameters.rows.drop(begun.settings.drop)
        if len(data.scales):
            parameters.rows.scale(data.scales)
        kept = state.best_epoch or state.epoch
        return Outcome(Tagger(self._model(begun, state, parameters, stop, kept)), stop, state.history, kept)

    def finish_shown(
        self,
        show: Quiet,
        observers: Sequence[Observer] = (),
        *,
        cluster: PassMaker | None = None,
        calibrate: bool = True,
    ) -> Outcome:
        """Train to the end as `finish` does, show it, and calibrate the tagger.

        Calibration learns a part of the sentences. Without a dev set this needs nothing of the outcome, unless training
        stops early, so another core does it meanwhile.
        """
        meanwhile = calibrate and cluster is None and self._calibrates_alone
        show.settings = self.settings  # with the number of epochs that was chosen
        halt, part, run = Halt(), None, self
        with ThreadPoolExecutor(1) as pool:
            if meanwhile and (data := calibration_part(self.data)).corpus.sentences:
                show.detail(_learning_line(data))
                part = pool.submit(self._learn_part, data, replace(self.settings, threads=1), halt)
                run = replace(self, settings=replace(self.settings, threads=self.settings.cores - 1))
                del data  # the thread has it; a second copy would be the peak of memory
            try:
                with show.running(self.data.score_name if self.plan.dev is not None else None, self.data.source.tokens):
                    outcome = run.finish([show, *observers], cluster=cluster)
                if self.plan.dev is not None or outcome.stop.interrupted:
                    show.say(self._score_line(outcome))
                else:
                    show.detail(f"{outcome.stop}; kept epoch {outcome.best_epoch}")
                return self.calibrated(outcome, show, part) if calibrate else outcome
            finally:
                halt.asked.set()  # if it is not needed, or after Ctrl-C, which reaches this thread alone

    @property
    def _calibrates_alone(self) -> bool:
        """Whether calibration needs nothing of the outcome, and there is a core for it."""
        linear = isinstance(self.system, Linear)  # others end when they have converged
        return linear and self.data.dev is None and self.data.shards is None and self.settings.cores > 1

    def _score_line(self, outcome: Outcome) -> str:
        """Return which epoch was kept, and why."""
        kept, scores = outcome.best_epoch, {one.epoch: one.dev for one in outcome.history if one.dev is not None}
        line = f"{outcome.stop}; kept epoch {kept}"
        if kept not in scores:
            return line
        best = max(scores, key=scores.__getitem__)
        why = "the best on the dev set: evaluate on other sentences"
        if scores[kept] != scores[best]:
            why = f"the last: epoch {best} ({100 * scores[best]:.2f}) is not better by more than a standard error"
        return f"dev {self.data.score_name} {100 * scores[kept]:.2f}; {line}, {why}"

    def calibrated(self, outcome: Outcome, show: Quiet | None = None, part: Future[Tagger] | None = None) -> Outcome:
        """Return the outcome with a calibrated tagger, unless training was interrupted.

        `part` is the tagger that has learned the sentences that are not held out, if it learned as many epochs.
        """
        show = show or Quiet(self.settings)
        if outcome.stop.interrupted:
            return outcome
        settings = self.settings.until(outcome.best_epoch)

        def learn_part() -> Tagger:
            if part is not None and settings.epochs == self.settings.epochs:
                return part.result()
            data = calibration_part(self.data)
            show.detail(_learning_line(data))
            return self._learn_part(data, settings)

        learn = None if self.system.reads_texts else learn_part
        return replace(outcome, tagger=calibrated(outcome.tagger, self.data, learn, show.say))

    def _learn_part(self, data: TrainingData, settings: Settings, *observers: Observer) -> Tagger:
        plan = replace(self.plan, dev=None, checkpoint=None, resume=False)
        part = replace(self, plan=plan, data=data, settings=settings).finish(observers)
        if part.stop.interrupted:
            raise KeyboardInterrupt
        return part.tagger

    def _model(self, begun: Beginning, state: State, parameters: Parameters, stop: Stop, kept: int) -> Model:
        data = self.data
        record: dict[str, Any] = {
            "learner": self.plan.learner,
            "settings": begun.settings.as_json(),
            "template": data.template,
            "sentences": data.source.sentences,
            "tokens": data.source.tokens,
            "features": data.encoder.features,
            "passes": state.epoch,
            "kept_pass": kept,
            "stopped": stop.text,
            "score_name": data.score_name,
            "history": [_without_time(entry) for entry in state.history],
        }
        if data.missing is not None:
            record["missing"] = data.missing
        gold = data.gold
        return Model(
            tuple(gold.labels),
            begun.encoder,
            parameters,
            data.reader,
            record,
            constraints=gold.constraints,
            shown=gold.shown,
            text_rules=data.text_rules,
            first=self.first,
        )


def _learning_line(data: TrainingData) -> str:
    return f"learning {data.corpus.sentences:,} sentences to calibrate on others"


def _passes(
    learner: str,
    data: TrainingData,
    begun: Beginning,
    state: State,
    checkpoint: Checkpoint | None,
    cluster: PassMaker | None,
) -> AbstractContextManager[RunPass | None]:
    if cluster is None:
        return nullcontext()
    return cluster.passes(learner, data.source, begun.settings, state, checkpoint)


def _check_where(checkpoint: Checkpoint, cluster: PassMaker | None) -> None:
    """Raise SapoError if a run on a cluster would be resumed without one, or the other way round."""
    if bool(checkpoint.more) != (cluster is not None):
        with_or_without = "with `cluster`; add it" if checkpoint.more else "without `cluster`; leave it out"
        raise ModelError(f"{checkpoint.path}: was made {with_or_without}, or leave `resume` out to start over")


def start(
    plan: Plan,
    data: TrainingData | None = None,
    *,
    show: Quiet | None = None,
    check: Callable[[TrainingData], None] | None = None,
) -> Run:
    """Start a run: read and encode the data, unless it is given, and choose the rate.

    `show` shows what was read and chosen; `check` is called with the data once it is read.

    >>> run = start(make_plan([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=3))
    >>> str(run.finish().stop)
    'all 3 epochs done'
    """
    show = show or Quiet(plan.settings)
    return_large_arrays()
    system = find_system(plan.learner)
    if plan.learner in LEARNERS and LEARNERS[plan.learner].rehearsed:
        jit.expect(jit.TRAINING)
        same = {name: getattr(plan.settings, name) for name in REHEARSED}
        jit.compile_ahead("sapo.training.warm_up", {"settings": same})
    if data is None:
        plan = with_clusters(plan, show)
        pick = partial(choose_template, plan=plan, say=show.say)
        if plan.stream is None:
            data = encode_data(plan, keep_texts=system.reads_texts or plan.repetition != OFF, pick=pick)
        else:
            data = sharded_data(plan, plan.stream, show.detail, pick)
        source = data.source
        show.say(
            f"{source.sentences:,} sentences, {source.tokens:,} tokens, {len(data.labels):,} labels, "
            f"{data.encoder.features:,} features (template {data.template})"
        )
        for note in data.gold.notes:
            show.say(note)
    if check is not None:
        check(data)
    if plan.resume and plan.checkpoint is not None and Path(plan.checkpoint).exists():
        settings = saved_choice(plan.checkpoint, plan.settings, plan.automatic)
    else:
        settings = system.choose(data, plan.settings, plan.automatic, show.detail)
    show.say(_settings_line(plan, settings))
    run = Run(plan, data, settings, system)
    return run if plan.repetition == OFF else _with_second_pass(run, show)


def _with_second_pass(run: Run, show: Quiet) -> Run:
    """Return the run of the second pass, after the first one has learned."""
    from sapo.training.repetition import with_second_pass  # which few runs need

    def learned(part: Run) -> Model:
        outcome = part.finish()
        if outcome.stop.interrupted:
            raise KeyboardInterrupt
        return outcome.tagger.model

    def learn_part(data: TrainingData) -> Model:
        show.detail(f"learning {data.corpus.sentences:,} sentences, to tag others")
        data = replace(data, dev=None)
        return learned(replace(run, plan=replace(run.plan, dev=None), data=data))

    def learn_first() -> Model:
        show.detail("learning the first pass")
        return learned(run)

    data, first = with_second_pass(
        run.data,
        learn_first,
        learn_part,
        try_out=run.plan.repetition == AUTO,
        min_count=run.plan.min_count,
        say=show.say,
    )
    return replace(run, data=data, first=first)


def with_clusters(plan: Plan, show: Quiet) -> Plan:
    """Return the plan with the word clusters of its unlabeled text."""
    if not plan.unlabeled:
        return plan
    from sapo.training.unlabeled import clusters_of  # which few runs need

    made = clusters_of(plan.unlabeled, show.say, show.hint, plan.reading.get("encoding"))
    return replace(plan, clusters=(*plan.clusters, made), unlabeled=())


def _settings_line(plan: Plan, settings: Settings) -> str:
    """Return the learner with its main settings.

    >>> _settings_line(make_plan([], rate=0.1), Settings(rate=0.1, strength=3.0, epochs=15))
    'sapo: rate 0.1, strength 3, 15 epochs'
    """
    learner = LEARNERS.get(plan.learner)
    values = [f"{settings.epochs} epochs" if plan.dev is None else f"at most {settings.epochs} epochs"]
    if learner is not None and learner.regularized:
        values = [f"rate {settings.rate:g}", f"strength {settings.strength:g}", *values]
    chosen = " (chosen automatically)" if "rate" in plan.automatic else ""
    return f"{plan.learner}: {', '.join(values)}{chosen}"


def read_data(
    data: Source,
    *,
    dev: Source | None = None,
    template: str | Path | None = None,
    keep_texts: bool = False,
    **options: Unpack[Options],
) -> TrainingData:
    """Read and encode data once, to train on it several times with `train_on`. Networks need `keep_texts`.

    >>> data = read_data([(["no", "rain"], ["DT", "NN"])], template="pos")
    >>> data.labels, data.corpus.tokens
    (['DT', 'NN'], 2)
    """
    options.setdefault("scheme", None)
    plan = make_plan(data, dev=dev, template=template, **options)
    return encode_data(with_clusters(plan, Quiet(plan.settings)), keep_texts=keep_texts)


def with_start_rate(data: TrainingData, settings: Settings, learner: str = "sapo") -> Settings:
    """Return the settings with the start rate that the learner chooses for this data."""
    return replace(settings, rate=find_system(learner).rate(data, settings))


def train_on(
    data: TrainingData,
    settings: Settings,
    *,
    learner: str = "sapo",
    observers: Sequence[Observer] = (),
    network: NeuralOptions | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Outcome:
    """Train on data from `read_data`, with exactly these settings.

    `checkpoint` and `resume` are as in `sapo.training.plan.Plan`.

    >>> data = read_data([(["no", "rain"], ["DT", "NN"])], template="pos")
    >>> str(train_on(data, Settings(epochs=2), learner="perceptron").stop)
    'all 2 epochs done'
    """
    plan = Plan(
        data=(),
        learner=known_learner(learner),
        settings=settings,
        network=network,
        checkpoint=checkpoint,
        resume=resume,
    )
    return start(plan, data).finish(observers)


def _without_time(entry: PassRecord) -> dict[str, Any]:
    """Return a record without its times, because equal runs must give equal files."""
    return {key: value for key, value in entry.as_json().items() if key not in ("seconds", "tokens_per_second")}
