"""Explanations are complete: what they tell adds up to the difference between two taggings."""

import dataclasses
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapo
from sapo.cli.explain import explanation_page, explanation_text
from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.errors import SapoError
from sapo.features.building import build_encoder
from sapo.features.encoded import Pairs
from sapo.features.ready import FeatureEncoder
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates
from sapo.search.lattice import Parameters, make_lattice, no_bans
from sapo.search.weights import FeatureRows
from sapo.tagger.decoding import encoded_sentence
from sapo.tagger.explain import Explanation, explain
from sapo.tagger.model import Model
from sapo.tagger.tagger import Tagger

TEMPLATE = "word[-1]\nword[0]\nsubstrings(word, 2)\nlabel[-1]\nlabel[-1] & word[0]\nlabel[-1] & word[1]\n"
WORDS = ("anna", "bob", "coco", "unknown")
LABELS = ("X", "Y", "Z")


def dyadic(rng: np.random.Generator, *shape: int) -> Any:
    """Weights whose sums single precision holds exactly, so that sums in any order are the same."""
    return (rng.integers(-64, 65, shape) / 16).astype(np.float32)


def random_bans(rng: np.random.Generator, labels: int) -> Any:
    """Some pairs are forbidden; the first label is always allowed, so that there is always a tagging."""
    bans = no_bans(labels)
    bans[:labels, 1:] = np.where(rng.random((labels, labels - 1)) < 0.2, -np.inf, 0)
    return bans


def template_tagger(seed: int) -> Tagger:
    """Features, transitions, edge features for some pairs of labels, and bans: all by chance."""
    rng = np.random.default_rng(seed)
    sentences = [Sentence({"word": WORDS[:3]}, LABELS), Sentence({"word": ("bob", "anna")}, ("Y", "X"))]
    labels = StringTable()
    encoder, _ = build_encoder([block_from_sentences(sentences)], parse_templates(TEMPLATE, ("word", "label")), labels)
    codes = [np.flatnonzero(rng.random(9) < 0.6) for _ in range(encoder.edge_features)]
    pairs = Pairs(
        np.cumsum([0, *map(len, codes)], dtype=np.int64), np.concatenate([np.empty(0, np.int64), *codes]).astype("i4")
    )
    parameters = Parameters(
        FeatureRows.of_matrix(dyadic(rng, encoder.features, 3)),
        dyadic(rng, 3, 3),
        pairs,
        dyadic(rng, len(pairs.codes), 1),
        random_bans(rng, 3),
    )
    return Tagger(Model(tuple(labels.strings()), encoder, parameters))


def ready_tagger(seed: int) -> Tagger:
    rng = np.random.default_rng(seed)
    return Tagger(
        Model(
            LABELS,
            FeatureEncoder(StringTable(["a", "b", "size"])),
            Parameters.plain(dyadic(rng, 3, 3), dyadic(rng, 3, 3)),
        )
    )


def scores_of_all(tagger: Tagger, tokens: list[Any]) -> dict[tuple[str, ...], float]:
    """Every tagging that is allowed, with its score."""
    lattice = make_lattice(encoded_sentence(tagger.model, tokens), 0, tagger.model.tagging)
    shown = tagger.model.shown or tagger.model.labels
    scores: dict[tuple[str, ...], float] = {}
    for path in itertools.product(range(len(shown)), repeat=len(tokens)):
        tags = tuple(shown[y] for y in path)  # where several taggings are shown alike, the best of them counts
        scores[tags] = max(lattice.path_score(list(path)), scores.get(tags, -math.inf))
    return {tags: score for tags, score in scores.items() if score > -math.inf}


def check_sums(why: Explanation, tagger: Tagger, tokens: list[Any]) -> None:
    scores = scores_of_all(tagger, tokens)
    told = [*(part.difference for part in why.contributions), *(one.difference for one in why.elsewhere)]
    assert math.fsum([*told, why.others_difference]) == why.difference
    assert why.difference == scores[why.tags] - scores[why.rival_tags]
    assert scores[why.tags] == max(score for tags, score in scores.items() if tags[why.token] == why.tag)
    assert scores[why.rival_tags] == max(score for tags, score in scores.items() if tags[why.token] == why.rival)
    sizes = [abs(part.difference) for part in why.contributions]
    assert sizes == sorted(sizes, reverse=True)


sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)
ready_tokens = st.one_of(
    st.lists(st.sampled_from(["a", "b", "new"]), max_size=4),
    st.fixed_dictionaries({"size": st.sampled_from([-2.0, 0.0, 0.5, 3.0]), "a": st.booleans()}),
)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), tokens=sentences, place=st.integers(0, 4), top=st.sampled_from([0, 2, 99]))
def test_contributions_add_up_with_edge_features_and_bans(seed: int, tokens: list[str], place: int, top: int) -> None:
    tagger = template_tagger(seed)
    token = place % len(tokens)
    scores = scores_of_all(tagger, tokens)
    if len({tags[token] for tags in scores}) == 1:
        with pytest.raises(SapoError, match="any other tag"):
            explain(tagger, tokens, token)
        return
    why = explain(tagger, tokens, token, top=top)
    check_sums(why, tagger, tokens)
    assert scores[why.tags] == max(scores.values())
    assert why.chosen == why.tag
    assert scores[why.rival_tags] == max(score for tags, score in scores.items() if tags[token] != why.tag)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), tokens=st.lists(ready_tokens, min_size=1, max_size=4), place=st.integers(0, 3))
def test_contributions_of_ready_made_features_add_up(seed: int, tokens: list[Any], place: int) -> None:
    tagger = ready_tagger(seed)
    for tag, against in itertools.permutations(LABELS, 2):
        why = explain(tagger, tokens, place % len(tokens), tag=tag, against=against, top=1)
        assert (why.tag, why.rival) == (tag, against)
        check_sums(why, tagger, tokens)


def test_a_learned_model_is_explained_within_single_precision(tmp_path: Path) -> None:
    pairs = [(["the", "cat", "sleeps"], ["D", "N", "V"]), (["a", "dog", "barks", "loud"], ["D", "N", "V", "A"])]
    tagger = sapo.train(pairs, template="pos")
    for tokens, _ in pairs:
        scores = scores_of_all(tagger, tokens)
        for token in range(len(tokens)):
            why = explain(tagger, tokens, token)
            assert why.difference == pytest.approx(scores[why.tags] - scores[why.rival_tags], abs=1e-5)
            assert why.ratio == pytest.approx(math.exp(why.difference))


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_ratio_of_a_calibrated_model_agrees_with_its_probabilities(temperature: float) -> None:
    pairs = [(["the", "cat", "sleeps"], ["D", "N", "V"]), (["a", "dog", "barks", "loud"], ["D", "N", "V", "A"])]
    plain = sapo.train(pairs, template="pos")
    warm = Tagger(dataclasses.replace(plain.model, temperature=temperature))
    tokens = ["the", "dog", "sleeps"]
    shares = {tuple(one.tags): one.probability for one in warm.nbest(tokens, 64)}
    for tag, against in itertools.permutations(warm.labels, 2):
        why = explain(warm, tokens, 1, tag=tag, against=against)
        assert why.ratio == pytest.approx(shares[why.tags] / shares[why.rival_tags], rel=1e-4)
        assert why.as_dict()["ratio"] == why.ratio
        assert why.contributions == explain(plain, tokens, 1, tag=tag, against=against).contributions
    why = explain(warm, tokens, 1)
    (line,) = [line for line in explanation_text(why).splitlines() if line.startswith("score ")]
    assert line.startswith(f"score {why.difference:+.4f} at temperature {temperature:g}: ")
    printed = float(line.split(" times as probable")[0].rpartition(" ")[2].replace(",", ""))
    assert printed == pytest.approx(shares[why.tags] / shares[why.rival_tags], rel=0.03)


def test_a_feature_has_its_value_and_counts_once() -> None:
    tagger = ready_tagger(3)
    weights = tagger.model.parameters.features
    why = explain(tagger, [["a", "a", "new"]], 0, tag="X", against="Y")
    (part,) = why.contributions
    assert (part.kind, part.name, part.value) == ("feature", "a", 2.0)
    assert part.difference == 2 * (weights[0, 0] - weights[0, 1])
    (part, _) = sorted(explain(tagger, [{"size": 0.5, "a": True}], 0).contributions, key=lambda one: -len(one.name))
    assert (part.name, part.value) == ("size", 0.5)


