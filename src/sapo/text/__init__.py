"""Raw text in, sentences and tokens with their character offsets out, by rules that a model learns and keeps."""

from typing import TYPE_CHECKING, Any

from sapo.text.rules import Rules
from sapo.text.splitter import Offsets, Splitter, checked_sentences, last_paragraph_end

if TYPE_CHECKING:
    from sapo.text.evidence import Evidence
    from sapo.text.learning import learn_rules, rules_of

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


def __getattr__(name: str) -> Any:
    """Load what learns rules when it is first used: tagging does not need it."""
    if name == "Evidence":
        from sapo.text.evidence import Evidence

        return Evidence
    if name in ("learn_rules", "rules_of"):
        from sapo.text import learning

        return getattr(learning, name)
    raise AttributeError(f"module 'sapo.text' has no attribute {name!r}")
