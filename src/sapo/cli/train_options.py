"""Options of `sapo train` that are made from the declared settings, and which of them the learner does not use."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sapo.cli.options import parse_numbers
from sapo.errors import OptionError, SapoError, did_you_mean

if TYPE_CHECKING:
    from sapo.learn.settings import Option
    from sapo.training.plan import Plan

F = TypeVar("F", bound=Callable[..., Any])

OWN = ("--n -n", "--rate", "--strength", "--epochs -e", "--threads", "--seed")  # settings with options of their own
RATE = ("rate", "schedule", "decay")
PENALTY = ("strength", "regularizer")
SEARCH = ("search", "width", "stop_ratio")
PARAMETER = re.compile(r"^(\w+)(?= must be |: only for )")  # the parameter that an error of the library is about


def declared() -> "dict[str, Option]":
    """Return all declared options by name. What declares them loads NumPy, which `sapo --help` must not wait for."""
    from sapo.apps.ray.training import Cluster
    from sapo.learn.settings import Settings, options_of
    from sapo.neural.options import NeuralOptions
    from sapo.training.plan import LabelOptions

    return {
        name: one for kind in (Settings, NeuralOptions, LabelOptions, Cluster) for name, one in options_of(kind).items()
    }


class SettingOption(click.Option):
    """An option whose help is made from the declarations when it is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        known = declared()
        if option := known.get(str(self.name)):
            self.help = f"{option.help}  [default: {'auto' if option.auto else option.default}]"
        else:
            own = [words.split()[0][2:] for words in OWN]
            names = ", ".join(name for name in known if name not in own)
            self.help = f"Any other setting, as --set decay=0.8; see docs/reference/learners.md: {names}."
        return super().get_help_record(ctx)


def setting_options(command: F) -> F:
    """Add the options of settings to a command, and --set for those that have no option of their own."""
    many = click.option("--set", "more", cls=SettingOption, multiple=True, metavar="NAME=VALUE")
    command = many(command)
    for words in reversed(OWN):
        command = click.option(*words.split(), cls=SettingOption, metavar="NUMBER")(command)
    return command


def take_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of `setting_options`; return what the user gave. Raise SapoError if a name is unknown."""
    known, values = declared(), dict[str, Any]()
    names = [words.split()[0][2:] for words in OWN]
    given = [(name, "=", text) for name in names if (text := options.pop(name)) is not None]
    for name, equals, text in (*given, *(one.partition("=") for one in options.pop("more"))):
        name = name.strip().replace("-", "_")
        if not equals:
            raise OptionError(f"--set must be NAME=VALUE, as decay=0.8, not '{name}'")
        if name not in known:
            raise OptionError(f"--set: unknown setting '{name}'{did_you_mean(name, known)}")
        if name in values:
            raise OptionError(f"{option_name(name)} is given twice; give it once")
        values[name] = known[name].parse(text.strip())
    return values


def option_name(parameter: str) -> str:
    """Return how a parameter of the library is given to the running command."""
    for option in click.get_current_context().command.params:
        if option.name == parameter and isinstance(option, click.Option):
            return option.opts[0]
    return f"--set {parameter}" if parameter in declared() else parameter


@contextmanager
def errors_name_options() -> Iterator[None]:
    """Let errors name options as the command line does: --rate and --set decay instead of rate and decay."""
    try:
        yield
    except SapoError as error:
        message = PARAMETER.sub(lambda found: option_name(found[0]), str(error))
        raise OptionError(message) from error


def parse_class_weight(text: str) -> dict[str, float] | str:
    """Return the weights in a text such as B-X=2,I-X=2; a text without = is returned as it is.

    >>> parse_class_weight("B-X=2,O=0.5")
    {'B-X': 2.0, 'O': 0.5}
    """
    if "=" not in text:
        return text
    weights: dict[str, float] = {}
    for label, weight in parse_numbers([text], "--class-weight"):
        if label in weights:
            raise OptionError(f"--class-weight has two weights for '{label}'; give one")
        weights[label] = weight
    return weights


def unused_options(plan: "Plan", given: Collection[str]) -> list[str]:
    """Return a message for each of the given settings that changes nothing in this run."""
    names = _of_no_use(plan.learner)
    told = [f"{option_name(name)} is not used by {plan.learner}" for name in given if name in names]
    settings = plan.settings
    for name, unused, reason in (
        ("width", settings.search != "beam", "it is the width of --set search=beam"),
        ("decay", settings.schedule == "fixed", "--set schedule=fixed keeps the rate"),
        ("strength", settings.regularizer == "none", "--set regularizer=none has no strength"),
        ("patience", plan.dev is None, "it counts dev scores; give --dev FILE"),
    ):
        if name in given and name not in names and unused:
            told.append(f"{option_name(name)} is not used: {reason}")
    return told


def _of_no_use(name: str) -> set[str]:
    """Return the settings that a learner does not use."""
    from sapo.learn import LEARNERS
    from sapo.learn.batch_crf import CRF_LBFGS
    from sapo.neural.options import LAYERS

    if name in LAYERS:
        nbest = () if LAYERS[name] == "sapo" else ("n", "stop_ratio")
        return {*PENALTY, "search", "width", "piece", "average", "hide", "exact", "all_pairs", *nbest}
    if name == CRF_LBFGS:
        return {"n", *RATE, *SEARCH, "piece", "average", "hide", "order", "seed"}
    learner, unused = LEARNERS[name], set[str]()
    if not learner.n_best:
        unused |= {"n", "stop_ratio"}
    if not learner.regularized:
        unused |= {*RATE, *PENALTY, "stop_ratio"}
    if not name.startswith(("sapo", "mira")):  # these sum over all taggings, or take the best one
        unused |= {*SEARCH}
    if not learner.all_labels:
        unused |= {"all_pairs"}
    return unused
