"""A temperature is fitted where the gold tags are likeliest, and what is measured is what it says."""

import dataclasses
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapo
from sapo import Tagger
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.search.marginals import distribution
from sapo.search.topn import viterbi
from sapo.tagger.decoding import lattices, learned_tags
from sapo.tags.spans import loose_spans
from sapo.training.calibration import LOSSES, calibrate, log_doubts, lowest, measure, smoothed
from sapo.training.run import train

Pairs = list[tuple[list[str], list[str]]]
WORDS = ["a", "dog", "the", "cat", "go", "new"]


@pytest.fixture(scope="module")
def small() -> Tagger:
    pairs = [(["a", "dog"], ["B-X", "I-X"]), (["the", "cat"], ["O", "B-X"]), (["go"], ["O"])]
    return train(pairs, template="pos", epochs=4, constraints=False, rate=0.1, strength=1.0, average=0.0, piece=0)


def drawn(tagger: Tagger, temperature: float, sentences: int) -> Pairs:
    """Sentences whose tags are drawn with the probabilities that the tagger has at this temperature."""
    rng = np.random.default_rng(3)
    warm = Tagger(dataclasses.replace(tagger.model, temperature=temperature))
    pairs = []
    for _ in range(sentences):
        words = rng.choice(WORDS, 3).tolist()
        taggings = warm.nbest(words, 27)
        pairs.append((words, taggings[rng.choice(27, p=[one.p_k for one in taggings])].tags))
    return pairs


@pytest.mark.parametrize("by", LOSSES)
@pytest.mark.parametrize("temperature", [0.3, 2.0])
def test_the_temperature_of_the_data_is_found(small: Tagger, by: str, temperature: float) -> None:
    found = calibrate(small, drawn(small, temperature, 400), by=by).model.temperature
    assert found == pytest.approx(temperature, rel=0.15)


@pytest.mark.parametrize("by", LOSSES)
def test_nearby_temperatures_are_worse(small: Tagger, by: str) -> None:
    pairs = drawn(small, 1.5, 40)

    def losses(temperature: float) -> tuple[float, float]:
        """The loss of the gold tags, and with the two tokens that are added."""
        total, doubts = 0.0, []
        for lattice, (_, gold) in zip(lattices(small.model, (words for words, _ in pairs)), pairs, strict=True):
            whole = distribution(lattice.tempered(temperature))
            total += LOSSES[by](whole, gold, small.model) or 0.0
            doubts.append(log_doubts(whole.log_marginal(), viterbi(lattice).paths[0]))
        return total, smoothed(total, doubts)

    best = calibrate(small, pairs, by=by).model.temperature
    assert losses(best)[1] < min(losses(0.97 * best)[1], losses(1.03 * best)[1])
    tried: dict[float, float] = {}
    calibrate(small, pairs, by=by, watch=lambda temperature, each: tried.update({temperature: each}))
    assert tried[1.0] == pytest.approx(losses(1.0)[0] / len(pairs))
    assert list(tried)[-1] == pytest.approx(best)
    # where it begins makes no difference
    warm = Tagger(dataclasses.replace(small.model, temperature=30.0))
    assert calibrate(warm, pairs, by=by).model.temperature == pytest.approx(best, rel=2e-3)


@given(st.floats(-10, 10), st.floats(-3, 3), st.sampled_from([0.5, 1.0, 2.0]))
@settings(deadline=None)
def test_the_bottom_of_a_valley_is_found_from_anywhere(bottom: float, start: float, power: float) -> None:
    assert lowest(lambda x: abs(x - bottom) ** (2 * power), start) == pytest.approx(bottom, abs=2e-3)


@pytest.mark.parametrize("function", [lambda x: x, lambda x: -x, lambda x: 0.0, lambda x: max(x, 0.0)])
def test_where_there_is_no_bottom_none_is_found(function: object) -> None:
    assert lowest(function, 1.0) is None  # type: ignore[arg-type]


def test_tags_stay_and_a_second_time_changes_nothing(small: Tagger) -> None:
    pairs = drawn(small, 3.0, 60)
    warm = calibrate(small, pairs)
    sentences = [words for words, _ in pairs]
    assert warm.tag_many(sentences) == small.tag_many(sentences)
    assert small.model.temperature == 1.0
    assert calibrate(warm, pairs).model.temperature == pytest.approx(warm.model.temperature, rel=2e-3)


@pytest.mark.parametrize("by", LOSSES)
def test_labels_and_taggings_that_the_model_cannot_give_are_left_out(small: Tagger, by: str) -> None:
    pairs = drawn(small, 2.0, 60)
    strange = [(["a"], ["B-STRANGE"]), (["go"], ["?"])]
    assert (
        calibrate(small, pairs + strange, by=by).model.temperature == calibrate(small, pairs, by=by).model.temperature
    )


