"""Raw text in, sentences and tokens with their character offsets out, by rules that a model learns and keeps."""

from sapo.text.evidence import Evidence
from sapo.text.learning import learn_rules, rules_of
from sapo.text.rules import Rules
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
