"""Scores in, text for people (the table conlleval prints) or a dictionary for programs out."""

from collections.abc import Mapping

from sapo.evaluate.counts import FeatureCounts, SpanCounts
from sapo.evaluate.scores import Scores
from sapo.tags import UNTYPED


def conlleval_table(scores: Scores) -> str:
    """Return the output of conlleval, letter for letter, then our own lines; without spans, a short table.

    Labels that hold morphology get a line for each key.

    >>> print(conlleval_table(Scores(10, 2, 9, 1, SpanCounts(3, 4, 2), {"NP": SpanCounts(3, 4, 2)}, False)))
    processed 10 tokens with 3 phrases; found: 4 phrases; correct: 2.
    accuracy:  90.00%; precision:  50.00%; recall:  66.67%; FB1:  57.14
                   NP: precision:  50.00%; recall:  66.67%; FB1:  57.14  4
    sapo: sentence accuracy:  50.00% (1 of 2 sentences have no wrong tag)
    >>> print(conlleval_table(Scores(10, 2, 9, 1, None, {}, False)))
    processed 10 tokens in 2 sentences.
    token accuracy:     90.00% (9 of 10)
    sentence accuracy:  50.00% (1 of 2)
    >>> print(conlleval_table(Scores(10, 2, 9, 1, None, {}, False, {"Case": FeatureCounts(7, 8, 6, 8)})))
    processed 10 tokens in 2 sentences.
    token accuracy:     90.00% (9 of 10)
    sentence accuracy:  50.00% (1 of 2)
    by key, with the number of tokens that have it in gold or prediction:
                 Case: precision:  75.00%; recall:  85.71%; FB1:  80.00  8
    """
    token_accuracy = _percent(scores.correct_tokens, scores.tokens)
    sentence_accuracy = _percent(scores.correct_sentences, scores.sentences)
    whole_sentences = f"{scores.correct_sentences} of {scores.sentences}"
    lines = []
    if scores.overall is None:
        lines.append(f"processed {scores.tokens} tokens in {scores.sentences} sentences.")
        lines.append(f"token accuracy:    {token_accuracy:6.2f}% ({scores.correct_tokens} of {scores.tokens})")
        lines.append(f"sentence accuracy: {sentence_accuracy:6.2f}% ({whole_sentences})")
        if scores.features:
            lines.append("by key, with the number of tokens that have it in gold or prediction:")
        lines += [f"{key:>17}: {_span_scores(counts)}  {counts.tokens}" for key, counts in scores.features.items()]
        return "\n".join(lines)

    gold, found, correct = scores.overall.gold, scores.overall.found, scores.overall.correct
    lines.append(f"processed {scores.tokens} tokens with {gold} phrases; found: {found} phrases; correct: {correct}.")
    if scores.tokens:  # conlleval leaves the line out for an empty file
        lines.append(f"accuracy: {token_accuracy:6.2f}%; {_span_scores(scores.overall)}")
    named = sorted((name, counts) for name, counts in scores.types.items() if name != UNTYPED)  # the line above has it
    lines += [f"{name:>17}: {_span_scores(counts)}  {counts.found}" for name, counts in named]
    lines.append(f"sapo: sentence accuracy: {sentence_accuracy:6.2f}% ({whole_sentences} sentences have no wrong tag)")
    if scores.strict:
        by = f" by {scores.scheme}, the scheme of the gold tags" if scores.scheme else ""
        lines.append(f"sapo: strict{by}: only well-formed spans are counted; conlleval counts the others too")
    return "\n".join(lines)


def as_json(scores: Scores) -> dict[str, object]:
    """Return counts and fractions under fixed keys, ready for json.dumps.

    `features` is there only for labels that hold them, and `scheme` only if spans were read strictly.

    >>> as_json(Scores(10, 2, 9, 1, None, {}, False))["main"]
    {'name': 'accuracy', 'value': 0.9}
    """
    name, value = scores.main
    return {
        "main": {"name": name, "value": value},
        "tokens": scores.tokens,
        "correct_tokens": scores.correct_tokens,
        "token_accuracy": scores.token_accuracy,
        "sentences": scores.sentences,
        "correct_sentences": scores.correct_sentences,
        "sentence_accuracy": scores.sentence_accuracy,
        "strict": scores.strict,
        **({"scheme": scores.scheme} if scores.scheme else {}),
        "overall": None if scores.overall is None else _span_dict(scores.overall),
        "types": {name: _span_dict(counts) for name, counts in scores.types.items()},
        **({"features": _feature_dicts(scores.features)} if scores.features else {}),
    }


def _span_scores(counts: SpanCounts) -> str:
    # F1 from percentages, as conlleval computes it: from fractions the last digit printed could differ
    precision = _percent(counts.correct, counts.found)
    recall = _percent(counts.correct, counts.gold)
    f1 = 2 * precision * recall / (precision + recall) if counts.correct else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _span_dict(counts: SpanCounts) -> dict[str, object]:
    return {
        "gold": counts.gold,
        "found": counts.found,
        "correct": counts.correct,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
    }


def _feature_dicts(features: Mapping[str, FeatureCounts]) -> dict[str, object]:
    return {key: {"tokens": counts.tokens, **_span_dict(counts)} for key, counts in features.items()}