@pytest.mark.parametrize("by", LOSSES)
def test_gold_tags_that_are_forbidden_do_not_decide(small: Tagger, by: str) -> None:
    bans = small.model.parameters.bans.copy()
    o, inside = small.labels.index("O"), small.labels.index("I-X")
    bans[o, inside] = -np.inf
    parameters = dataclasses.replace(small.model.parameters, bans=bans)
    strict = Tagger(dataclasses.replace(small.model, parameters=parameters))
    pairs = [pair for pair in drawn(small, 2.0, 100) if ("O", "I-X") not in itertools.pairwise(pair[1])]
    forbidden = [(["the", "cat"], ["O", "I-X"])]
    without, with_it = (calibrate(strict, data, by=by).model.temperature for data in (pairs, pairs + forbidden))
    assert with_it == pytest.approx(without, rel=0.05)


def with_errors(sentences: int, errors: int) -> list[tuple[list[list[str]], list[str]]]:
    """Sentences of one token, which is B rather than A in some of them."""
    return [([["a"]], ["B" if number < errors else "A"]) for number in range(sentences)]


@pytest.mark.parametrize("by", LOSSES)
@pytest.mark.parametrize("start", [0.001, 1.0, 50.0])
@pytest.mark.parametrize("errors", [0, 1, 5])
def test_few_errors_do_not_make_the_tagger_surer_than_they_allow(by: str, start: float, errors: int) -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)
    tagger = Tagger(dataclasses.replace(tagger.model, temperature=start))
    said: list[str] = []
    fitted = calibrate(tagger, with_errors(300, errors), by=by, say=said.append)
    assert fitted.marginals([["a"]])[0]["B"] == pytest.approx((errors + 1) / 302, rel=0.02)
    (note,) = said
    wrong = {0: "no errors", 1: "only 1 error", 5: "only 5 errors"}[errors]
    held = f"temperature held at {fitted.model.temperature:.4g}, as if there were {errors + 1}; "
    assert note.startswith(f"{wrong} among 300 tokens: {held}")
    assert fitted.model.record["calibration"]["errors"] == errors


def test_many_errors_decide_alone(small: Tagger) -> None:
    pairs = drawn(small, 1.5, 900)
    said: list[str] = []
    tried: dict[float, float] = {}
    fitted = calibrate(small, pairs, say=said.append, watch=lambda one, loss: tried.update({one: loss}))
    assert fitted.model.record["calibration"]["errors"] > 300
    assert not said
    alone = min(tried, key=lambda one: tried[one])  # without the two tokens that are added
    assert fitted.model.temperature == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize("by", LOSSES)
def test_no_loss_is_negative(small: Tagger, by: str) -> None:
    pairs = [(words, small.tag(words)) for words, _ in drawn(small, 1.0, 60)]
    for temperature in np.geomspace(1e-4, 1e4, 30).tolist():
        for lattice, (_, gold) in zip(lattices(small.model, (words for words, _ in pairs)), pairs, strict=True):
            loss = LOSSES[by](distribution(lattice.tempered(temperature)), gold, small.model)
            assert loss is not None
            assert loss >= 0
            assert math.copysign(1, loss) == 1  # nor is it printed as -0.0000


def test_sentences_of_errors_alone_have_no_best_temperature() -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)
    with pytest.raises(SapoError, match="no temperature is best for these 20 sentences, because the tagger gets every"):
        calibrate(tagger, with_errors(20, 20))


def test_mistakes_of_the_user_are_told(small: Tagger) -> None:
    with pytest.raises(SapoError, match="unknown likelihood 'token'; did you mean 'tokens'"):
        calibrate(small, [(["a"], ["O"])], by="token")
    with pytest.raises(SapoError, match="no such file"):
        calibrate(small, "no-such-file.txt")
    with pytest.raises(SapoError, match="the data has no tokens"):
        calibrate(small, [])
    with pytest.raises(SapoError, match="n must be at least 1, not 0"):
        measure(small, [(["a"], ["O"])], n=0)


def test_ready_made_features_can_be_calibrated() -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)
    doubtful = [([["a"]], ["A"])] * 3 + [([["a"]], ["B"]), ([["b"]], ["B"])]
    warm = calibrate(tagger, doubtful)
    assert warm.marginals([["a"]])[0]["A"] == pytest.approx(0.75, abs=0.15)
    assert measure(warm, doubtful).exact["tokens"].accuracy == 0.8


def test_what_is_measured_are_the_probabilities_that_the_tagger_gives(small: Tagger) -> None:
    pairs = drawn(small, 1.0, 50)
    found = measure(small, pairs, n=3, bins=1)
    shares: dict[str, list[float]] = {name: [] for name in found.rows()}
    for words, _ in pairs:
        tags, best = small.tag(words), small.nbest(words, 3)
        for position, tag in enumerate(tags):
            shares["tokens, all taggings"].append(small.marginals(words)[position][tag])
            shares["tokens, top 3"].append(sum(one.p_k for one in best if one.tags[position] == tag))
        spans = small.spans(words)
        shares["spans, all taggings"] += [span.probability for span in spans]
        for span in spans:
            one = (span.start, span.end, span.type)
            shares["spans, top 3"].append(
                sum(
                    tagging.p_k
                    for tagging in best
                    if one in [(s.start, s.end, s.type) for s in loose_spans(tagging.tags)]
                )
            )
        shares["sentences, all taggings"].append(best[0].probability)
        shares["sentences, top 3"].append(best[0].p_k)
    for name, row in found.rows().items():
        assert row.count == len(shares[name])
        assert row.confidence == pytest.approx(np.mean(shares[name])), name
    right = [small.tag(words) == gold for words, gold in pairs]
    assert found.exact["sentences"].accuracy == pytest.approx(np.mean(right))


