"""A small task that every learner solves: words, parts of speech, noun chunks."""

from typing import Any

import pytest

DETERMINERS, NOUNS, VERBS = (
    ("the", "a", "no", "every"),
    ("dog", "cat", "bird", "fish", "horse"),
    ("sees", "eats", "hears"),
)


def sentences() -> list[tuple[list[str], list[str], list[str]]]:
    made = []
    for i in range(24):
        a, b = DETERMINERS[i % 4], DETERMINERS[(i + 1) % 4]
        words = [a, NOUNS[i % 5], VERBS[i % 3], b, NOUNS[(i + 2) % 5]]
        made.append((words, ["DT", "NN", "VB", "DT", "NN"], ["B-NP", "I-NP", "O", "B-NP", "I-NP"]))
    return made


@pytest.fixture(scope="session")
def words() -> list[list[str]]:
    return [words for words, _, _ in sentences()]


@pytest.fixture(scope="session")
def parts() -> list[list[str]]:
    return [parts for _, parts, _ in sentences()]


@pytest.fixture(scope="session")
def chunks() -> list[list[str]]:
    return [chunks for _, _, chunks in sentences()]


@pytest.fixture(scope="session")
def dicts(words: list[list[str]]) -> list[list[dict[str, Any]]]:
    return [[{"word": word, "last": word[-1:], "short": len(word) < 4} for word in tokens] for tokens in words]
