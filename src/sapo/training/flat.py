"""Begin training with `crf-lbfgs`: check the data and choose which weights there are."""

import numpy as np

from sapo.encode.encoded import EncodedCorpus
from sapo.encode.pairs import observed_pairs
from sapo.errors import SapoError
from sapo.learn import Settings
from sapo.learn.batch_crf import BatchOptions, BatchWeights, batch_pass
from sapo.learn.flat import FlatLayout, FlatOptions, flat_layout
from sapo.learn.lbfgs import Minimiser
from sapo.learn.loop import LearnerPass
from sapo.training.data import TrainingData
from sapo.training.label_lists import label_lists
from sapo.training.plan import Plan

Begun = tuple[LearnerPass, BatchWeights, list[str]]  # the names identify the run in a checkpoint


def begin_batch(plan: Plan, data: TrainingData, settings: Settings) -> Begun:
    """Return the pass and the weights of `crf-lbfgs`. Raise SapoError where there is no objective to minimise."""
    options, strength = plan.batch or BatchOptions(), settings.strength
    if len(data.corpus.importance) and _differ_within_sentences(data.corpus):
        raise SapoError(f"{plan.learner} takes weights of sentences (sample_weight), but not of labels (class_weight)")
    l2 = strength if settings.regulariser == "l2" else 0.0
    l1 = strength if settings.regulariser == "l1" else options.l1
    layout = _layout(data, settings, options)
    minimiser = Minimiser(
        np.zeros(layout.size), l1=l1, memories=options.memories, trials=options.trials, epsilon=options.epsilon
    )
    weights = BatchWeights(layout, minimiser, l2, options.period, settings.tolerance)
    return batch_pass, weights, [f"l1 {l1}", str(options)]


def _layout(data: TrainingData, settings: Settings, options: FlatOptions) -> FlatLayout:
    corpus, encoder, labels = data.corpus, data.encoder, len(data.labels)
    return flat_layout(
        corpus,
        encoder.features,
        data.gold.bans,
        pairs=observed_pairs(corpus, encoder.edge_features, labels),
        transitions=encoder.transitions,
        all_states=settings.all_pairs,
        all_transitions=options.all_transitions,
        min_freq=options.min_freq,
        lists=label_lists(corpus, labels, exact=settings.exact),
    )


def _differ_within_sentences(corpus: EncodedCorpus) -> bool:
    """Return whether tokens of a sentence are of different importance."""
    sentence = np.repeat(np.arange(corpus.sentences), np.diff(corpus.offsets))
    return bool((corpus.importance != corpus.importance[corpus.offsets[sentence]]).any())
