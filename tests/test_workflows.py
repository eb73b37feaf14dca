"""The workflows call targets of the Makefile, with its variables, for the Pythons that pyproject.toml names."""

import re
import tomllib
from pathlib import Path

import pytest

from tools.quick import places_of_tests

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOWS = {path.name: path.read_text("utf-8") for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
CALLS = [(name, call) for name, text in WORKFLOWS.items() for call in re.findall(r"\brun: make (.+)", text)]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_a_workflow_calls_targets_and_variables_that_exist(name: str, call: str) -> None:
    for word in call.split():
        variable, equals, _ = word.partition("=")
        pattern = rf"^{variable} \?=" if equals else rf"^{variable}:"
        assert re.search(pattern, MAKEFILE, re.MULTILINE), f"{name}: the Makefile has no {word}"


def test_the_tests_run_with_all_pythons_of_the_classifiers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    classifiers = [one.rpartition(" ")[2] for one in project["classifiers"] if ":: Python :: 3." in one]
    found = re.search(r"python: \[(.+)\]", WORKFLOWS["tests.yml"])
    assert found is not None
    assert re.findall(r'"([\d.]+)"', found[1]) == classifiers
    assert project["requires-python"] == f">={classifiers[0]}"


def test_actions_are_pinned_by_hash_with_their_version() -> None:
    for name, text in WORKFLOWS.items():
        for action in re.findall(r"\buses: (.+)", text):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", action), f"{name}: {action}"


def test_a_version_of_an_action_has_one_hash() -> None:
    actions = {action for text in WORKFLOWS.values() for action in re.findall(r"\buses: (.+)", text)}
    assert len(actions) == len({action.partition("@")[0] for action in actions})


@pytest.mark.parametrize(
    ("changed", "tested"),
    [
        ("src/sapo/tags/schemes.py", {"src/sapo/tags/schemes.py", "tests/tags"}),
        ("src/sapo/errors.py", {"src/sapo/errors.py", "tests/test_errors.py"}),
        ("tests/tags/test_letters.py", {"tests/tags/test_letters.py"}),
        ("tests/cli/conftest.py", {"tests/cli"}),
        ("laboratory/runs.py", {"tests/laboratory"}),
        ("examples/README.md", set()),
    ],
)
def test_make_quick_finds_the_places_of_tests_a_changed_file(changed: str, tested: set[str]) -> None:
    assert tested <= set(places_of_tests(changed))
    assert bool(tested) == bool(set(places_of_tests(changed)))
