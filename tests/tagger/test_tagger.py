"""A trained tagger in use: tags, n-best taggings and their probabilities, and what it says to the wrong tokens."""

import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo import Sentence, Tagger, Tagging, read
from sapo.corpus.blocks import Block
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.tagger.decoding import Output, tag_blocks
from sapo.tagger.files import read_blocks
from sapo.training.calibration import measure
from sapo.training.run import train

Text = list[list[tuple[str, str]]]


def tokens(sentence: Sentence) -> list[tuple[str, str]]:
    return list(zip(sentence.columns["word"], sentence.columns["pos"], strict=True))


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    """A chunker of (word, pos), trained on some of the bundled sample."""
    sentences = itertools.islice(read(sample_path("train"), columns=COLUMNS, label="chunk"), 120)
    return train([(tokens(sentence), sentence.tags) for sentence in sentences], template="chunking", epochs=4)


@pytest.fixture(scope="module")
def text() -> Text:
    sentences = itertools.islice(read(sample_path("test"), columns=COLUMNS, label="chunk"), 40)
    return [tokens(sentence) for sentence in sentences]


@pytest.fixture(scope="module")
def small() -> Tagger:
    """Three labels, words alone."""
    return train(
        [(["a", "dog", "barks"], ["D", "N", "V"]), (["the", "cat"], ["D", "N"]), (["cats", "sleep"], ["N", "V"])],
        template="pos",
        epochs=3,
    )


@pytest.fixture(scope="module")
def ready() -> Tagger:
    """Trained on ready-made features."""
    return train(
        [([{"w": "a", "x": 0.5}, {"w": "b"}], ["A", "B"]), ([{"w": "b", "x": -1.0}], ["B"])],
        epochs=3,
    )


def test_one_sentence_at_a_time_or_many_give_the_same_tags(tagger: Tagger, text: Text) -> None:
    many = tagger.tag_many(text)
    assert many == [tagger.tag(sentence) for sentence in text]
    assert [len(tags) for tags in many] == [len(sentence) for sentence in text]
    assert {tag for tags in many for tag in tags} <= set(tagger.labels)


def test_tag_many_takes_a_generator_of_any_length(small: Tagger) -> None:
    sentences = [["the", "dog"], ["cats"], []] * 500  # more than are tagged in one go
    assert small.tag_many(sentence for sentence in sentences) == [["D", "N"], ["N"], []] * 500
    assert small.tag_many([]) == []


def test_it_has_learned_something(tagger: Tagger, tmp_path: Path) -> None:
    sentences = list(read(sample_path("test"), columns=COLUMNS, label="chunk"))
    pairs = [
        (found, gold)
        for sentence in sentences
        for found, gold in zip(tagger.tag(tokens(sentence)), sentence.tags or (), strict=True)
    ]
    assert sum(found == gold for found, gold in pairs) / len(pairs) > 0.8
    # and `evaluate` counts the same on the same file
    path = tmp_path / "test.txt"
    path.write_text(
        "\n".join(
            "".join(f"{word} {pos} {tag}\n" for (word, pos), tag in zip(tokens(one), one.tags or (), strict=True))
            for one in sentences
        )
    )
    scores = tagger.evaluate(path)
    assert (scores.tokens, scores.correct_tokens) == (len(pairs), sum(found == gold for found, gold in pairs))


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_nbest_taggings_are_different_and_best_first_with_probabilities_that_sum_to_1(
    tagger: Tagger, text: Text, n: int
) -> None:
    for sentence in text[:15]:
        found = tagger.nbest(sentence, n)
        assert len(found) == n
        assert len({tuple(tagging.tags) for tagging in found}) == n
        assert math.isclose(sum(tagging.p_k for tagging in found), 1.0, rel_tol=1e-9)
        for before, after in itertools.pairwise(found):
            assert before.score >= after.score
            assert before.p_k >= after.p_k
            # P_k is exp(score / temperature) over these n
            ratio = math.exp((before.score - after.score) / tagger.model.temperature)
            assert math.isclose(before.p_k, ratio * after.p_k, rel_tol=1e-6)
        assert found[0].tags == tagger.tag(sentence)


def test_nbest_gives_all_taggings_when_asked_for_more(small: Tagger) -> None:
    found = small.nbest(["the", "dog"], 100)
    assert {tuple(tagging.tags) for tagging in found} == set(itertools.product("DNV", repeat=2))


def test_a_longer_list_begins_like_a_shorter_one(tagger: Tagger, text: Text) -> None:
    for sentence in text[:10]:
        longer, shorter = tagger.nbest(sentence, 20), tagger.nbest(sentence, 5)
        assert [tagging.score for tagging in longer[:5]] == [tagging.score for tagging in shorter]


def test_an_empty_sentence_has_one_empty_tagging(small: Tagger, ready: Tagger) -> None:
    for tagger in (small, ready):
        assert tagger.tag([]) == []
        assert tagger.tag_many([[], []]) == [[], []]
        assert tagger.nbest([], 3) == [Tagging([], 1.0, 1.0, 0.0)]


