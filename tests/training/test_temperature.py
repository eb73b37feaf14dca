"""A temperature makes a tagger expect as many errors as it makes, and what is measured is what it says."""

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
from sapo.tagger.decoding import learned_tags
from sapo.tags.spans import loose_spans
from sapo.training.calibration import KINDS, calibrate, measure, where_equal
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


@pytest.mark.parametrize("by", KINDS)
@pytest.mark.parametrize("temperature", [0.3, 1.5])
def test_the_temperature_of_the_data_is_found(small: Tagger, by: str, temperature: float) -> None:
    found = calibrate(small, drawn(small, temperature, 1000), by=by).model.temperature
    assert found == pytest.approx(temperature, rel=0.2)


@pytest.mark.parametrize("by", KINDS)
def test_the_tagger_expects_as_many_errors_as_it_makes(small: Tagger, by: str) -> None:
    pairs = drawn(small, 1.5, 200)
    tried: dict[float, float] = {}
    fitted = calibrate(small, pairs, by=by, watch=lambda temperature, share: tried.update({temperature: share}))
    found = measure(fitted, pairs).exact[by]
    assert found.confidence == pytest.approx(found.accuracy, abs=0.01)
    assert list(tried)[-1] == pytest.approx(fitted.model.temperature)
    assert list(tried.values())[-1] == pytest.approx(1 - found.confidence)
    # where it begins makes no difference
    warm = Tagger(dataclasses.replace(small.model, temperature=30.0))
    assert calibrate(warm, pairs, by=by).model.temperature == fitted.model.temperature


def test_spans_are_counted_unless_there_are_next_to_none(small: Tagger) -> None:
    pairs = drawn(small, 1.5, 200)
    assert calibrate(small, pairs).model.temperature == calibrate(small, pairs, by="spans").model.temperature
    few = [(words, small.tag(words)) for words in (["go"], ["the", "go"], ["a", "dog"])]
    assert calibrate(small, few).model.record["calibration"]["by"] == "tokens"
    tags = train([(["a", "dog"], ["DT", "NN"]), (["a", "run"], ["DT", "NN"])], template="pos", epochs=3)
    assert calibrate(tags, [(["a", "dog"], ["DT", "NN"])] * 2).model.record["calibration"]["by"] == "tokens"
    with pytest.raises(SapoError, match="by: the labels of the model mark no spans; use tokens or sentences"):
        calibrate(tags, [(["a", "dog"], ["DT", "NN"])], by="spans")


@given(st.floats(-10, 10), st.floats(-3, 3), st.sampled_from([0.5, 1.0, 5.0]))
@settings(deadline=None)
def test_where_a_rising_function_has_a_value_is_found_from_anywhere(place: float, start: float, steep: float) -> None:
    def rising(x: float) -> float:
        return 1 / (1 + math.exp(-steep * (x - place)))

    found = where_equal(rising, 0.25, start)
    assert found is not None
    assert rising(found) == pytest.approx(0.25, rel=0.006)


@pytest.mark.parametrize("function", [lambda x: 0.0, lambda x: 1.0, lambda x: 1 / (3 + math.exp(-x))])
def test_where_there_is_no_such_value_none_is_found(function: object) -> None:
    assert where_equal(function, 0.5, 1.0) is None  # type: ignore[arg-type]


def test_tags_stay_and_a_second_time_changes_nothing(small: Tagger) -> None:
    pairs = drawn(small, 3.0, 60)
    warm = calibrate(small, pairs)
    sentences = [words for words, _ in pairs]
    assert warm.tag_many(sentences) == small.tag_many(sentences)
    assert small.model.temperature == 1.0
    assert calibrate(warm, pairs).model.temperature == pytest.approx(warm.model.temperature, rel=2e-3)


def test_a_label_that_the_model_does_not_know_is_an_error(small: Tagger) -> None:
    pairs = drawn(small, 2.0, 60)
    strange = [(["a"], ["B-STRANGE"]), (["go"], ["?"])]
    fitted = [calibrate(small, data, by="tokens") for data in (pairs, pairs + strange)]
    without, with_them = (one.model.record["calibration"]["errors"] for one in fitted)
    assert with_them == without + 2


def test_gold_tags_that_are_forbidden_are_errors(small: Tagger) -> None:
    bans = small.model.parameters.bans.copy()
    o, inside = small.labels.index("O"), small.labels.index("I-X")
    bans[o, inside] = -np.inf
    parameters = dataclasses.replace(small.model.parameters, bans=bans)
    strict = Tagger(dataclasses.replace(small.model, parameters=parameters))
    pairs = [pair for pair in drawn(small, 2.0, 100) if ("O", "I-X") not in itertools.pairwise(pair[1])]
    forbidden = [(["the", "cat"], ["O", "I-X"])]
    without, with_it = (calibrate(strict, data, by="tokens").model.temperature for data in (pairs, pairs + forbidden))
    assert without <= with_it < 1.1 * without


