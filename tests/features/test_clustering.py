"""Word clusters: each step of the algorithm does what a slow, literal version of it says."""

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.blocks import Block, Sentence, block_from_sentences
from sapo.errors import DataError, DataWarning, OptionError
from sapo.features import clustering
from sapo.features.clustering import (
    BORDER,
    RARE,
    Classes,
    ClusteredWord,
    Neighbors,
    Side,
    add_word,
    classes_of,
    cluster_form,
    cluster_words,
    count_classes,
    count_neighbors,
    exchange,
    find_gains,
    merge_classes,
    n_log_n_table,
    number_words,
    paths_of,
)
from sapo.jit.arrays import Ints

Text = list[list[str]]
texts = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8), min_size=4, max_size=20)
counts = st.integers(2, 7).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, 9), min_size=size, max_size=size), min_size=size, max_size=size)
)


def block_of(text: Iterable[Sequence[str]]) -> Block:
    return block_from_sentences([Sentence({"word": tuple(words)}) for words in text])


def numbered(text: Text, least: int = 1) -> tuple[Ints, int]:
    """Return a text as numbers, and how many words it has."""
    tokens, words, _ = number_words([block_of(text)], least, lambda line: None)
    return tokens, len(words)


def pairs_of(tokens: Ints) -> Counter[tuple[int, int]]:
    return Counter((a, b) for a, b in itertools.pairwise(tokens.tolist()) if RARE not in (a, b))


def h(n: float) -> float:
    return n * math.log(n) if n > 0 else 0.0


def likelihood(pairs: Counter[tuple[int, int]]) -> float:
    """Return the log likelihood of bigrams of classes: the formula of the module, term by term."""
    firsts, seconds = Counter[int](), Counter[int]()
    for (c, d), n in pairs.items():
        firsts[c] += n
        seconds[d] += n
    return sum(map(h, pairs.values())) - sum(map(h, firsts.values())) - sum(map(h, seconds.values()))


def renamed(pairs: Counter[tuple[int, int]], name: Callable[[int], int]) -> Counter[tuple[int, int]]:
    """Return the pairs of the classes of words, or of nodes that others became."""
    found = Counter[tuple[int, int]]()
    for (a, b), n in pairs.items():
        found[name(a), name(b)] += n
    return found


def text_likelihood(tokens: Ints, of_word: Sequence[int]) -> float:
    return likelihood(renamed(pairs_of(tokens), of_word.__getitem__))


def both_sides(tokens: Ints, words: int) -> tuple[Neighbors, Neighbors]:
    return count_neighbors(tokens, words), count_neighbors(tokens[::-1].copy(), words)


def check_counts(classes: Classes, tokens: Ints) -> None:
    """Assert that all counts are those of the text."""
    literal = renamed(pairs_of(tokens), classes.of_word.tolist().__getitem__)
    count = len(classes.sizes)
    assert {
        (c, d): int(classes.pairs[c, d]) for c in range(count) for d in range(count) if classes.pairs[c, d]
    } == dict(literal)
    assert np.array_equal(classes.turned, classes.pairs.T)
    assert np.array_equal(classes.firsts, classes.pairs.sum(1))
    assert np.array_equal(classes.seconds, classes.pairs.sum(0))
    assert np.array_equal(classes.sizes, np.bincount(classes.of_word, minlength=count))


@given(texts)
def test_neighbors_are_the_bigrams_of_the_text(text: Text) -> None:
    tokens, words = numbered([*text, list("abab")], 2)
    literal = pairs_of(tokens)
    following, preceding = both_sides(tokens, words)
    for neighbors, turn in ((following, 1), (preceding, -1)):
        firsts = np.repeat(np.arange(words + 1), np.diff(neighbors.offsets)).tolist()
        found = list(zip(firsts, neighbors.words.tolist(), strict=True))
        assert len(set(found)) == len(found)
        assert {pair[::turn]: n for pair, n in zip(found, neighbors.counts.tolist(), strict=True)} == dict(literal)


def test_a_text_becomes_numbers_with_borders_and_without_rare_words() -> None:
    text = [["In", "1984", "it", "rained"], ["In", "2001", "it", "did", "n't"]]
    tokens, words, found = number_words([block_of(text[:1]), block_of(text[1:])], 2, lambda line: None)
    assert words == ["In", "####", "it"]
    assert found == [2, 2, 2]
    assert tokens.tolist() == [BORDER, 1, 2, 3, RARE, BORDER, 1, 2, 3, RARE, RARE, BORDER]


