"""Every count equals that of conlleval, refereed by a slow port that goes through the file line by line."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conlleval_rules import chunk_ended, chunk_starts, split
from sapo.errors import SapoError
from sapo.evaluate.scores import Scores, SpanCounts, score
from sapo.tags.schemes import label_kinds
from sapo.tags.spans import read_spans

Pairs = list[list[tuple[str, str]]]  # sentences of (gold, predicted)

IOB = ["O", "B-X", "I-X", "B-Y", "I-Y", "B-cell-type", "I-cell-type"]
BIOES = ["O", *(f"{prefix}-{name}" for prefix in "BIES" for name in "XY")]
BILOU = ["O", *(f"{prefix}-{name}" for prefix in "BILU" for name in "XY")]
MIXED = sorted({*IOB, *BIOES, *BILOU})
ODD = [*BIOES, "O-X", ".", "NN", "VB", "B", "I", "E", "Z-X", "-X", "-", "[-X", "]-Y", "["]


@dataclass
class Referee:
    """The script's own loop and counters."""

    tokens: int = 0
    correct_tags: int = 0
    gold: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    correct: Counter[str] = field(default_factory=Counter)

    def run(self, sentences: Pairs) -> "Referee":
        lines: list[tuple[str, str] | None] = []  # None is the empty line after a sentence
        for sentence in sentences:
            lines += [*sentence, None]
        in_correct = False
        last_gold = last_found = ("O", "")
        for line in lines:
            gold, found = (split(tag) for tag in line or ("O", "O"))
            end_gold, end_found = chunk_ended(last_gold, gold), chunk_ended(last_found, found)
            start_gold, start_found = chunk_starts(last_gold, gold), chunk_starts(last_found, found)
            if in_correct:
                if end_gold and end_found and last_gold[1] == last_found[1]:
                    in_correct = False
                    self.correct[last_gold[1]] += 1
                elif end_gold != end_found or gold[1] != found[1]:
                    in_correct = False
            if start_gold and start_found and gold[1] == found[1]:
                in_correct = True
            self.gold[gold[1]] += start_gold
            self.found[found[1]] += start_found
            if line is not None:
                self.correct_tags += line[0] == line[1]
                self.tokens += 1
            last_gold, last_found = gold, found
        if in_correct:
            self.correct[last_gold[1]] += 1
        return self


def arrays(labels: list[str], sentences: Pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [pair for sentence in sentences for pair in sentence]
    gold = np.array([labels.index(tag) for tag, _ in rows], dtype=np.int32)
    predicted = np.array([labels.index(tag) for _, tag in rows], dtype=np.int32)
    return gold, predicted, np.cumsum([0, *map(len, sentences)], dtype=np.int64)


def score_of(labels: list[str], sentences: Pairs, *, strict: bool = False) -> Scores:
    return score(labels, *arrays(labels, sentences), strict=strict)


def overall(scores: Scores) -> SpanCounts:
    assert scores.overall is not None
    return scores.overall


def sentences_of(labels: list[str]) -> st.SearchStrategy[Pairs]:
    """Two tokens in three keep the gold tag, so that many spans are correct."""
    tag = st.sampled_from(labels)
    pair = st.one_of(tag.map(lambda t: (t, t)), tag.map(lambda t: (t, t)), st.tuples(tag, tag))
    return st.lists(st.lists(pair, max_size=10), max_size=5)


def assert_equal_counts(labels: list[str], sentences: Pairs) -> None:
    scores, referee = score_of(labels, sentences), Referee().run(sentences)
    assert (scores.tokens, scores.correct_tokens) == (referee.tokens, referee.correct_tags)
    expected = {
        name: SpanCounts(referee.gold[name], referee.found[name], referee.correct[name])
        for name in sorted(+referee.gold | +referee.found)
    }
    assert list(scores.types.items()) == list(expected.items())
    assert overall(scores) == SpanCounts(referee.gold.total(), referee.found.total(), referee.correct.total())


@pytest.mark.parametrize("labels", [IOB, BIOES, BILOU, MIXED], ids=["IOB", "BIOES", "BILOU", "mixed"])
@given(data=st.data())
def test_every_count_equals_that_of_conlleval(labels: list[str], data: st.DataObject) -> None:
    assert_equal_counts(labels, data.draw(sentences_of(labels)))


@pytest.mark.parametrize("labels", [IOB, BIOES, BILOU, MIXED], ids=["IOB", "BIOES", "BILOU", "mixed"])
def test_every_count_equals_that_of_conlleval_on_a_long_text(labels: list[str]) -> None:
    rng = np.random.default_rng(1)
    gold = rng.choice(labels, 5000).tolist()
    predicted = [
        g if keep else p for g, p, keep in zip(gold, rng.choice(labels, 5000), rng.random(5000) < 0.8, strict=True)
    ]
    rows = [(str(g), str(p)) for g, p in zip(gold, predicted, strict=True)]
    assert_equal_counts(labels, [rows[i : i + 25] for i in range(0, 5000, 25)])


@given(sentences_of(ODD))
def test_spans_of_odd_tags_begin_where_conlleval_begins_them(sentences: Pairs) -> None:
    kinds = label_kinds(ODD)
    gold, _, offsets = arrays(ODD, sentences)
    found = Counter(kinds.type_names[t] for t in read_spans(kinds, gold, offsets).types)
    assert found == +Referee().run(sentences).gold


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("B-X I-X I-X", "B-X I-Y I-X", SpanCounts(gold=1, found=3, correct=0)),  # a change of type breaks the span
        ("B-X I-X I-X", "B-X O I-X", SpanCounts(gold=1, found=2, correct=0)),  # O inside breaks it
        ("B-X B-X", "B-X I-X", SpanCounts(gold=2, found=1, correct=0)),  # adjacent spans are two
        ("O B-X I-X", "O I-X I-X", SpanCounts(gold=1, found=1, correct=1)),  # I after O is a span like B
        ("B-X I-X", "B-Y I-Y", SpanCounts(gold=1, found=1, correct=0)),
        ("B-X I-X O", "B-X I-X I-X", SpanCounts(gold=1, found=1, correct=0)),
    ],
)
def test_well_known_cases(gold: str, predicted: str, expected: SpanCounts) -> None:
    rows = list(zip(gold.split(), predicted.split(), strict=True))
    assert overall(score_of(IOB, [rows])) == expected


