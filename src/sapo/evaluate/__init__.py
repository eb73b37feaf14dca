"""Score taggings and compare systems."""

from sapo.evaluate.calibration import Reliability, reliability, reliability_table
from sapo.evaluate.comparison import Comparison, compare, compare_taggings, comparison_json, comparison_text
from sapo.evaluate.scores import FeatureCounts, Scores, SpanCounts, count_features, score, score_tags
from sapo.evaluate.significance import (
    Randomization,
    SentenceCounts,
    holm,
    randomization_test,
    span_counts,
    token_counts,
)

__all__ = [
    "Comparison",
    "FeatureCounts",
    "Randomization",
    "Reliability",
    "Scores",
    "SentenceCounts",
    "SpanCounts",
    "compare",
    "compare_taggings",
    "comparison_json",
    "comparison_text",
    "count_features",
    "holm",
    "randomization_test",
    "reliability",
    "reliability_table",
    "score",
    "score_tags",
    "span_counts",
    "token_counts",
]