def test_columns_say_what_a_token_must_bring(tagger: Tagger, small: Tagger, ready: Tagger) -> None:
    assert tagger.columns == ("word", "pos")
    assert small.columns == ("word",)
    assert ready.columns == ()
    assert small.labels == ("D", "N", "V")


def test_tokens_may_be_tuples_lists_or_strings(tagger: Tagger, small: Tagger) -> None:
    assert tagger.tag([("The", "DT"), ["cat", "NN"]]) == tagger.tag((("The", "DT"), ("cat", "NN")))
    assert small.tag([("the",), ["dog"], "barks"]) == small.tag(["the", "dog", "barks"])


@pytest.mark.parametrize(
    ("sentence", "complaint"),
    [
        (["The", "cat"], "sentence 1, token 1: expected (word, pos), 2 strings, found 'The'"),
        ([("The", "DT"), ("cat",)], "sentence 1, token 2: expected (word, pos), 2 strings, found ('cat',)"),
        ([("The", "DT", "X")], "sentence 1, token 1: expected (word, pos), 2 strings, found ('The', 'DT', 'X')"),
        ([("The", 5)], "sentence 1, token 1: expected (word, pos), 2 strings, found ('The', 5)"),
        ([None], "sentence 1, token 1: expected (word, pos), 2 strings, found None"),
        ([{"word": "The"}], "sentence 1, token 1: expected (word, pos), 2 strings, found {'word': 'The'}"),
        (
            "The cat sat",
            (
                "sentence 1: expected a list of tokens, found the string 'The cat sat'; split it first, or give it to "
                "Tagger.tag_text"
            ),
        ),
    ],
)
def test_tokens_of_the_wrong_form_are_named(tagger: Tagger, sentence: Any, complaint: str) -> None:
    for use in (tagger.tag, tagger.nbest):
        with pytest.raises(SapoError) as told:
            use(sentence)
        assert str(told.value) == complaint


def test_a_bad_token_is_named_by_its_sentence_however_many_come_before(small: Tagger, ready: Tagger) -> None:
    with pytest.raises(SapoError, match="sentence 601, token 1"):
        small.tag_many([["a"]] * 600 + [[5]])
    with pytest.raises(SapoError, match="sentence 601, token 1"):
        ready.tag_many([[["a"]]] * 600 + [[{"a": float("nan")}]])


@pytest.mark.parametrize("sentence", [5, None, {"a", "b"}])
def test_what_is_no_sentence_is_named(small: Tagger, ready: Tagger, sentence: Any) -> None:
    for tagger in (small, ready):
        with pytest.raises(SapoError, match="sentence 1: expected a list of tokens"):
            tagger.tag(sentence)


def test_a_string_for_a_word_is_asked_for_where_there_is_one_column(small: Tagger) -> None:
    with pytest.raises(SapoError, match=r"sentence 2, token 2: expected a string, found b'dog'"):
        small.tag_many([["a"], ["the", b"dog"]])


def test_ready_made_features_are_asked_for_where_they_were_trained_on(ready: Tagger) -> None:
    with pytest.raises(SapoError, match="sentence 1, token 2: expected a list or dictionary of features, found 'b'"):
        ready.tag([{"w": "a"}, "b"])
    with pytest.raises(
        SapoError, match="has no ready-made features, which the model was trained on; use a file of CRFsuite"
    ):
        ready.evaluate(sample_path("test"))


def test_n_must_be_at_least_1(small: Tagger) -> None:
    with pytest.raises(SapoError, match="n must be at least 1, not 0"):
        small.nbest(["a"], 0)


def test_a_real_value_counts_as_often_as_it_says(ready: Tagger) -> None:
    once = {tuple(found.tags): found.score for found in ready.nbest([{"x": 1.0}], 9)}
    thrice = {tuple(found.tags): found.score for found in ready.nbest([{"x": 3.0}], 9)}
    assert len(once) == 2
    assert any(once.values())
    for tags, score in once.items():
        assert math.isclose(thrice[tags], 3 * score, rel_tol=1e-5)


def test_words_never_seen_before_are_tagged_too(small: Tagger) -> None:
    strange = ["", "\x00", "漢字", "a" * 10_000, "\U0001f600", "the"]
    assert len(small.tag(strange)) == len(strange)


def test_several_threads_give_the_same_as_one(tagger: Tagger, text: Text) -> None:
    alone = tagger.tag_many(text), [tagger.nbest(sentence, 3) for sentence in text]

    def work(_: int) -> tuple[list[list[str]], list[list[Tagging]]]:
        return tagger.tag_many(text), [tagger.nbest(sentence, 3) for sentence in text]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == alone for found in pool.map(work, range(12)))


def test_a_loaded_tagger_tags_like_the_saved_one(tagger: Tagger, text: Text, tmp_path: Path) -> None:
    tagger.save(tmp_path / "chunk.sapo")
    loaded = Tagger.load(tmp_path / "chunk.sapo")
    assert loaded.labels == tagger.labels
    assert loaded.tag_many(text) == tagger.tag_many(text)
    found, expected = loaded.nbest(text[0]), tagger.nbest(text[0])
    assert [one.tags for one in found] == [one.tags for one in expected]
    for name in ("score", "p_k", "probability"):  # features without a weight are not added up any more
        assert [getattr(one, name) for one in found] == pytest.approx(
            [getattr(one, name) for one in expected], rel=1e-5
        )


