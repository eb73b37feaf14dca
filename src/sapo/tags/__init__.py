"""Define what labels mean: schemes, spans, constraints and rules."""
