"""How good a tagging is: gold and predicted tags in, scores, a table and a dictionary out."""

from sapo.evaluate.labels import LabelKinds, label_kinds, looks_like_spans
from sapo.evaluate.scores import Scores, SpanCounts, score
from sapo.evaluate.spans import Spans, spans
from sapo.evaluate.table import as_json, conlleval_table

__all__ = [
    "LabelKinds",
    "Scores",
    "SpanCounts",
    "Spans",
    "as_json",
    "conlleval_table",
    "label_kinds",
    "looks_like_spans",
    "score",
    "spans",
]
