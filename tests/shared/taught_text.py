"""A short text, and its spans as a person would mark them, for tests of `sapo teach`."""

TEXT = """Anna Berg lives in Oslo. She works for Statoil. Ben moved to New York last year.
He met Anna in Paris. Nobody knows why. Statoil is in Norway. Ben likes Oslo.
"""
GOLD = {
    1: ["B-PER", "I-PER", "O", "O", "B-LOC", "O"],
    2: ["O", "O", "O", "B-ORG", "O"],
    3: ["B-PER", "O", "O", "B-LOC", "I-LOC", "O", "O", "O"],
    4: ["O", "O", "B-PER", "O", "B-LOC", "O"],
    5: ["O", "O", "O", "O"],
    6: ["B-ORG", "O", "O", "B-LOC", "O"],
    7: ["B-PER", "O", "B-LOC", "O"],
}
