"""What a tagging may look like: labels, a tag scheme and rules in, forbidden pairs of labels out.

Bans are as kernels take them: float32[labels + 2, labels], 0 or minus infinity. [p, y] is y after p, row `labels` is y
at the start of a sentence, row `labels + 1` is y at its end.
"""

from sapo.tags.constraints import Constraints, bans_of, find_constraints
from sapo.tags.inner import InnerLabels, learn_as
from sapo.tags.recognise import recognise, scheme_bans
from sapo.tags.transitions import transition_counts

__all__ = [
    "Constraints",
    "InnerLabels",
    "bans_of",
    "find_constraints",
    "learn_as",
    "recognise",
    "scheme_bans",
    "transition_counts",
]
