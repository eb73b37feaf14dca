"""Searches by name inside the learners, and the learners by name: all run, learn, save and tag."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo import Tagger
from sapo.jit.arrays import Floats
from sapo.learn import LEARNERS
from sapo.learn.loop import final_weights, learn, search_of
from sapo.learn.records import DevSet, State
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.chain import SEARCHES, find_candidates
from sapo.search.decoding import tag_corpus
from sapo.search.lattice import make_workspace, path_score
from sapo.training.run import read_data, train_on

ORDER = [0, 2, 1, 3, 2, 0, 3, 1]
NAMES = ["sapo", "crf", "perceptron", "mira", "mira-nbest"]


def test_every_learner_has_an_average_beside_it() -> None:
    assert sorted(LEARNERS) == sorted(["sapo-plain", *NAMES, *(f"{name}-avg" for name in NAMES)])
    for name, learner in LEARNERS.items():
        assert learner.averaged == name.endswith("-avg")
        assert learner.regularized == name.startswith(("sapo", "crf"))


def learned(tiny: Any, seed: int, name: str, **settings: Any) -> tuple[Floats, Floats]:
    corpus = tiny.corpus(seed)
    weights = tiny.weights(seed, corpus)
    weights.prepare(averaged=LEARNERS[name].averaged, l1=False)
    chosen = Settings(rate=0.5, **settings)
    list(LEARNERS[name].run(weights, corpus, np.array(ORDER), 0.5, chosen, np.zeros(20)))
    learned = weights.true_weights()
    features, edges = learned.features, learned.edges
    return features, edges


@pytest.mark.parametrize("search", ["astar", "beam"])
@pytest.mark.parametrize("name", ["sapo", "sapo-avg"])
@pytest.mark.parametrize(("n", "stop_ratio"), [(1, math.inf), (4, math.inf), (4, 3.0), (81, math.inf)])
def test_a_star_and_a_beam_that_holds_all_learn_what_top_n_learns(
    tiny: Any, search: str, name: str, n: int, stop_ratio: float
) -> None:
    corpus = tiny.corpus(21)
    literal = tiny.literal(corpus, tiny.weights(21, corpus))
    for sentence in ORDER:
        literal.sample(sentence, 0.5, Settings(n=n, strength=1.0, stop_ratio=stop_ratio))
    assert n == 81 or literal.narrowest > 1e-4  # no decision is so close that it may fall otherwise
    ours = learned(tiny, 21, name, n=n, stop_ratio=stop_ratio, search=search, width=1000)
    theirs = learned(tiny, 21, name, n=n, stop_ratio=stop_ratio)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-5)


@pytest.mark.parametrize("search", ["astar", "beam"])
@pytest.mark.parametrize("name", ["mira", "mira-nbest-avg"])
def test_mira_learns_the_same_by_every_exact_search(tiny: Any, search: str, name: str) -> None:
    ours = learned(tiny, 21, name, n=4, search=search, width=1000)
    for mine, other in zip(ours, learned(tiny, 21, name, n=4), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-5)


@pytest.mark.parametrize("search", sorted(SEARCHES))
def test_every_search_gives_the_scores_of_its_taggings_also_in_a_long_sentence(search: str) -> None:
    rng = np.random.default_rng(0)
    node, edge = (rng.normal(size=shape).astype(np.float32) for shape in ((100, 3), (1, 3, 3)))
    work = make_workspace(100, 3, 1, 5, 0)
    work.node[:], work.edge[:], work.edge_to[:] = node, edge, edge.transpose(0, 2, 1)
    asked = search_of(Settings(search=search, width=200), n=5, margin=math.inf)
    found = find_candidates(asked, 100, work)
    paths, scores = work.paths, work.scores
    assert found == len({tuple(path) for path in paths.tolist()}) == 5
    expected = [path_score(node, edge, path, 100) for path in paths]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    assert expected == sorted(expected, reverse=True)


@pytest.mark.parametrize("name", ["sapo", "mira", "mira-nbest"])
def test_a_narrow_beam_learns_something_else_than_the_exact_search(tiny: Any, name: str) -> None:
    narrow, exact = (learned(tiny, 22, name, n=3, search=search, width=1) for search in ("beam", "topn"))
    assert np.isfinite(narrow[0]).all()
    assert not np.allclose(narrow[0], exact[0], atol=1e-3)


@pytest.mark.parametrize("name", ["sapo", "mira-nbest"])
def test_a_beam_of_width_1_learns_a_small_corpus(tiny: Any, name: str) -> None:
    corpus = tiny.corpus(23)
    state = State(Weights.zeros(3 + corpus.tokens, 3))
    learn(LEARNERS[name].run, corpus, Settings(search="beam", width=1, strength=0.1, rate=0.5, epochs=30), state)
    found = tag_corpus(corpus, final_weights(state))
    assert (found == corpus.gold).mean() >= 0.9
    assert state.history[-1].objective < state.history[0].objective


@pytest.mark.parametrize("labels", [45, 200])
@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_learner_lowers_its_objective_with_many_labels(tiny: Any, name: str, labels: int) -> None:
    corpus = tiny.corpus(24, lengths=(2, 1, 3), labels=labels)
    learner = LEARNERS[name]
    state = State(Weights.zeros(3 + corpus.tokens, labels, averaged=learner.averaged))
    penalty: dict[str, Any] = {} if learner.regularized else {"regularizer": "none", "strength": 0.0}
    learn(learner.run, corpus, Settings(rate=0.5, epochs=2, tolerance=0.0, **penalty), state)
    first, last = state.history[0], state.history[-1]
    assert last.objective < first.objective
    assert last.accuracy > first.accuracy
    learned = final_weights(state)
    features, edges = learned.features, learned.edges
    assert np.isfinite(features).all()
    assert edges.any()


@pytest.mark.usefixtures("same_kernels")
@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_learner_trains_saves_and_tags(name: str, tmp_path: Path) -> None:
    pairs = [
        (["the", "cat", "runs"], ["DT", "NN", "VB"]),
        (["a", "dog", "sees", "the", "cat"], ["DT", "NN", "VB", "DT", "NN"]),
        (["dogs", "run"], ["NN", "VB"]),
    ]
    template = tmp_path / "template"
    template.write_text("word[0]\nsuffix(word, 1)\nlabel[-1]\n")
    prepared = read_data(pairs, dev=pairs, template=template)
    assert isinstance(prepared.dev, DevSet)
    outcome = train_on(prepared, Settings(epochs=8, rate=0.5, seed=1), learner=name)
    path = tmp_path / "model"
    outcome.tagger.save(path)
    loaded = Tagger.load(path)
    assert [loaded.tag(tokens) for tokens, _ in pairs] == [tags for _, tags in pairs]
    assert loaded.tag(["the", "dog", "runs"]) == ["DT", "NN", "VB"]
    assert outcome.history[-1].objective < outcome.history[0].objective
    record = loaded.model.record
    assert record["learner"] == name
    assert record["settings"]["regularizer"] == ("l2" if LEARNERS[name].regularized else "none")
    assert json.loads(json.dumps(record["history"])) == record["history"]
