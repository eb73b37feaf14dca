"""A corpus in, a tagger out: read, encode, learn."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sapo.corpus.labelled import Source
from sapo.encode.encoder import TemplateEncoder
from sapo.errors import SapoError
from sapo.learn import Groups, Observer, PassRecord, Settings, State, final_weights, learn
from sapo.learn.settings import AUTO
from sapo.model import Model, fingerprint, load_checkpoint, save_checkpoint
from sapo.model.model import Encoder
from sapo.neural.options import OPTION_NAMES, NeuralOptions, is_neural
from sapo.search.lattice import Parameters
from sapo.tagger.tagger import Tagger
from sapo.training.choices import check_learner, find_learner, make_settings, neural_options, with_calibrated_rate
from sapo.training.data import Prepared, prepare
from sapo.training.labels import Conditions
from sapo.training.network import run_network


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of training, and why it stopped."""

    tagger: Tagger
    reason: str
    history: list[PassRecord]
    best_epoch: int  # the pass whose weights were kept


def train(
    data: Source,
    *,
    dev: Source | None = None,
    template: str | Path | None = None,
    format: str | None = None,
    label: str | int | None = None,
    columns: Sequence[str] | None = None,
    min_count: int = 1,
    learner: str = "sapo",
    observers: Sequence[Observer] = (),
    constraints: bool = True,
    rules: Sequence[str] | str | Path = (),
    scheme: str | None = None,
    missing: str | None = None,
    sample_weight: Sequence[float] | None = None,
    class_weight: Mapping[str, float] | str | None = None,
    **settings: Any,
) -> Tagger:
    """Train a tagger.

    `data` and `dev` are the path of a file, or sentences in Python: pairs of tokens and tags, where a token is a
    string, a tuple of strings (word, pos, ...), or its features as a list or dictionary. `template` is a preset
    (chunking-best, pos-best, ner ...) or the path of a template file; by default the preset that suits the columns.
    `settings` are those of `sapo.Settings`: n, strength, rate ...; where no rate is given it is calibrated on the data.
    For the neural learners (bilstm, bilstm-crf, bilstm-sapo, bilstm-perceptron) they are also those of
    `sapo.neural.options.NeuralOptions`: vectors, chars, features, batch ...

    Taggings keep to the tag scheme of the data (`constraints`) and to `rules`, such as "forbid B-NP B-VP", or a file of
    them. `scheme` learns the labels in another scheme (bioes). A tag that is None, or `missing`, may be any tag.
    `sample_weight` has a weight for each sentence, `class_weight` for each label, or is "balanced".

    >>> tagger = train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=3)
    >>> tagger.labels
    ('DT', 'NN')
    """
    check_learner(learner)
    options = neural_options(learner, {name: settings.pop(name) for name in OPTION_NAMES & settings.keys()})
    auto = settings.get("rate", AUTO) == AUTO
    chosen = make_settings(
        {key: value for key, value in settings.items() if not (auto and key == "rate")},
        others=sorted(OPTION_NAMES) if is_neural(learner) else (),
    )
    conditions = Conditions(
        constraints=constraints,
        rules=rules,
        scheme=scheme,
        missing=missing,
        sample_weight=sample_weight,
        class_weight=class_weight,
    )
    reading: dict[str, Any] = {"format": format, "label": label, "columns": columns}
    prepared = prepare(
        data,
        dev=dev,
        template=template,
        min_count=min_count,
        conditions=conditions,
        keep_texts=is_neural(learner),
        **reading,
    )
    if auto:
        chosen = with_calibrated_rate(prepared, chosen, learner)
    return run(prepared, chosen, learner=learner, options=options, observers=observers).tagger


