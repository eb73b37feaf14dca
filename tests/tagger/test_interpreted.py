"""How much a tagger does with interpreted kernels before numba is loaded: about a second's work, whatever it is."""

from collections.abc import Callable

import pytest

import sapo
from sapo import jit
from sapo.jit import kernels as _jit
from sapo.tagger.tagger import Tagger


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], bool]:
    """Whether some work would compile the kernels in a process that has just begun."""

    def ask(work: Callable[[], object]) -> bool:
        asked: list[bool] = []
        with monkeypatch.context() as patch:
            patch.setattr(_jit, "_options", None)
            patch.setattr(_jit, "_pairs_seen", 0)
            patch.setattr(_jit, "compile_kernels", lambda: asked.append(True))
            work()
        return bool(asked)

    return ask


def tagger_of(labels: int) -> Tagger:
    names = [str(label) for label in range(labels)]
    return sapo.train([(names, names)], template="pos", epochs=1, rate=0.1)


def test_the_more_labels_the_fewer_tokens_are_worth_compiling(
    compiles: Callable[[Callable[[], object]], bool],
) -> None:
    few, many = tagger_of(20), tagger_of(120)
    sentence = ["1"] * 300
    assert not compiles(lambda: few.tag(sentence))
    assert compiles(lambda: many.tag(sentence))
    assert not compiles(lambda: many.tag(sentence[:25]))
    assert compiles(lambda: few.tag_many([sentence] * 10))


def test_sums_and_the_n_best_are_counted_too(compiles: Callable[[Callable[[], object]], bool]) -> None:
    tagger = tagger_of(100)
    sentence = ["1"] * 150
    assert not compiles(lambda: tagger.tag(sentence))
    assert compiles(lambda: tagger.marginals(sentence))
    assert compiles(lambda: tagger.nbest(sentence, 1000))


def test_one_sentence_of_an_ordinary_model_stays_interpreted(compiles: Callable[[Callable[[], object]], bool]) -> None:
    tagger = tagger_of(45)
    assert not compiles(lambda: (tagger.marginals(["1"] * 40), tagger.nbest(["1"] * 40)))


def test_much_to_read_is_worth_compiling(compiles: Callable[[Callable[[], object]], bool]) -> None:
    assert compiles(lambda: jit.prepare(tokens=1_000_000))
    assert not compiles(lambda: jit.prepare(tokens=100))


def test_kernels_stay_interpreted_where_numba_may_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.setattr(_jit, "_options", None)
    monkeypatch.setattr(_jit, "_background", None)
    jit.compile_kernels()
    _jit.compile_in_background()
    assert not jit.compiled()
    assert _jit._background is None
