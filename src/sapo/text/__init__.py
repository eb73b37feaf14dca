"""Raw text in, sentences and tokens with their character offsets out, by rules that a model learns and keeps."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sapo.text.rules import Rules

if TYPE_CHECKING:
    from sapo.text.evidence import Evidence
    from sapo.text.learning import learn_rules, rules_of
    from sapo.text.splitter import Offsets, Splitter, checked_sentences, last_paragraph_end

__all__ = [
    "Evidence",
    "Offsets",
    "Rules",
    "Splitter",
    "checked_sentences",
    "last_paragraph_end",
    "learn_rules",
    "rules_of",
]


_HOME = {
    "Evidence": "evidence",
    "Offsets": "splitter",
    "Splitter": "splitter",
    "checked_sentences": "splitter",
    "last_paragraph_end": "splitter",
    "learn_rules": "learning",
    "rules_of": "learning",
}


def __getattr__(name: str) -> Any:
    """Load what splits text and learns rules when it is first used: tagging tokens does not need it."""
    if name not in _HOME:
        raise AttributeError(f"module 'sapo.text' has no attribute {name!r}")
    return getattr(import_module(f"sapo.text.{_HOME[name]}"), name)