def test_labels_without_spans_are_measured_by_tokens_and_sentences() -> None:
    tagger = train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=1)
    found = measure(tagger, [(["a", "dog"], ["DT", "NN"])])
    assert list(found.exact) == list(found.top_n) == ["tokens", "sentences"]


def test_a_file_and_its_sentences_give_the_same(tmp_path: Path) -> None:
    sentences = list(itertools.islice(sapo.read(sample_path("train"), columns=COLUMNS, label="chunk"), 150))
    pairs = [
        (list(zip(one.columns["word"], one.columns["pos"], strict=True)), list(one.tags or ())) for one in sentences
    ]
    path = tmp_path / "dev.txt"
    path.write_text(
        "".join(
            "".join(f"{word} {pos} {tag}\n" for (word, pos), tag in zip(tokens, tags, strict=True)) + "\n"
            for tokens, tags in pairs[100:]
        )
    )
    tagger = train(pairs[:100], template="chunking", epochs=3)
    warm = calibrate(tagger, path)
    assert warm.model.temperature == calibrate(tagger, pairs[100:]).model.temperature
    assert measure(warm, path) == measure(warm, pairs[100:])
    before, after = measure(tagger, path), measure(warm, path)
    assert after.exact["tokens"].ece < before.exact["tokens"].ece
    assert math.isclose(after.exact["tokens"].accuracy, before.exact["tokens"].accuracy)
    told: list[int] = []
    measure(warm, path, watch=told.append)
    assert told == [len(tags) for _, tags in pairs[100:]]


def test_tokens_of_a_model_that_learns_bioes_are_judged_by_the_tags_it_shows() -> None:
    pairs = [(["a", "big", "dog"], ["B-X", "I-X", "I-X"]), (["go"], ["O"]), (["a", "cat"], ["B-X", "I-X"])] * 5
    tagger = train(pairs, template="pos", epochs=2, scheme="bioes")
    wanted = [(["a", "big", "big", "dog"], ["B-X", "I-X", "O", "B-X"])]
    shown = tagger.tag(wanted[0][0])
    right = sum(one == other for one, other in zip(shown, wanted[0][1], strict=True)) / 4
    assert measure(tagger, wanted).exact["tokens"].accuracy == pytest.approx(right)


def test_a_model_that_learns_bioes_is_calibrated_by_the_tags_it_shows() -> None:
    pairs = [(["a", "big", "dog"], ["B-X", "I-X", "I-X"]), (["go"], ["O"]), (["dog"], ["B-X"])] * 5
    tagger = train(pairs, template="pos", epochs=2, scheme="bioes")
    dev = [(["a", "big", "cat"], ["B-X", "I-X", "I-X"]), (["a", "go"], ["B-X", "I-X"]), (["go", "dog"], ["O", "B-X"])]
    assert tagger.model.labels != tagger.labels

    def loss(temperature: float) -> float:
        warm = Tagger(dataclasses.replace(tagger.model, temperature=temperature))
        shares = [(warm.marginals(words), tags) for words, tags in dev]
        return -sum(
            math.log(of_token[tag]) for marginals, tags in shares for of_token, tag in zip(marginals, tags, strict=True)
        )

    tried: dict[float, float] = {}
    best = calibrate(tagger, dev, watch=lambda temperature, each: tried.update({temperature: each}))
    for temperature, each in tried.items():
        if 0.01 < temperature < 100:  # beyond, probabilities are too small for a number
            assert each == pytest.approx(loss(temperature) / len(dev), rel=1e-4)
    assert loss(best.model.temperature) == pytest.approx(min(map(loss, tried)), rel=0.02)


def test_a_gold_tag_that_is_learned_in_two_ways_and_met_in_one_is_not_left_out() -> None:
    tagger = train([(["a", "dog"], ["B-X", "I-X"]), (["go"], ["O"])] * 3, template="pos", epochs=2, scheme="bioes")
    assert "S-X" not in tagger.model.labels
    ((lattice, gold),) = zip(lattices(tagger.model, [["a"]]), [learned_tags(tagger.model, ["B-X"])], strict=True)
    assert gold == ["S-X"]
    assert (LOSSES["tokens"](distribution(lattice), gold, tagger.model) or 0) > 0
    assert measure(tagger, [(["a", "dog"], ["B-X", "B-X"])]).exact["tokens"].accuracy == 0.5