def test_whatever_its_name_a_model_can_be_loaded(small: Tagger, tmp_path: Path) -> None:
    for name in ("model", "model.sapo.gz", "-", "mödel mit blank.txt"):
        small.save(tmp_path / name)
        assert Tagger.load(tmp_path / name).labels == small.labels


INTERPRETED = """
import json, sys
import sapo

model, text = sys.argv[1:]
tagger = sapo.Tagger.load(model)
text = json.loads(text)
taggings = [[(found.tags, found.score, found.p_k) for found in tagger.nbest(one, 4)] for one in text]
print(json.dumps([tagger.tag_many(text), taggings, "numba" in sys.modules]))
"""


def test_interpreted_kernels_give_what_compiled_ones_give(tagger: Tagger, text: Text, tmp_path: Path) -> None:
    few = text[:12]
    tagger.save(tmp_path / "chunk.sapo")
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED, tmp_path / "chunk.sapo", json.dumps(few)],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    tags, taggings, compiled = json.loads(done.stdout)
    assert not compiled
    assert tags == tagger.tag_many(few)
    tagger = Tagger.load(tmp_path / "chunk.sapo")
    assert taggings == [
        [[found.tags, found.score, found.p_k] for found in tagger.nbest(sentence, 4)] for sentence in few
    ]


@pytest.mark.parametrize("threads", [2, 3])
def test_tagging_a_file_in_threads_gives_the_same_in_the_same_order(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "train.txt"
    path.write_text("".join(f"word{i % 7} {'AB'[i % 2]}\n{'' if i % 3 else chr(10)}" for i in range(300)))
    tagger = train(path, template="pos", epochs=2)

    def pieces() -> Iterator[Block]:
        for _ in range(20):
            yield from read_blocks(tagger, path)

    one = [added.names() for _, added in tag_blocks(tagger, pieces())]
    many = [added.names() for _, added in tag_blocks(tagger, pieces(), Output(threads=threads))]
    assert one == many


def test_a_token_may_bring_all_columns_of_training() -> None:
    tagger = train([([("a", "X"), ("dog", "Y")], ["D", "N"])], template="pos", epochs=2)
    assert tagger.columns == ("word",)
    assert tagger.tag([("a", "X"), ("dog", "Y")]) == tagger.tag(["a", "dog"])


def test_the_best_tagging_may_be_found_by_any_search(tagger: Tagger) -> None:
    def found(**how: Any) -> list[str]:
        blocks = sapo.corpus.read_blocks(sample_path("test"), columns=COLUMNS, label="chunk")
        return [tag for _, added in tag_blocks(tagger, blocks, Output(**how)) for tag in added.names()]

    best = found()
    assert found(search="topn") == found(search="astar") == found(search="beam", width=2000) == best
    assert found(search="beam", width=1) != best
    with pytest.raises(SapoError, match="unknown search 'bean'; did you mean 'beam'"):
        found(search="bean")


def test_a_misspelled_option_of_reading_is_an_error_with_a_file_and_with_pairs(small: Tagger) -> None:
    misspelled: Any = {"lable": "pos"}
    for data in ([(["a", "dog"], ["D", "N"])], "test.txt"):
        for read_it in (small.evaluate, partial(sapo.calibrate, small), partial(measure, small)):
            with pytest.raises(SapoError, match="unknown option 'lable'; did you mean 'label'"):
                read_it(data, **misspelled)


def test_a_misspelled_option_of_reading_is_found_by_mypy(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    path = tmp_path / "program.py"
    lines = ["import sapo", "tagger = sapo.Tagger.load('m.sapo')", "tagger.evaluate('test.txt', lable='pos')"]
    path.write_text("\n".join([*lines, "sapo.train('train.txt', rate='fast')", "sapo.train('train.txt', rate='auto')"]))
    printed, _, code = api.run(["--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(path)])
    assert code == 1
    first, second = (line for line in printed.splitlines() if " error: " in line)
    assert 'program.py:3: error: Unexpected keyword argument "lable" for "evaluate" of "Tagger"' in first
    assert "program.py:4: error: Argument" in second


def test_functions_take_a_tagger_or_the_path_of_a_model(small: Tagger, tmp_path: Path) -> None:
    path = tmp_path / "m.sapo"
    small.save(path)
    tokens, pairs = ["a", "dog"], [(["a", "dog"], ["D", "N"])] * 3
    for given in (path, str(path)):
        assert sapo.explain(given, tokens, 1).difference == pytest.approx(sapo.explain(small, tokens, 1).difference)
        assert sapo.calibrate(given, pairs).model.temperature == sapo.calibrate(small, pairs).model.temperature
        assert sapo.Trainer(given).tagger.tag(tokens) == small.tag(tokens)
        assert measure(given, pairs).exact["tokens"].accuracy == measure(small, pairs).exact["tokens"].accuracy
