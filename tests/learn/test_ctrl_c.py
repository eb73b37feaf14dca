"""Ctrl-C comes while a kernel runs, mostly: Python raises it as soon as the kernel is back, before the next line."""

from typing import Any

import numpy as np
import pytest

from sapo.learn import sapo as kernel
from sapo.learn.loop import final_weights, learn
from sapo.learn.records import State
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings


def test_ctrl_c_as_the_kernel_returns_keeps_scale_and_v_together(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tiny.corpus(3)
    settings = Settings(n=4, rate=1.0, strength=2.0, epochs=1)
    whole = State(tiny.weights(3, corpus))
    learn(sapo_pass, corpus, settings, whole)

    run = kernel.sapo_samples

    def interrupted(*arguments: Any) -> float:
        run(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel, "sapo_samples", interrupted)
    broken = State(tiny.weights(3, corpus))
    assert learn(sapo_pass, corpus, settings, broken).text == "interrupted"
    np.testing.assert_allclose(final_weights(broken).features, final_weights(whole).features, rtol=1e-6)
