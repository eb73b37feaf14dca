"""Why our counts of raw features are not the paper's, task by task."""

from laboratory.report.run_records import RunRecord

PAPER_SENTENCES = {
    "chunking": 8_936,
    "chunking-np": 8_936,
    "bioner": 17_484,
    "pos-xpos": 38_219,
    "pos-upos": 38_219,
    "pos-wsj": 38_219,
}
_TEMPLATES = "The paper uses the templates of Tsuruoka et al. (2009) and states neither windows nor cut-offs."
_COLUMNS = "Its columns of parts of speech and chunks are not at hand, so that features of these differ."
_OTHER_CORPUS = "Another corpus: ours is the English Web Treebank, the paper's the Wall Street Journal."
REASONS = {
    "chunking": _TEMPLATES,
    "chunking-np": f"{_TEMPLATES} Features do not depend on the labels: they are those of all phrases.",
    "bioner": f"{_TEMPLATES} {_COLUMNS}",
    "pos-xpos": f"{_OTHER_CORPUS} {_TEMPLATES}",
    "pos-upos": f"{_OTHER_CORPUS} {_TEMPLATES}",
    "pos-wsj": _TEMPLATES,
}


def reason(run: RunRecord) -> str:
    """Say why a run's number of features is not the paper's; the sizes of the training sets are part of it."""
    if run.paper_features is None:
        return "The run does not tell the paper's number."
    if run.features == run.paper_features:
        return "The same number."
    known, theirs = REASONS.get(run.task, "Another corpus or other templates."), PAPER_SENTENCES.get(run.task)
    if theirs is None or theirs == run.train_sentences:
        return known
    return f"{known} Training sentences: {run.train_sentences:,}, in the paper {theirs:,}."
