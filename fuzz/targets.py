"""What is tried: all targets by name.

A target may raise SapoError, for this is how a mistake is reported. Anything else is a finding.
"""

import importlib.util
import re
import warnings

from fuzz.connections import CONNECTIONS
from fuzz.crafted import CRAFTED
from fuzz.projects import PROJECTS
from fuzz.readers import READERS
from fuzz.requests import REQUESTS
from fuzz.target import Target
from fuzz.trained import TRAINED
from sapo.errors import SapoError

TARGETS: dict[str, Target] = {**READERS, **CRAFTED, **REQUESTS, **CONNECTIONS, **PROJECTS, **TRAINED}
_VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|[^A-Za-z ]+")


def installed(name: str) -> bool:
    """Return whether the package that a target needs is there."""
    needs = TARGETS[name].needs
    return needs is None or importlib.util.find_spec(needs) is not None


def use(name: str, data: bytes) -> str:
    """Try an input on a target. Return the message about its mistake, without values, or ''.

    Whatever is raised is a finding.
    """
    try:
        TARGETS[name].use(data)
    except SapoError as error:
        return _VALUES.sub("", str(error)[:200])[:80]
    return ""


def quiet() -> None:
    """Show no warnings: hostile numbers give many."""
    warnings.simplefilter("ignore")
