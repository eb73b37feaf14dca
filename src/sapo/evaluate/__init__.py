"""Score taggings and compare systems: counts, scores, tests and tables. `sapo.tags` says what labels mean."""

from sapo.evaluate.calibration import Reliability, reliability, reliability_table
from sapo.evaluate.comparison import Comparison, compare, compare_taggings
from sapo.evaluate.comparison_table import comparison_json, comparison_text
from sapo.evaluate.counts import FeatureCounts, SpanCounts
from sapo.evaluate.features import count_features
from sapo.evaluate.scores import Scores, score
from sapo.evaluate.sentences import SentenceCounts, span_counts, token_counts
from sapo.evaluate.significance import Randomisation, holm, randomisation_test
from sapo.evaluate.table import as_json, conlleval_table

__all__ = [
    "Comparison",
    "FeatureCounts",
    "Randomisation",
    "Reliability",
    "Scores",
    "SentenceCounts",
    "SpanCounts",
    "as_json",
    "compare",
    "compare_taggings",
    "comparison_json",
    "comparison_text",
    "conlleval_table",
    "count_features",
    "holm",
    "randomisation_test",
    "reliability",
    "reliability_table",
    "score",
    "span_counts",
    "token_counts",
]