def test_spans_do_not_run_into_the_next_sentence() -> None:
    apart = [[("B-X", "B-X")], [("I-X", "I-X")]]
    assert overall(score_of(IOB, apart)) == SpanCounts(gold=2, found=2, correct=2)
    assert overall(score_of(IOB, [apart[0] + apart[1]])) == SpanCounts(gold=1, found=1, correct=1)


def test_a_sentence_is_correct_when_every_tag_is() -> None:
    sentences = [[("O", "O"), ("B-X", "B-X")], [("O", "O"), ("B-X", "I-X")], [("O", "O")]]
    scores = score_of(IOB, sentences)
    assert (scores.sentences, scores.correct_sentences) == (3, 2)
    assert scores.sentence_accuracy == pytest.approx(2 / 3)
    assert scores.accuracy == pytest.approx(4 / 5)


def test_strict_counts_only_well_formed_spans() -> None:
    sentences = [[("B-X", "I-X"), ("I-X", "I-X"), ("O", "O"), ("B-Y", "B-Y")]]
    lenient, strictly = score_of(IOB, sentences), score_of(IOB, sentences, strict=True)
    assert overall(lenient) == SpanCounts(gold=2, found=2, correct=2)
    assert overall(strictly) == SpanCounts(gold=2, found=1, correct=1)
    assert strictly.types == {"X": SpanCounts(1, 0, 0), "Y": SpanCounts(1, 1, 1)}
    assert strictly.strict


IOB1 = ["O", "I-X", "B-X", "I-Y"]


def test_strict_reads_iob1_by_its_own_rules() -> None:
    gold = ["I-X", "B-X", "O", "I-X", "O", "I-Y", "I-X"]
    same = score_of(IOB1, [list(zip(gold, gold, strict=True))], strict=True)
    assert (same.scheme, overall(same)) == ("iob1", SpanCounts(5, 5, 5))
    found = ["I-X", "B-X", "O", "O", "O", "O", "O"]
    half = score_of(IOB1, [list(zip(gold, found, strict=True))], strict=True)
    assert overall(half) == SpanCounts(5, 2, 2)
    wrong = ["B-X", "I-X", "O", "B-X", "I-X", "I-Y", "B-X"]  # B-X where no X is before it
    assert overall(score_of(IOB1, [list(zip(gold, wrong, strict=True))], strict=True)) == SpanCounts(5, 1, 1)


@pytest.mark.parametrize(
    ("gold", "scheme"),
    [
        ("B-X I-X O B-X", "iob2"),
        ("I-X I-X O I-X", "iob1"),  # there is no B-
        ("B-X I-X O I-X I-X", "iob2"),  # one fault, and one in iob1 too
        ("I-X O I-X B-X O B-X", "iob1"),  # one fault
        ("S-X B-X E-X O", "bioes"),
        ("U-X B-X L-X O", "bilou"),
        ("B-X M-X E-X O", "bmes"),
        ("I-X E-X O E-X", "ioe2"),
        ("I-X E-X I-X O I-X", "ioe1"),
    ],
)
def test_strict_goes_by_the_scheme_with_the_fewest_faults_in_gold(gold: str, scheme: str) -> None:
    tags = gold.split()
    labels = list(dict.fromkeys([*tags, "B-X", "I-X", "S-X", "O"]))  # what was found may have other letters
    assert score_of(labels, [[(tag, "O") for tag in tags]], strict=True).scheme == scheme