def test_words_that_a_line_cannot_hold_are_left_out() -> None:
    odd = ["", "a\tb", "a\nb", "a\u2028b", "a\ud800", "New York", "x"]
    _, words, _ = number_words([block_of([odd])], 1, lambda line: None)
    assert words == ["New York", "x"]


@given(texts, st.integers(2, 5), st.data())
def test_each_gain_is_the_difference_of_the_literal_likelihood(text: Text, clusters: int, data: st.DataObject) -> None:
    tokens, words = numbered([*text, ["a", "b"]])
    following, preceding = both_sides(tokens, words)
    of_word = [clusters, *data.draw(st.lists(st.integers(0, clusters - 1), min_size=words, max_size=words))]
    classes = classes_of(np.array(of_word, np.int32), following, clusters + 1)
    word = data.draw(st.integers(1, words))
    room = [np.zeros(clusters + 1, np.int32) for _ in range(4)]
    after: Side = count_classes(word, following, classes.of_word, room[0], room[1])
    before: Side = count_classes(word, preceding, classes.of_word, room[2], room[3])
    add_word(of_word[word], -1, after, before, classes)
    gains = np.zeros(clusters)
    find_gains(after, before, classes, n_log_n_table(), gains)
    literal = [text_likelihood(tokens, [*of_word[:word], c, *of_word[word + 1 :]]) for c in range(clusters)]
    assert gains - gains[0] == pytest.approx(np.array(literal) - literal[0], abs=1e-8)
    add_word(of_word[word], 1, after, before, classes)
    check_counts(classes, tokens)


@given(texts, st.integers(2, 5))
def test_at_the_end_the_counts_are_right_and_no_move_is_better(text: Text, clusters: int) -> None:
    tokens, words = numbered([*text, list("abcde")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "FEW", 0.0)
        classes = exchange(*both_sides(tokens, words), clusters, 1000)
    check_counts(classes, tokens)
    of_word = classes.of_word.tolist()
    assert of_word[BORDER] == clusters
    assert set(of_word[1:]) == set(range(clusters))
    reached = text_likelihood(tokens, of_word)
    for word, c in itertools.product(range(1, words + 1), range(clusters)):
        if classes.sizes[of_word[word]] > 1:
            assert text_likelihood(tokens, [*of_word[:word], c, *of_word[word + 1 :]]) <= reached + 1e-5


@given(texts, st.integers(2, 5))
def test_no_pass_makes_the_text_less_likely_or_a_class_empty(text: Text, clusters: int) -> None:
    tokens, words = numbered([*text, list("abcde")])
    sides = both_sides(tokens, words)
    passes = [exchange(*sides, clusters, number) for number in range(6)]
    assert passes[0].of_word[1:].tolist() == [word % clusters for word in range(words)]
    reached = [text_likelihood(tokens, classes.of_word.tolist()) for classes in passes]
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(reached))
    assert all(classes.sizes.min() > 0 for classes in passes)


def literal_merges(pairs: Counter[tuple[int, int]], merges: list[list[int]], count: int) -> None:
    """Assert that no merge of two other nodes would have left a higher likelihood."""
    left = list(range(count))
    for step, (a, b) in enumerate(merges):
        assert a in left
        assert b in left
        reached = {pair: likelihood(merged(pairs, pair, count + step)) for pair in itertools.combinations(left, 2)}
        assert reached[min(a, b), max(a, b)] >= max(reached.values()) - 1e-7
        pairs = merged(pairs, (a, b), count + step)
        left = [node for node in left if node not in (a, b)] + [count + step]


def merged(pairs: Counter[tuple[int, int]], two: tuple[int, int], into: int) -> Counter[tuple[int, int]]:
    return renamed(pairs, lambda node: into if node in two else node)


@given(counts)
def test_each_merge_costs_least_likelihood(table: list[list[int]]) -> None:
    pairs = np.array(table, np.int32)
    before = pairs.copy()
    merges = merge_classes(pairs, n_log_n_table())
    assert np.array_equal(pairs, before)
    literal = Counter({(a, b): int(n) for (a, b), n in np.ndenumerate(pairs) if n})
    literal_merges(literal, merges.tolist(), len(pairs))