def test_one_token_has_no_transitions_and_nothing_elsewhere() -> None:
    why = explain(template_tagger(1), ["anna"], 0)
    assert {part.kind for part in why.contributions} == {"feature"}
    assert why.elsewhere == ()


def test_a_neighbor_that_changes_too_is_told_in_one_line() -> None:
    """Both tokens go together: the transition X -> Y and Y -> X are very bad."""
    features = np.array([[1, 0], [0.5, 0]], np.float32)
    edges = np.array([[0, -9], [-9, 0]], np.float32)
    tagger = Tagger(Model(("X", "Y"), FeatureEncoder(StringTable(["a", "b"])), Parameters.plain(features, edges)))
    why = explain(tagger, [["a"], ["b"], ["b"]], 0)
    assert (why.tags, why.rival_tags) == (("X", "X", "X"), ("Y", "Y", "Y"))
    assert [(one.token, one.tag, one.rival, one.features) for one in why.elsewhere] == [
        (1, "X", "Y", 0.5),
        (2, "X", "Y", 0.5),
    ]
    assert why.difference == 2.0
    assert "token 3, #3: X, against Y (features +0.5000, transitions +0.0000)" in explanation_text(why)


def test_a_tag_that_is_not_chosen_is_set_against_the_chosen_one() -> None:
    tagger = ready_tagger(3)
    chosen = explain(tagger, [["a"], ["b"]], 0)
    why = explain(tagger, [["a"], ["b"]], 0, tag=chosen.rival)
    assert (why.rival, why.chosen, why.difference) == (chosen.tag, chosen.tag, -chosen.difference)
    assert f"the tagging with {chosen.tag} is" in explanation_text(why)


def test_a_token_without_known_features_is_told_plainly() -> None:
    why = explain(ready_tagger(3), [["a"], ["new"]], 1)
    assert why.known == 0
    assert "The model knows no feature of this token" in explanation_text(why)
    assert "The model knows no feature" not in explanation_text(explain(ready_tagger(3), [["a"], ["new"]], 0))


def test_a_ratio_beyond_numbers_is_infinite_and_still_json() -> None:
    features = np.array([[2000, 0]], np.float32)
    tagger = Tagger(
        Model(
            ("X", "Y"),
            FeatureEncoder(StringTable(["a"])),
            Parameters.plain(features, np.zeros((2, 2), np.float32)),
        )
    )
    why = explain(tagger, [["a"]], 0)
    assert why.ratio == math.inf
    assert json.loads(json.dumps(why.as_dict(), allow_nan=False))["ratio"] is None
    assert "is e^2000.0 times as probable" in explanation_text(why)


@pytest.mark.parametrize(
    ("tokens", "token", "more", "message"),
    [
        ([], 0, {}, "the sentence has no tokens"),
        ("anna", 0, {}, "split it first"),
        (["anna"], 1, {}, "token must be an index from 0 to 0, not 1"),
        (["anna"], -1, {}, "token must be an index from 0 to 0, not -1"),
        (["anna"], 0, {"tag": "W"}, "the model has no label 'W'; known: X, Y, Z"),
        (["anna"], 0, {"against": "x"}, "the model has no label 'x'"),
        (["anna"], 0, {"tag": "X", "against": "X"}, "the tag and its rival are both 'X'"),
        (["anna"], 0, {"top": -1}, "top must be 0 or more, not -1"),
    ],
)
def test_mistakes_are_one_line(tokens: Any, token: int, more: dict[str, Any], message: str) -> None:
    with pytest.raises(SapoError, match=message) as caught:
        explain(template_tagger(1), tokens, token, **more)
    assert "\n" not in str(caught.value)


