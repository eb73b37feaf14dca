"""Sentences that a tiny network learns in a moment."""

from typing import Any

import sapo

SMALL: dict[str, Any] = {"word_size": 8, "column_size": 4, "hidden": 8, "char_size": 4, "feature_size": 4, "batch": 4}
NOUNS, VERBS = ("cat", "dog", "emu", "fox"), ("sleeps", "sings", "hops")
PAIRS = [
    ([("The", "DT"), (noun, "NN"), (verb, "VBZ"), (".", ".")], ["B-NP", "I-NP", "B-VP", "O"])
    for noun in NOUNS
    for verb in VERBS
]
SENTENCE = PAIRS[0][0]


def train(learner: str = "bilstm-sapo", **more: Any) -> sapo.Tagger:
    given = {"epochs": 12, "rate": 0.02, "dropout": 0.1, "tolerance": 0.0, **SMALL, **more}
    return sapo.train(PAIRS, template="chunking", learner=learner, **given)
