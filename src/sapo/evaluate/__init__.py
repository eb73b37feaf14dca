"""How good a tagging is, and which of two is better: gold and predicted tags in, scores, tests, tables out."""

from sapo.evaluate.calibration import Reliability, reliability, reliability_table
from sapo.evaluate.comparison import Comparison, compare, compare_taggings
from sapo.evaluate.comparison_table import comparison_json, comparison_text
from sapo.evaluate.scores import Scores, SpanCounts, score
from sapo.evaluate.sentences import SentenceCounts, span_counts, token_counts
from sapo.evaluate.significance import PairedT, Randomisation, holm, paired_t_test, randomisation_test
from sapo.evaluate.spans import Spans, spans
from sapo.evaluate.table import as_json, conlleval_table
from sapo.tags.label_kinds import LabelKinds, label_kinds, looks_like_spans

__all__ = [
    "Comparison",
    "LabelKinds",
    "PairedT",
    "Randomisation",
    "Reliability",
    "Scores",
    "SentenceCounts",
    "SpanCounts",
    "Spans",
    "as_json",
    "compare",
    "compare_taggings",
    "comparison_json",
    "comparison_text",
    "conlleval_table",
    "holm",
    "label_kinds",
    "looks_like_spans",
    "paired_t_test",
    "randomisation_test",
    "reliability",
    "reliability_table",
    "score",
    "span_counts",
    "spans",
    "token_counts",
]