def with_errors(sentences: int, errors: int) -> list[tuple[list[list[str]], list[str]]]:
    """Sentences of one token, which is B rather than A in some of them."""
    return [([["a"]], ["B" if number < errors else "A"]) for number in range(sentences)]


def taught() -> Tagger:
    return train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)


@pytest.mark.parametrize("by", ["tokens", "sentences"])
@pytest.mark.parametrize("start", [0.001, 1.0, 50.0])
@pytest.mark.parametrize("errors", [0, 1, 5])
def test_few_errors_do_not_make_the_tagger_surer_than_they_allow(by: str, start: float, errors: int) -> None:
    tagger = taught()
    as_trained = tagger.marginals([["a"]])[0]["B"]
    assert as_trained > 30 / 1002
    said: list[str] = []
    started = Tagger(dataclasses.replace(tagger.model, temperature=start))
    fitted = calibrate(started, with_errors(1000, errors), by=by, say=said.append)
    assert fitted.marginals([["a"]])[0]["B"] == pytest.approx(30 / 1002, rel=0.02)  # as if there were 30
    (note,) = said
    assert note.startswith(f"{errors} of 1,000 {by} wrong: too few errors to make the tagger much surer; ")
    assert fitted.model.record["calibration"]["errors"] == errors
    few = calibrate(started, with_errors(30, errors), by=by)
    assert few.model.temperature == 1.0  # 30 errors would be more than it expects: as trained


@pytest.mark.parametrize("errors", [0, 1, 5])
def test_few_errors_are_enough_to_make_a_tagger_less_sure(errors: int) -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3, rate=50.0, strength=0.0)
    assert tagger.marginals([["a"]])[0]["B"] < 1e-4
    fitted = calibrate(tagger, with_errors(300, errors))
    assert fitted.marginals([["a"]])[0]["B"] == pytest.approx((errors + 1) / 302, rel=0.02)


def test_many_errors_decide_alone() -> None:
    said: list[str] = []
    fitted = calibrate(taught(), with_errors(1000, 40), say=said.append)
    assert fitted.marginals([["a"]])[0]["B"] == pytest.approx(41 / 1002, rel=0.02)
    assert not said


def test_sentences_of_errors_alone_have_no_best_temperature() -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)
    with pytest.raises(SapoError, match="no temperature fits these 20 sentences, because the tagger gets every"):
        calibrate(tagger, with_errors(20, 20))


def test_mistakes_of_the_user_are_told(small: Tagger) -> None:
    with pytest.raises(SapoError, match="not 'token'; did you mean 'tokens'"):
        calibrate(small, [(["a"], ["O"])], by="token")
    with pytest.raises(SapoError, match="no such file"):
        calibrate(small, "no-such-file.txt")
    with pytest.raises(SapoError, match="the data has no tokens"):
        calibrate(small, [])
    with pytest.raises(SapoError, match="n must be at least 1, not 0"):
        measure(small, [(["a"], ["O"])], n=0)


def test_ready_made_features_can_be_calibrated() -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)
    doubtful = [([["a"]], ["A"])] * 300 + [([["a"]], ["B"]), ([["b"]], ["B"])] * 100
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
    after = measure(warm, path).exact["spans"]
    assert after.confidence == pytest.approx(after.accuracy, abs=0.02)
    assert after.accuracy == measure(tagger, path).exact["spans"].accuracy
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

    def expected(temperature: float) -> float:
        warm = Tagger(dataclasses.replace(tagger.model, temperature=temperature))
        marginals = [token for words, _ in dev for token in warm.marginals(words)]
        tags = [tag for words, _ in dev for tag in tagger.tag(words)]
        return 1 - sum(token[tag] for token, tag in zip(marginals, tags, strict=True)) / len(tags)

    tried: dict[float, float] = {}
    calibrate(tagger, dev, by="tokens", watch=lambda temperature, share: tried.update({temperature: share}))
    assert tried == {temperature: pytest.approx(expected(temperature), abs=1e-5) for temperature in tried}


def test_a_gold_tag_that_is_learned_in_two_ways_and_met_in_one_is_not_left_out() -> None:
    tagger = train([(["a", "dog"], ["B-X", "I-X"]), (["go"], ["O"])] * 3, template="pos", epochs=2, scheme="bioes")
    assert "S-X" not in tagger.model.labels
    assert learned_tags(tagger.model, ["B-X"]) == ["S-X"]
    assert measure(tagger, [(["a", "dog"], ["B-X", "B-X"])]).exact["tokens"].accuracy == 0.5