def test_a_forbidden_tag_and_a_single_label_cannot_be_explained() -> None:
    bans = no_bans(2)
    bans[2, 1] = -np.inf  # Y never begins
    features, edges = np.ones((1, 2), np.float32), np.zeros((2, 2), np.float32)
    encoder = FeatureEncoder(StringTable(["a"]))
    nothing = np.empty((0, 1), np.float32)
    tagger = Tagger(
        Model(("X", "Y"), encoder, Parameters(FeatureRows.of_matrix(features), edges, Pairs.none(), nothing, bans))
    )
    with pytest.raises(SapoError, match="allows no tagging of this sentence that gives the token the tag 'Y'"):
        explain(tagger, [["a"], ["a"]], 0, against="Y")
    alone = Tagger(Model(("X",), encoder, Parameters.plain(features[:, :1], edges[:1, :1])))
    with pytest.raises(SapoError, match="only the label 'X'"):
        explain(alone, [["a"]], 0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), tokens=sentences, place=st.integers(0, 4), bias=st.sampled_from([-2.0, 0.5, 30.0]))
def test_a_bias_of_the_model_is_told_and_counted(seed: int, tokens: list[str], place: int, bias: float) -> None:
    tagger = template_tagger(seed).with_bias("X", bias)
    token = place % len(tokens)
    if len({tags[token] for tags in scores_of_all(tagger, tokens)}) == 1:
        return
    why = explain(tagger, tokens, token, top=99)
    check_sums(why, tagger, tokens)
    assert list(why.tags) == tagger.tag(tokens)
    told = [part.difference for part in why.contributions if part.kind == "bias"]
    assert told == ([bias * ((why.tag == "X") - (why.rival == "X"))] if "X" in (why.tag, why.rival) else [])
    assert ("bias X, against" in explanation_text(why)) == (why.tag == "X")


def bioes_tagger(seed: int) -> Tagger:
    """Learns O, B-X, I-X, E-X, S-X by chance, in no scheme, and shows O, B-X, I-X."""
    rng = np.random.default_rng(seed)
    learned, shown = ("O", "B-X", "I-X", "E-X", "S-X"), ("O", "B-X", "I-X", "I-X", "B-X")
    parameters = Parameters.plain(dyadic(rng, 3, 5), dyadic(rng, 5, 5))
    return Tagger(Model(learned, FeatureEncoder(StringTable(["a", "b", "size"])), parameters, shown=shown))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), tokens=st.lists(ready_tokens, min_size=1, max_size=4), place=st.integers(0, 3))
def test_a_model_that_learns_other_labels_is_explained_by_those_it_shows(
    seed: int, tokens: list[Any], place: int
) -> None:
    tagger = bioes_tagger(seed).with_bias("B-X", 0.25)
    for tag, against in itertools.permutations(["O", "B-X", "I-X"], 2):
        why = explain(tagger, tokens, place % len(tokens), tag=tag, against=against, top=1)
        assert (why.tag, why.rival) == (tag, against)
        check_sums(why, tagger, tokens)
    why = explain(tagger, tokens, place % len(tokens))
    assert list(why.tags) == tagger.tag(tokens)
    assert why.tag != why.rival


def test_what_the_model_learned_stands_in_brackets() -> None:
    pairs = [(["a", "dog"], ["B-X", "I-X"]), (["go"], ["O"]), (["cat"], ["B-X"]), (["the", "old", "dog"], ["O"] * 3)]
    tagger = sapo.train(pairs, template="pos", scheme="bioes")
    why = explain(tagger, ["cat"], 0, against="O")
    assert (why.tag, why.learned, why.rival, why.rival_learned) == ("B-X", ("S-X",), "O", ("O",))
    text, page = explanation_text(why), explanation_page(why)
    assert "In brackets: the label that the model learned" in text
    assert "difference  B-X [S-X]          O" in text
    assert text.splitlines()[0] == "token 1, cat: B-X against O (the model chooses B-X)"
    assert "for B-X [S-X]" in page
    steps = [part.name for part in explain(tagger, ["a", "dog"], 0, against="O", top=99).contributions]
    assert "B-X -> I-X [E-X], against O -> O" in steps
    with pytest.raises(SapoError, match="the model has no label 'S-X'"):
        explain(tagger, ["cat"], 0, tag="S-X")
    plain = explain(sapo.train(pairs, template="pos", scheme=None), ["cat"], 0)
    assert plain.learned == ()
    assert "brackets" not in explanation_text(plain)
