"""Let SAPO run towards the optimum of a small problem, and measure on the way all that Theorem 1 speaks of."""

import itertools
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from laboratory.setup import Say
from laboratory.theory.bound import Constants
from laboratory.theory.optimum import Optimum, largest_curvature, minimize
from laboratory.theory.problem import Problem
from sapo.corpus.blocks import Sentence
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.features.encoded import EncodedCorpus
from sapo.jit.arrays import Doubles
from sapo.learn import LEARNERS
from sapo.learn.settings import Settings
from sapo.learn.weights import Weights
from sapo.search.decoding import tag_corpus
from sapo.training.run import read_data

FEATURES = "pos[-1]\npos\npos[1]\nlabel[-1]\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """How large the problem is, and how long SAPO runs."""

    sentences: int = 100
    tokens: int | None = None  # of a sentence, at most
    strength: float = 10.0  # λ; c is λ / sentences
    rate: float = 0.002  # γ, fixed
    updates: int = 30_000
    moments: int = 10  # at which is measured, besides the beginning
    sizes: tuple[int, ...] = (1, 5, 20, 100)
    seeds: int = 2

    @property
    def title(self) -> str:
        what = "whole sentences" if self.tokens is None else f"first {self.tokens} tokens"
        return f"{what}, λ = {self.strength:g}"


# A strong regularizer makes c large, which the bound needs; a weak one is what is used in practice.
FULL = (
    Plan(),
    Plan(tokens=3),
    Plan(strength=1.0, rate=0.01, updates=60_000, seeds=1),
    Plan(strength=0.1, rate=0.01, updates=60_000, seeds=1),
)
SMALL = tuple(
    Plan(sentences=6, tokens=tokens, strength=2.0, rate=0.01, updates=300, moments=4, sizes=sizes, seeds=1)
    for tokens, sizes in ((None, (1, 5)), (2, (1, 20)))
)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What SAPO with one n has reached at the moments t. The terms of equation (7) are those of seed 0."""

    n: int  # 0: all taggings, the stochastic gradient itself
    t: list[int]
    excess: list[float]  # f(w_t) - f(w*), mean over seeds
    error: list[float]  # [∇f(w) - s(w)]ᵀ(w - w*), of equation (7)
    progress: list[float]  # (w - w*)ᵀ s(w)
    needed: list[float]  # c/2 ‖w - w*‖²: the progress that the proof builds on, less the error
    longest: float  # the largest ‖s_z(w)‖ met
    update: list[float]  # ‖s(w)‖ at the beginning and at the end
    gradient: list[float]  # ‖∇f(w)‖ at the same
    accuracy: float  # of the last w: the share of training tokens that it tags right


@dataclass(frozen=True, slots=True)
class Study:
    """All trajectories on one problem, and its constants."""

    plan: Plan
    optimum: Optimum
    accuracy: float  # of w*
    c: float
    q: float
    a_0: float
    trajectories: list[Trajectory]

    def constants(self, trajectory: Trajectory) -> Constants:
        return Constants(c=self.c, q=self.q, kappa=trajectory.longest, tau=max(0.0, *trajectory.error), a_0=self.a_0)


def small_problem(plan: Plan) -> Problem:
    """Return chunking of the sample's first sentences, with parts of speech as the only features."""
    with tempfile.TemporaryDirectory() as room:
        template = Path(room) / "small.txt"
        template.write_text(FEATURES)
        sample = itertools.islice(read(sample_path("train"), columns=COLUMNS, label="chunk"), plan.sentences)
        prepared = read_data([_cut(sentence, plan.tokens) for sentence in sample], template=template)
    return Problem(prepared.corpus, prepared.encoder.features, len(prepared.labels), plan.strength)


def _cut(sentence: Sentence, tokens: int | None) -> Sentence:
    columns = {name: values[:tokens] for name, values in sentence.columns.items()}
    return Sentence(columns, None if sentence.tags is None else sentence.tags[:tokens])


def study_convergence(plan: Plan, say: Say) -> Study:
    """Find the optimum, then run SAPO from w = 0 for each n."""
    problem = small_problem(plan)
    optimum = minimize(problem.value, problem.zero())
    say = _about(plan, say)
    say(f"optimum found in {optimum.iterations} steps, gradient norm {optimum.gradient_norm:.1e}")
    trajectories = []
    curvature = [largest_curvature(problem.value, w) for w in (problem.zero(), optimum.w / 2, optimum.w)]
    for n in (*plan.sizes, 0):
        trajectory = _trajectory(problem, plan, optimum, n)
        first, *_, last = trajectory.excess
        say(f"n = {n or 'all'}: {first:.3g} above the optimum at first, {last:.3g} at the end")
        trajectories.append(trajectory)
    accuracy = _accuracy(problem, optimum.w)
    return Study(plan, optimum, accuracy, problem.modulus, max(curvature), float(optimum.w @ optimum.w), trajectories)


def _about(plan: Plan, say: Say) -> Say:
    return lambda message: say(f"{plan.title}: {message}")


def _accuracy(problem: Problem, w: Doubles) -> float:
    return float((tag_corpus(problem.corpus, problem.parameters(w)) == problem.corpus.gold).mean())


def moments(plan: Plan) -> list[int]:
    """Return 0, and numbers of updates evenly spaced on a log scale."""
    spaced = np.geomspace(max(1, plan.updates // 3000), plan.updates, plan.moments)
    return [0, *dict.fromkeys(round(t) for t in spaced.tolist())]


def _trajectory(problem: Problem, plan: Plan, optimum: Optimum, n: int) -> Trajectory:
    times = moments(plan)
    excess = np.zeros(len(times))
    error, progress, needed, norms = [], [], [], []
    longest = accuracy = 0.0
    for seed in range(plan.seeds):
        for at, w in enumerate(_weights(problem, plan, n, seed, times)):
            excess[at] += (problem.value(w)[0] - optimum.value) / plan.seeds
            if seed == 0:
                found = problem.expected(w, (n or 1,))
                s = found.updates[0] if n else found.gradient
                apart = w - optimum.w
                norms.append((float(np.linalg.norm(s)), float(np.linalg.norm(found.gradient))))
                error.append(float((found.gradient - s) @ apart))
                progress.append(float(s @ apart))
                needed.append(problem.modulus / 2 * float(apart @ apart))
                longest = max(longest, float(found.longest[0]))
                accuracy = _accuracy(problem, w)
    update, gradient = ([norm[at] for norm in (norms[0], norms[-1])] for at in (0, 1))
    return Trajectory(n, times, excess.tolist(), error, progress, needed, longest, update, gradient, accuracy)


def _weights(problem: Problem, plan: Plan, n: int, seed: int, times: list[int]) -> list[Doubles]:
    """Return w_t at these times: Algorithm 1 with a fixed rate, samples drawn with replacement."""
    corpus: EncodedCorpus = problem.corpus
    weights = Weights.zeros(problem.features, problem.labels)
    settings = Settings(n=n or 1, strength=plan.strength)
    run = LEARNERS["sapo" if n else "crf"].run
    order = np.random.default_rng(seed).integers(corpus.sentences, size=times[-1])
    found = [problem.zero()]
    for begin, end in itertools.pairwise(times):
        for _ in run(weights, corpus, order[begin:end], plan.rate, settings, np.zeros(20)):
            pass
        now = weights.current()
        found.append(np.concatenate([now.features.ravel(), now.edges.ravel()]).astype(np.float64))
    return found
