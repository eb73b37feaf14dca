"""What labels mean: schemes, spans, constraints and rules, all from one table of letters. Reads no files."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapo.tags.bans import scheme_bans
    from sapo.tags.constraints import Constraints, bans_of, find_constraints
    from sapo.tags.feasibility import impossible_length, impossible_sentence
    from sapo.tags.kinds import LabelKinds, label_kinds
    from sapo.tags.learned_labels import LearnedLabels, learn_as, shown_name
    from sapo.tags.letters import SCHEMES, TABLE
    from sapo.tags.loose_reading import joined, loose_spans, span_borders, type_of
    from sapo.tags.missing import MISSING, open_missing, refuse_missing
    from sapo.tags.morphology import in_order, read_morphology, split_pos
    from sapo.tags.notation import UNTYPED, Notation, as_prefixed, looks_like_spans, notation_of, prefixed
    from sapo.tags.recognition import recognise, recognise_scheme, strict_scheme
    from sapo.tags.rules import parse_rules
    from sapo.tags.span_arrays import Spans, read_spans
    from sapo.tags.spans import Span, check_token_span, convert_tags, spans_to_tags, tags_to_spans
    from sapo.tags.transitions import transition_counts

# the module of each name: it is loaded when the name is first used, since tagging needs few of them
_HOME = {
    "scheme_bans": "bans",
    "Constraints": "constraints",
    "bans_of": "constraints",
    "find_constraints": "constraints",
    "impossible_length": "feasibility",
    "impossible_sentence": "feasibility",
    "LabelKinds": "kinds",
    "label_kinds": "kinds",
    "LearnedLabels": "learned_labels",
    "learn_as": "learned_labels",
    "shown_name": "learned_labels",
    "SCHEMES": "letters",
    "TABLE": "letters",
    "joined": "loose_reading",
    "loose_spans": "loose_reading",
    "span_borders": "loose_reading",
    "type_of": "loose_reading",
    "MISSING": "missing",
    "open_missing": "missing",
    "refuse_missing": "missing",
    "in_order": "morphology",
    "read_morphology": "morphology",
    "split_pos": "morphology",
    "UNTYPED": "notation",
    "Notation": "notation",
    "as_prefixed": "notation",
    "looks_like_spans": "notation",
    "notation_of": "notation",
    "prefixed": "notation",
    "recognise": "recognition",
    "recognise_scheme": "recognition",
    "strict_scheme": "recognition",
    "parse_rules": "rules",
    "Spans": "span_arrays",
    "read_spans": "span_arrays",
    "Span": "spans",
    "check_token_span": "spans",
    "convert_tags": "spans",
    "spans_to_tags": "spans",
    "tags_to_spans": "spans",
    "transition_counts": "transitions",
}

__all__ = [
    "MISSING",
    "SCHEMES",
    "TABLE",
    "UNTYPED",
    "Constraints",
    "LabelKinds",
    "LearnedLabels",
    "Notation",
    "Span",
    "Spans",
    "as_prefixed",
    "bans_of",
    "check_token_span",
    "convert_tags",
    "find_constraints",
    "impossible_length",
    "impossible_sentence",
    "in_order",
    "joined",
    "label_kinds",
    "learn_as",
    "looks_like_spans",
    "loose_spans",
    "notation_of",
    "open_missing",
    "parse_rules",
    "prefixed",
    "read_morphology",
    "read_spans",
    "recognise",
    "recognise_scheme",
    "refuse_missing",
    "scheme_bans",
    "shown_name",
    "span_borders",
    "spans_to_tags",
    "split_pos",
    "strict_scheme",
    "tags_to_spans",
    "transition_counts",
    "type_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sapo.tags' has no attribute {name!r}")
    return getattr(import_module(f"sapo.tags.{_HOME[name]}"), name)