@given(counts)
def test_the_paths_are_a_prefix_code_without_gaps(table: list[list[int]]) -> None:
    paths = paths_of(merge_classes(np.array(table, np.int32), n_log_n_table()))
    assert len(paths) == len(table)
    assert not any(other.startswith(one) for one, other in itertools.permutations(paths, 2))
    assert sum(0.5 ** len(path) for path in paths) == 1


def test_counts_beyond_the_table_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [list(words) for words in itertools.product("abc", "dea", "fgb", "hi")]
    whole = cluster_words([block_of(text)], clusters=4)
    monkeypatch.setattr(clustering, "TABLE_SIZE", 4)
    assert cluster_words([block_of(text)], clusters=4) == whole


@given(texts)
def test_clusters_depend_on_the_text_alone(text: Text) -> None:
    text = [*text, list("ababcc"), list("cc")]
    whole = cluster_words([block_of(text)], clusters=2, min_count=2)
    assert whole == cluster_words(map(block_of, ([words] for words in text)), clusters=2, min_count=2)
    assert {one.word: one.count for one in whole} == {
        word: count for word, count in Counter(itertools.chain(*text)).items() if count >= 2
    }
    assert whole == sorted(whole, key=lambda one: (one.bits, -one.count))


def test_words_with_equal_neighbors_share_a_cluster() -> None:
    subjects, verbs, objects = ["Anna", "Ben", "Cleo"], ["sees", "hears"], ["7", "42", "dogs"]
    text = [[*words, "."] for words in itertools.product(subjects, verbs, objects)]
    found = cluster_words([block_of(text)], clusters=4, passes=20)
    by_path: dict[str, set[str]] = {}
    for one in found:
        by_path.setdefault(one.bits, set()).add(one.word)
    assert sorted(map(sorted, by_path.values())) == [
        ["#", "##", "dogs"],
        ["."],
        ["Anna", "Ben", "Cleo"],
        ["hears", "sees"],
    ]
    assert ClusteredWord("##", next(one.bits for one in found if one.word == "#"), 6) in found


def test_only_digits_are_replaced() -> None:
    assert [cluster_form(word) for word in ("McDonald", "3,14", "٣", "B-52s")] == ["McDonald", "#,##", "#", "B-##s"]


def test_with_few_words_each_is_a_cluster_and_a_warning_says_so() -> None:
    block = block_of([["a", "b", "c"]] * 3)
    with pytest.warns(DataWarning, match="3 words that are frequent enough, fewer than 500 clusters; each word is a"):
        found = cluster_words([block], clusters=500)
    assert len({one.bits for one in found}) == len(found) == 3
    assert len({one.bits for one in cluster_words([block])}) == 2  # a tenth of the words, but two at least
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(cluster_words([block], clusters=3)) == 3


def test_the_work_is_reported() -> None:
    lines: list[str] = []
    cluster_words([block_of([["a", "b", "c"]] * 3)], clusters=2, passes=1, watch=lines.append)
    assert lines == ["reading: 9 tokens", "pass 1 of at most 1: 0 of 3 words", "building the tree of the clusters"]


@pytest.mark.parametrize(
    ("text", "how", "complaint"),
    [
        ([], {}, "the text is empty; give a file with words"),
        (
            [["a", "a", "a", "b"]],
            {},
            "the text has 4 tokens, but fewer than 2 words with a count of 3 or more; give",
        ),
        ([["a"]], {"clusters": 1}, "`clusters` must be between 2 and 2,000, not 1"),
        ([["a"]], {"clusters": 2001}, "`clusters` must be between 2 and 2,000, not 2,001"),
        ([["a"]], {"min_count": 0}, "`min_count` must be between 1 and 1,000,000, not 0"),
    ],
)
def test_a_mistake_is_told(text: Text, how: dict[str, int], complaint: str) -> None:
    with pytest.raises((DataError, OptionError)) as caught:
        cluster_words([block_of(text)], **how)  # type: ignore[arg-type]
    assert str(caught.value).startswith(complaint)


def test_ready_made_features_are_not_words() -> None:
    block = block_from_sentences([Sentence({}, features=(["x=1"],))])
    with pytest.raises(DataError, match="has ready-made features but no words"):
        cluster_words([block])
