"""Settings: a mistake is told with parameter, rule and value."""

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pytest

from sapo.apps.ray.training import Cluster
from sapo.errors import SapoError
from sapo.learn.settings import RARE, Settings, options_of
from sapo.neural.options import NeuralOptions
from sapo.training.plan import LabelOptions


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n", 0, "at least 1 or 'auto'"),
        ("n", -3, "at least 1 or 'auto'"),
        ("strength", -0.1, "0 or more"),
        ("strength", math.inf, "0 or more"),
        ("strength", math.nan, "0 or more"),
        ("rate", 0.0, "more than 0"),
        ("rate", -1.0, "more than 0"),
        ("rate", math.inf, "more than 0"),
        ("rate", math.nan, "more than 0"),
        ("decay", 0.0, "more than 0 and at most 1"),
        ("decay", 1.01, "more than 0 and at most 1"),
        ("decay", math.nan, "more than 0 and at most 1"),
        ("stop_ratio", 0.99, "at least 1"),
        ("stop_ratio", math.nan, "at least 1"),
        ("stop_ratio", 10**400, "at least 1"),
        ("epochs", 0, "at least 1"),
        ("patience", 0, "at least 1"),
        ("tolerance", -1e-9, "0 or more"),
        ("tolerance", math.nan, "0 or more"),
        ("seed", -1, "0 or more"),
        ("width", 0, "at least 1"),
        ("search", "dijkstra", "topn, astar, beam"),
        ("regularizer", "l3", "l2, l1, none"),
        ("schedule", "never", "exponential, fixed, inverse"),
        ("order", "sorted", "shuffle, draw"),
    ],
)
def test_a_mistake_names_parameter_rule_and_value(name: str, value: float | str, rule: str) -> None:
    with pytest.raises(SapoError, match=f"^{name} must be .*{rule}.*, not {re.escape(str(value))}"):
        Settings(**{name: value})


@pytest.mark.parametrize(
    "values",
    [
        {"n": 1},
        {"strength": 0.0},
        {"rate": 1e-9},
        {"decay": 1.0},
        {"stop_ratio": 1.0},
        {"stop_ratio": math.inf},
        {"epochs": 1, "patience": 1},
        {"tolerance": 0.0},
        {"seed": 0},
        {"seed": 2**40},
    ],
)
def test_values_on_the_border_are_allowed(values: dict[str, Any]) -> None:
    assert dataclasses.asdict(Settings(**values)).items() >= values.items()


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n", 2.5, "whole number"),
        ("n", "5", "whole number"),
        ("epochs", 2.5, "whole number"),
        ("patience", 1.5, "whole number"),
        ("seed", 0.5, "whole number"),
        ("rate", "fast", "number"),
        ("strength", "much", "number"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_by_name(name: str, value: Any, rule: str) -> None:
    with pytest.raises(SapoError, match=f"^{name} must be .*{rule}.*, not {value}"):
        Settings(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("n", np.int64(3)), ("epochs", np.int32(3)), ("rate", np.float32(0.5))])
def test_numbers_of_numpy_are_numbers(name: str, value: Any) -> None:
    settings = Settings(**{name: value})
    assert getattr(settings, name) == value
    assert json.loads(json.dumps(settings.as_json()))[name] == value


def test_settings_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().n = 3  # type: ignore[misc]


def test_settings_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        Settings(5)  # type: ignore[misc]


def test_settings_become_json_without_infinity() -> None:
    written = json.loads(json.dumps(Settings(n=7).as_json(), allow_nan=False))
    assert written["n"] == 7
    assert written["stop_ratio"] is None
    assert set(written) == {field.name for field in dataclasses.fields(Settings)} - {*RARE, "threads"}


@pytest.mark.parametrize("name", ["exact", "all_pairs"])
def test_what_is_rarely_asked_for_is_written_only_then(name: str) -> None:
    assert name not in Settings().as_json()
    assert Settings(**{name: True}).as_json()[name] is True


@pytest.mark.parametrize(("regularizer", "strength"), [("l2", 1.0), ("l1", 0.1), ("none", 1.0)])
def test_every_regularizer_has_its_own_strength_unless_one_is_given(regularizer: str, strength: float) -> None:
    assert Settings(regularizer=regularizer).strength == strength
    assert Settings(regularizer=regularizer, strength=None).strength == strength  # type: ignore[arg-type]
    assert Settings(regularizer=regularizer, strength=3.0).strength == 3.0
    assert Settings(regularizer=regularizer).as_json()["strength"] == strength


@pytest.mark.parametrize("kind", [Settings, NeuralOptions, LabelOptions, Cluster])
def test_every_option_is_declared_with_a_help_of_one_line_and_a_default_that_follows_its_rule(kind: type) -> None:
    for name, option in options_of(kind).items():
        assert option.help.endswith(".")
        assert "\n" not in option.help
        assert option.check(name, option.default) == option.default


def test_every_setting_and_network_option_is_declared() -> None:
    for kind in (Settings, NeuralOptions):
        assert list(options_of(kind)) == [field.name for field in dataclasses.fields(kind)]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "auto", "auto"),
        ("rate", "1", 1),
        ("stop_ratio", "inf", math.inf),
        ("exact", "TRUE", True),
        ("search", "beam", "beam"),
        ("epochs", "2.5", 2.5),
        ("epochs", "many", "many"),
    ],
)
def test_a_text_becomes_a_value_by_the_kind_of_the_option(name: str, text: str, value: Any) -> None:
    assert options_of(Settings)[name].parse(text) == value


def test_numbers_become_plain_ones() -> None:
    settings = Settings(n=np.int64(3), rate=1)
    assert [type(value) for value in (settings.n, settings.rate)] == [int, float]
