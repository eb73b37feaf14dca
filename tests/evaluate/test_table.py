"""The text of the table and the dictionary for programs."""

import json

import numpy as np

from sapo.evaluate.scores import Scores, SpanCounts, score


def test_a_hand_made_example_prints_as_conlleval_prints_it() -> None:
    labels = ["O", "B-NP", "I-NP", "B-VP", "I-VP", "B-PP", "B-CONJP"]
    #                NP NP VP PP NP NP O | NP VP VP O
    gold = np.array([1, 2, 3, 5, 1, 2, 0, 1, 3, 4, 0], dtype=np.int32)
    #                     NP NP VP PP NP CONJP O | NP VP VP O
    predicted = np.array([1, 2, 3, 5, 1, 6, 0, 1, 3, 4, 0], dtype=np.int32)
    scores = score(labels, gold, predicted, np.array([0, 7, 11]))
    assert str(scores).split("\n") == [
        "processed 11 tokens with 6 phrases; found: 7 phrases; correct: 5.",
        "accuracy:  90.91%; precision:  71.43%; recall:  83.33%; FB1:  76.92",
        "            CONJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1",
        "               NP: precision:  66.67%; recall:  66.67%; FB1:  66.67  3",
        "               PP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1",
        "               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  2",
        "sapo: sentence accuracy:  50.00% (1 of 2 sentences have no wrong tag)",
    ]


def test_the_widths_are_those_of_the_conll_2000_example() -> None:
    adjp = SpanCounts(gold=438, found=396, correct=313)
    scores = Scores(47377, 2012, 45496, 1205, SpanCounts(23852, 23881, 22389), {"ADJP": adjp}, False)
    lines = str(scores).split("\n")
    assert lines[0] == "processed 47377 tokens with 23852 phrases; found: 23881 phrases; correct: 22389."
    assert lines[1] == "accuracy:  96.03%; precision:  93.75%; recall:  93.87%; FB1:  93.81"
    assert lines[2] == "             ADJP: precision:  79.04%; recall:  71.46%; FB1:  75.06  396"


def test_percentages_are_rounded_as_conlleval_rounds_them() -> None:
    # 100 * 23 / 160 is 14.375 and prints as 14.38; 100 * (23 / 160) is a little less and would print as 14.37
    scores = Scores(160, 1, 23, 0, SpanCounts(160, 160, 23), {}, False)
    assert str(scores).split("\n")[1].startswith("accuracy:  14.38%; precision:  14.38%")


def test_an_empty_file_has_no_line_of_accuracy() -> None:
    assert str(Scores(0, 0, 0, 0, SpanCounts(0, 0, 0), {}, False)).split("\n") == [
        "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.",
        "sapo: sentence accuracy:   0.00% (0 of 0 sentences have no wrong tag)",
    ]


def test_a_strict_table_says_so() -> None:
    table = str(Scores(1, 1, 1, 1, SpanCounts(1, 1, 1), {"X": SpanCounts(1, 1, 1)}, True))
    assert table.split("\n")[-1].startswith("sapo: strict")


def test_a_table_without_spans_is_short() -> None:
    scores = score(["NN", "VB"], np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0, 2, 3]))
    assert str(scores).split("\n") == [
        "processed 3 tokens in 2 sentences.",
        "token accuracy:     66.67% (2 of 3)",
        "sentence accuracy:  50.00% (1 of 2)",
    ]


def test_json_has_counts_and_fractions() -> None:
    labels = ["O", "B-X", "I-X", "B-Y"]
    scores = score(labels, np.array([1, 2, 0, 3]), np.array([1, 2, 3, 3]), np.array([0, 4]))
    x = {"gold": 1, "found": 1, "correct": 1, "precision": 1.0, "recall": 1.0, "f1": 1.0}
    y = {"gold": 1, "found": 2, "correct": 1, "precision": 0.5, "recall": 1.0, "f1": 2 / 3}
    assert json.loads(json.dumps(scores.as_dict())) == {
        "main": {"name": "F1", "value": 0.8},
        "tokens": 4,
        "correct_tokens": 3,
        "token_accuracy": 0.75,
        "sentences": 1,
        "correct_sentences": 0,
        "sentence_accuracy": 0.0,
        "strict": False,
        "overall": {"gold": 2, "found": 3, "correct": 2, "precision": 2 / 3, "recall": 1.0, "f1": 0.8},
        "types": {"X": x, "Y": y},
    }


def test_json_without_spans_keeps_its_keys() -> None:
    numbers = Scores(4, 2, 3, 1, None, {}, False).as_dict()
    assert numbers["overall"] is None
    assert numbers["types"] == {}
    assert numbers["main"] == {"name": "accuracy", "value": 0.75}


def test_scores_of_spans_and_of_tags_are_read_by_name() -> None:
    spans = Scores(10, 2, 9, 1, SpanCounts(3, 4, 2), {"NP": SpanCounts(3, 4, 2)}, False)
    assert (spans.precision, spans.recall, spans.accuracy) == (0.5, 2 / 3, 0.9)
    assert spans.f1 == spans.main[1]
    tags = Scores(10, 2, 9, 1, None, {}, False)
    assert (tags.precision, tags.recall, tags.f1, tags.accuracy) == (0.9, 0.9, 0.9, 0.9)


def test_a_notebook_shows_a_table_with_escaped_names() -> None:
    page = Scores(10, 2, 9, 1, SpanCounts(3, 4, 2), {"<b>": SpanCounts(3, 4, 2)}, False)._repr_html_()
    assert page.startswith("<table><caption>token accuracy 90.00 % (9 of 10), sentence accuracy 50.00 % (1 of 2)")
    assert page.count("<tr>") == 3
    assert "<td>&lt;b&gt;</td><td>50.00</td><td>66.67</td><td>57.14</td><td>3</td><td>4</td><td>2</td>" in page
    assert "<td>" not in Scores(10, 2, 9, 1, None, {}, False)._repr_html_()
