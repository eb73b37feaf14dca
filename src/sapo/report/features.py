"""Why our counts of raw features are not the paper's, task by task."""

_SAME_SOURCE = "The paper takes the templates of Tsuruoka et al. (2009) and gives neither windows nor cut-offs; "
REASONS = {
    "chunking": _SAME_SOURCE + "ours are those of the CRF++ example, without a cut-off, for all kinds of phrases.",
    "chunking-np": _SAME_SOURCE
    + "ours are those of the CRF++ example, without a cut-off; the features do not depend on "
    "the labels, so that they are as many as for all phrases.",
    "bioner": _SAME_SOURCE
    + "the training file at hand is a rebuild (18,546 sentences, the paper has 17,484), and it has "
    "no columns of parts of speech and chunks for the test set, which the paper's features use.",
    "pos-xpos": "Another corpus: the paper's sections of the Wall Street Journal (38,219 sentences) are not "
    "free, ours is "
    "the English Web Treebank with its Penn tags.",
    "pos-upos": "Another corpus and other tags: the English Web Treebank with the universal tags.",
    "pos-wsj": "A small part of the paper's corpus: only a sample of the Wall Street Journal is free.",
}
ELSEWHERE = "The paper has no such task, or the run does not say how many features it has."


def reason(task: str, features: int, paper_features: int | None) -> str:
    """
    >>> reason("chunking", 264818, 264818)
    'The same number.'
    """
    if paper_features is None:
        return ELSEWHERE
    return "The same number." if features == paper_features else REASONS.get(task, "Another corpus or other templates.")