def test_strict_without_a_gold_span_goes_by_the_letters() -> None:
    found = score_of(IOB, [[("O", "B-X"), ("O", "I-X"), ("O", "O"), ("O", "I-X")]], strict=True)
    assert (found.scheme, overall(found)) == ("iob2", SpanCounts(0, 1, 0))


@pytest.mark.parametrize(
    ("gold", "found", "counts"),
    [
        ("B I O B", "B I O I", SpanCounts(2, 2, 2)),
        ("B M E S B E", "B E S S B E", SpanCounts(3, 4, 2)),  # words of a text in Chinese
        ("NP-B NP-I O VP-B", "NP-B NP-I O NP-B", SpanCounts(2, 2, 1)),
        ("B M E S O", "B M E O S", SpanCounts(2, 2, 1)),
    ],
)
def test_other_notations_are_scored_as_spans_too(gold: str, found: str, counts: SpanCounts) -> None:
    pairs = list(zip(gold.split(), found.split(), strict=True))
    scores = score_of(sorted({tag for pair in pairs for tag in pair}), [pairs])
    assert overall(scores) == counts
    assert scores.main == ("F1", counts.f1)


def test_letters_among_parts_of_speech_are_not_spans() -> None:
    assert score_of(["O", "S", "B", "N"], [[("O", "O"), ("S", "B"), ("N", "N")]]).main[0] == "accuracy"
    assert score_of(["O", "S"], [[("O", "O"), ("S", "O")]]).main[0] == "accuracy"


@given(sentences_of(MIXED))
def test_strict_counts_are_never_larger(sentences: Pairs) -> None:
    # strict spans are some of the lenient ones, so each count can only fall; precision and recall may rise
    lenient, strictly = overall(score_of(MIXED, sentences)), overall(score_of(MIXED, sentences, strict=True))
    assert strictly.gold <= lenient.gold
    assert strictly.found <= lenient.found
    assert strictly.correct <= lenient.correct


def test_the_main_score_is_f1_for_spans_and_accuracy_for_other_labels() -> None:
    assert score_of(IOB, [[("B-X", "B-X"), ("O", "B-X")]]).main == ("F1", 2 / 3)
    tagging = score_of(["NN", "VB"], [[("NN", "NN"), ("VB", "NN")]], strict=True)
    assert tagging.main == ("accuracy", 0.5)
    assert tagging.overall is None
    assert tagging.types == {}
    assert not tagging.strict


def test_gold_may_have_labels_that_are_never_predicted() -> None:
    scores = score_of([*IOB, "B-RARE"], [[("B-RARE", "O"), ("B-X", "B-X")]])
    assert scores.types == {"RARE": SpanCounts(1, 0, 0), "X": SpanCounts(1, 1, 1)}


def test_nothing_to_score_gives_zeros() -> None:
    scores = score_of(IOB, [])
    assert (scores.accuracy, scores.sentence_accuracy, scores.main) == (0.0, 0.0, ("F1", 0.0))
    assert (overall(scores).precision, overall(scores).recall) == (0.0, 0.0)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_f1_is_the_harmonic_mean(correct: int, missed: int, extra: int) -> None:
    counts = SpanCounts(gold=correct + missed, found=correct + extra, correct=correct)
    p, r = counts.precision, counts.recall
    assert counts.f1 == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)


@pytest.mark.parametrize(
    ("gold", "predicted", "offsets", "message"),
    [
        ([0, 1], [0], [0, 2], "gold has 2 tokens, predicted has 1"),
        ([0, 1], [0, 1], [0, 3], "number of tokens, 2, found 0 to 3"),
        ([0, 1], [0, 1], [1, 2], "number of tokens, 2, found 1 to 2"),
        ([0, 1], [0, 1], [0, 2, 1, 2], "must rise from 0"),
        ([0, 1], [0, 1], [], "found none"),
        ([0, 3], [0, 1], [0, 2], "gold tags must be places in the 3 labels, found 0 to 3"),
        ([0, 1], [-1, 1], [0, 2], "predicted tags must be places in the 3 labels, found -1 to 1"),
    ],
)
def test_arrays_that_do_not_fit_are_told(
    gold: list[int], predicted: list[int], offsets: list[int], message: str
) -> None:
    with pytest.raises(SapoError, match=message):
        score(
            ["O", "B-X", "I-X"],
            np.array(gold, dtype=np.int32),
            np.array(predicted, dtype=np.int32),
            np.array(offsets, dtype=np.int64),
        )
