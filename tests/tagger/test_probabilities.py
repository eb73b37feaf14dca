"""The probabilities that a tagger gives: each is what its name says, and those that belong together agree."""

import dataclasses
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import sapo
from sapo import Sentence, Tagger
from sapo.corpus.annotations import RankedTagging
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.search.marginals import distribution
from sapo.tagger import decoding
from sapo.tagger.decoding import Output, best_taggings, tag_blocks
from sapo.tagger.files import read_blocks
from sapo.training.run import train

Text = list[list[tuple[str, str]]]


def tokens(sentence: Sentence) -> list[tuple[str, str]]:
    return list(zip(sentence.columns["word"], sentence.columns["pos"], strict=True))


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    """A chunker, trained on some of the bundled sample, with edge features too."""
    sentences = itertools.islice(sapo.read(sample_path("train"), columns=COLUMNS, label="chunk"), 120)
    return train([(tokens(one), one.tags or ()) for one in sentences], template="chunking", epochs=4)


@pytest.fixture(scope="module")
def text() -> Text:
    sentences = itertools.islice(sapo.read(sample_path("test"), columns=COLUMNS, label="chunk"), 30)
    return [tokens(sentence) for sentence in sentences]


@pytest.fixture(scope="module")
def small() -> Tagger:
    pairs = [(["a", "dog"], ["B-X", "I-X"]), (["the", "cat"], ["O", "B-X"]), (["go"], ["O"])]
    return train(pairs, template="pos", epochs=2, constraints=False)


def at_temperature(tagger: Tagger, temperature: float) -> Tagger:
    return Tagger(dataclasses.replace(tagger.model, temperature=temperature))


@pytest.mark.parametrize("temperature", [1.0, 0.5, 4.0])
def test_of_all_taggings_of_a_sentence_both_kinds_of_probability_are_the_same(
    small: Tagger, temperature: float
) -> None:
    sentence = ["a", "dog", "go"]
    warm = at_temperature(small, temperature)
    found = warm.nbest(sentence, 27)
    assert len(found) == 27
    assert sum(one.p_k for one in found) == pytest.approx(1.0, abs=1e-6)
    for one in found:
        assert one.probability == pytest.approx(one.p_k, abs=1e-6)
        assert one.score == pytest.approx(found[0].score + temperature * math.log(one.p_k / found[0].p_k))
    exact = warm.marginals(sentence)
    for position in range(3):
        for label in small.labels:
            total = sum(one.probability for one in found if one.tags[position] == label)
            assert exact[position][label] == pytest.approx(total, abs=1e-6)
    starts = sum(one.probability for one in found if one.tags[0] == "B-X" and one.tags[1] != "I-X")
    starts += sum(one.probability for one in found if one.tags[0] == "I-X" and one.tags[1] != "I-X")
    assert warm.probability(sentence, span=(0, 1, "X")) == pytest.approx(starts, abs=1e-6)


def test_p_k_is_the_share_of_a_tagging_in_the_probability_of_the_n_best(tagger: Tagger, text: Text) -> None:
    for sentence in text[:10]:
        found = tagger.nbest(sentence, 5)
        mass = sum(one.probability for one in found)
        assert 0 < mass < 1
        for one in found:
            assert one.probability == pytest.approx(one.p_k * mass, abs=1e-5)


def test_arrays_of_many_sentences_have_the_marginals_of_each(tagger: Tagger, text: Text) -> None:
    arrays = tagger.marginal_arrays(text)
    assert len(arrays) == len(text)
    for sentence, array in zip(text, arrays, strict=True):
        assert array.shape == (len(sentence), len(tagger.labels))
        assert array.sum(axis=1) == pytest.approx(1.0)
        assert tagger.marginals(sentence) == [dict(zip(tagger.labels, row, strict=True)) for row in array.tolist()]


def test_spans_are_those_of_the_best_tagging(tagger: Tagger, text: Text) -> None:
    for sentence in text:
        found = tagger.spans(sentence)
        tags = tagger.tag(sentence)
        assert sum(tag.startswith("B-") for tag in tags) <= len(found)
        marginal = tagger.marginals(sentence)
        for span in found:
            assert tags[span.start].endswith(f"-{span.type}")
            assert span.probability == tagger.probability(sentence, span=span[:3])
            # no span is likelier than that its tokens have its type
            for position in range(span.start, span.end):
                of_type = sum(share for label, share in marginal[position].items() if label.endswith(f"-{span.type}"))
                assert 0 < span.probability <= of_type + 1e-9


def test_a_temperature_changes_probabilities_and_nothing_else(tagger: Tagger, text: Text) -> None:
    warm = at_temperature(tagger, 3.0)
    assert warm.tag_many(text) == tagger.tag_many(text)
    for sentence in text[:5]:
        cold, flat = tagger.nbest(sentence, 5), warm.nbest(sentence, 5)
        assert [(one.tags, one.score) for one in cold] == [(one.tags, one.score) for one in flat]
        assert flat[0].p_k < cold[0].p_k
        assert flat[0].probability < cold[0].probability
        for a, b in zip(tagger.spans(sentence), warm.spans(sentence), strict=True):
            assert (a.start, a.end, a.type) == (b.start, b.end, b.type)


def test_an_empty_sentence_has_neither_marginals_nor_spans(small: Tagger) -> None:
    assert (small.marginals([]), small.spans([])) == ([], [])


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (0, 0), (1, 1), (2, 1), (0, 3)])
def test_a_span_out_of_the_sentence_is_told(small: Tagger, start: int, end: int) -> None:
    with pytest.raises(SapoError, match=f"span {start}:{end} is not in the sentence; it has 2 tokens"):
        small.probability(["a", "dog"], span=(start, end, "X"))