def run(
    prepared: Prepared,
    settings: Settings,
    *,
    learner: str = "sapo",
    options: NeuralOptions | None = None,
    observers: Sequence[Observer] = (),
    checkpoint: str | Path | None = None,
    resume: bool = False,
    groups: Groups | None = None,
) -> Outcome:
    """Learn. With `checkpoint` the state is saved after every pass; `resume` goes on from there.

    `groups` shrinks the weights after each run of samples, beside the regulariser of the settings.
    """
    if is_neural(learner):
        return _run_neural(
            prepared, settings, options or NeuralOptions(), learner, observers, checkpoint=checkpoint, resume=resume
        )
    chosen = find_learner(learner)
    if not chosen.regularised:
        settings = dataclasses.replace(settings, regulariser="none", strength=0.0)
    if settings.n == AUTO and not chosen.n_best:
        settings = dataclasses.replace(settings, n=Settings().n)  # nobody looks at it
    encoder, corpus = prepared.encoder, prepared.corpus
    labels = len(prepared.labels)
    l1 = settings.regulariser == "l1"
    weights = prepared.zero_weights(averaged=chosen.averaged, l1=l1)
    state = State(weights)
    if settings.regulariser == "group-lasso":
        groups = Groups(encoder.groups(), labels, encoder.edge_groups()[weights.pairs.owners])
    watching = list(observers)
    if checkpoint is not None:
        data = fingerprint(
            corpus,
            prepared.dev.corpus if prepared.dev else None,
            [learner, f"transitions {encoder.transitions}", *prepared.labels, str(prepared.lesson.constraints)],
        )
        if resume and Path(checkpoint).exists():
            load_checkpoint(checkpoint, state, settings, data)
        watching.append(_Checkpoint(checkpoint, settings, data))
    reason = learn(chosen.run, corpus, settings, state, dev=prepared.dev, groups=groups, observers=watching)
    parameters = final_weights(state)
    return _outcome(prepared, settings, learner, reason, state, encoder, parameters)


def _run_neural(
    prepared: Prepared,
    settings: Settings,
    options: NeuralOptions,
    learner: str,
    observers: Sequence[Observer],
    **saving: Any,
) -> Outcome:
    if prepared.texts is None or not isinstance(prepared.encoder, TemplateEncoder):
        raise SapoError(f"{learner} reads words and learns features itself; give it words, not ready-made features")
    _check_for_network(prepared, learner)
    settings = dataclasses.replace(settings, regulariser="none", strength=0.0)
    trained = run_network(
        prepared.texts,
        prepared.corpus,
        prepared.dev,
        prepared.encoder,
        len(prepared.labels),
        settings,
        options,
        learner=learner,
        names=[*prepared.labels, str(prepared.lesson.constraints)],
        bans=prepared.lesson.bans,
        observers=observers,
        **saving,
    )
    return _outcome(prepared, settings, learner, trained.reason, trained.state, trained.encoder, trained.parameters)


def _check_for_network(prepared: Prepared, learner: str) -> None:
    """Raise where something is asked for that only the linear learners can do."""
    if (prepared.corpus.gold < 0).any():
        raise SapoError(f"{learner} needs every tag of the training data; leave out sentences where one is missing")
    if len(prepared.corpus.importance):
        raise SapoError(f"{learner} takes all tokens alike; leave out the weights of sentences and classes")


def _outcome(
    prepared: Prepared,
    settings: Settings,
    learner: str,
    reason: str,
    state: State,
    encoder: Encoder,
    parameters: Parameters,
) -> Outcome:
    corpus = prepared.corpus
    kept = state.best_epoch or state.epoch
    record = {
        "learner": learner,
        "settings": settings.as_json(),
        "template": prepared.template,
        "sentences": corpus.sentences,
        "tokens": corpus.tokens,
        "passes": state.epoch,
        "kept_pass": kept,
        "stopped": reason,
        "score_name": prepared.score_name,
        "history": [_without_time(entry) for entry in state.history],
    }
    if prepared.missing is not None:
        record["missing"] = prepared.missing
    lesson = prepared.lesson
    model = Model(
        tuple(prepared.labels),
        encoder,
        parameters,
        prepared.reader,
        record,
        constraints=lesson.constraints,
        shown=lesson.shown,
    )
    return Outcome(Tagger(model), reason, state.history, kept)


class _Checkpoint:
    def __init__(self, path: str | Path, settings: Settings, data: str) -> None:
        self.path, self.settings, self.data = path, settings, data

    def samples(self, epoch: int, done: int, of: int) -> None:
        pass

    def passed(self, record: PassRecord, state: State) -> None:
        save_checkpoint(self.path, state, self.settings, self.data)


def _without_time(entry: PassRecord) -> dict[str, Any]:
    """Times differ from run to run, and equal runs must give equal files."""
    return {
        key: value for key, value in dataclasses.asdict(entry).items() if key not in ("seconds", "tokens_per_second")
    }
