"""A rate or strength that drives the weights out of all bounds ends in one clear error, not in a model of NaN."""

from typing import Any

import numpy as np
import pytest

from sapo.errors import SapoError
from sapo.learn import Settings, State, learn, sapo_pass


@pytest.mark.parametrize("values", [{"strength": 1e4, "rate": 1.0}, {"strength": 0.0, "rate": 1e38}])
def test_weights_that_grow_without_bounds_are_reported(tiny: Any, values: dict[str, float]) -> None:
    corpus = tiny.corpus(0)
    state = State(tiny.weights(0, corpus))
    # interpreted kernels would warn of the overflow
    with pytest.raises(SapoError, match=r"rate|strength"), np.errstate(all="ignore"):
        learn(sapo_pass, corpus, Settings(epochs=20, tolerance=0.0, **values), state)