def test_labels_that_mark_no_spans_are_told() -> None:
    tagger = train([(["a", "dog"], ["DT", "NN"])], template="pos", epochs=1)
    with pytest.raises(SapoError, match="spans need labels such as B-NP"):
        tagger.spans(["a"])
    with pytest.raises(SapoError, match="n must be at least 1, not 0"):
        tagger.nbest(["a"], 0)


def test_the_most_probable_tag_is_told_for_ready_made_features() -> None:
    tagger = train([([["a"], ["b"]], ["A", "B"]), ([["b"]], ["B"])], epochs=3)
    (row,) = tagger.marginals([["a"]])
    assert max(row, key=lambda label: row[label]) == "A"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("blocks") / "a.txt"
    lines = [f"word{i % 7} {('B-X', 'I-X', 'O')[i % 3]}\n" + "\n" * (i % 4 == 3) for i in range(88)]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_a_file_have_what_each_sentence_has(file: Path, threads: int) -> None:
    tagger = train(file, template="pos", epochs=2)
    sentences = [list(one.words) for one in sapo.read(file)]
    blocks = list(read_blocks(tagger, file)) * 3
    for _, added in tag_blocks(tagger, blocks, Output(marginals=True, threads=threads)):
        assert added.names() == [tag for tags in tagger.tag_many(sentences) for tag in tags]
        np.testing.assert_array_equal(added.marginals, np.concatenate(tagger.marginal_arrays(sentences)))
    for _, added in tag_blocks(tagger, blocks, Output(spans=True, threads=threads)):
        assert added.spans == [tagger.spans(sentence) for sentence in sentences]
    for _, added in tag_blocks(tagger, blocks, Output(nbest=2, threads=threads)):
        for ranked, sentence in zip(added.taggings, sentences, strict=True):
            assert all(isinstance(one, RankedTagging) for one in ranked)
            assert [one.probability for one in ranked] == [one.probability for one in tagger.nbest(sentence, 2)]


def in_bioes() -> Tagger:
    pairs = [
        (["a", "dog"], ["B-X", "I-X"]),
        (["the", "cat"], ["O", "B-X"]),
        (["go", "big", "cat"], ["B-X", "I-X", "I-X"]),
    ]
    return train([*pairs, (["go"], ["O"])], template="pos", epochs=2, scheme="bioes")


@pytest.mark.parametrize("temperature", [1.0, 0.3, 7.0])
@pytest.mark.parametrize("inside", ["as shown", "bioes"])
def test_every_way_to_the_probability_of_a_tagging_gives_the_calibrated_one(
    small: Tagger, temperature: float, inside: str
) -> None:
    warm = at_temperature(small if inside == "as shown" else in_bioes(), temperature)
    sentence = ["a", "dog", "go"]
    every = list(itertools.product(warm.labels, repeat=3))
    shares = {tags: warm.probability(sentence, tags) for tags in every}
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-6)
    found = warm.nbest(sentence, 27)
    assert {tuple(one.tags): one.probability for one in found} == {
        tags: share for tags, share in shares.items() if share
    }
    (lattice,) = decoding.lattices(warm.model, [sentence])
    labels, whole = warm.model.labels, distribution(lattice)
    for one in found:
        path = [labels.index(label) for label in decoding.learned_tags(warm.model, one.tags)]
        assert whole.probability(path) == pytest.approx(one.probability)


def test_a_tagging_that_the_model_cannot_have_is_refused_or_has_no_probability(small: Tagger) -> None:
    assert in_bioes().probability(["a", "dog"], ["O", "I-X"]) == 0.0
    with pytest.raises(SapoError, match="tags: token index 1: the model has no label 'I-Y'; did you mean 'I-X'"):
        small.probability(["a", "dog"], ["O", "I-Y"])
    with pytest.raises(SapoError, match="there are 1 tags for 2 tokens; give one for each token"):
        small.probability(["a", "dog"], ["O"])
    with pytest.raises(SapoError, match="tags: expected a list"):
        small.probability(["a", "dog"], "OO")
    for how in ({}, {"tags": ["O", "O"], "span": (0, 1, "X")}):
        with pytest.raises(SapoError, match="probability: give either tags or a span"):
            small.probability(["a", "dog"], **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_best_taggings_of_many_sentences_are_those_of_each(tagger: Tagger, text: Text, temperature: float) -> None:
    tagger = at_temperature(tagger, temperature)
    begins = [label.startswith("B-") for label in tagger.labels]
    for sentence, found in zip([*text, []], best_taggings(tagger.model, [*text, []]), strict=True):
        marginal = tagger.marginals(sentence)
        assert found.tags == tagger.tag(sentence)
        assert found.probabilities == pytest.approx([row[tag] for row, tag in zip(marginal, found.tags, strict=True)])
        spans = tagger.spans(sentence)
        assert [one[:3] for one in found.spans] == [one[:3] for one in spans]
        assert [one.probability for one in found.spans] == pytest.approx([one.probability for one in spans])
        assert math.exp(found.log_probability) == pytest.approx(tagger.probability(sentence, found.tags))
        arrays = np.array([list(row.values()) for row in marginal]).reshape(len(sentence), len(begins))
        assert found.expected_spans == pytest.approx(arrays[:, begins].sum())
