"""Numbers and words where lists and numbers are due."""

import numpy as np
import pytest

from sapo import SequenceLabeler
from sapo.errors import SapoError
from sapo.sklearn.crf import CRF


@pytest.mark.parametrize("weight", [2, np.array(2.0)])
def test_one_weight_for_all_sequences_is_refused(weight: object) -> None:
    with pytest.raises(SapoError, match="sample_weight must have a number for each sentence, not be "):
        SequenceLabeler().fit([["a"]], [["A"]], sample_weight=weight)
    labeler = SequenceLabeler(rate=0.1, epochs=1).fit([["a"]], [["A"]])
    with pytest.raises(SapoError, match="sample_weight"):
        labeler.partial_fit([["a"]], [["A"]], sample_weight=weight)


@pytest.mark.parametrize("name", ["min_freq", "max_iterations", "c2"])
def test_a_word_where_crfsuite_has_a_number_is_refused(name: str) -> None:
    with pytest.raises(SapoError, match=r"must be .*'x'|must be .* x"):
        CRF(**{name: "x"}).fit([[{"a": 1}]], [["A"]])
