"""The paths of the server: for each its form and its answer."""

from dataclasses import dataclass
from typing import Any

from sapo.teach import messages

ID = "{id}"


@dataclass(frozen=True, slots=True)
class Path:
    """A path: what it does, the form of its request, and that of its answer."""

    summary: str
    form: type[messages.Form]
    answer: Any


GETS = {
    "/api/project": Path("Describe the project", messages.Asked, messages.ProjectAnswer),
    "/api/sentences": Path("Give the next sentences", messages.SentencesForm, messages.SentencesAnswer),
    "/api/sentences/{id}/nbest": Path("Find the n best taggings", messages.NBestForm, messages.NBestAnswer),
    "/api/sentences/{id}/explain": Path("Explain a tag", messages.ExplainForm, messages.ExplainAnswer),
    "/api/slips": Path("List accepted sentences that the model contradicts", messages.Asked, messages.SlipsAnswer),
    "/api/disagreements": Path("List where people disagree", messages.Asked, messages.DisagreementsAnswer),
}
POSTS = {
    "/api/accept": Path("Accept a sentence", messages.AcceptForm, messages.ChangeAnswer),
    "/api/undo": Path("Take back the last sentence", messages.UndoForm, messages.ChangeAnswer),
    "/api/redo": Path("Bring back the last sentence", messages.UndoForm, messages.ChangeAnswer),
    "/api/labels": Path("Add a label", messages.LabelForm, messages.ProjectAnswer),
    "/api/lock": Path("Lock a sentence", messages.LockForm, messages.LockAnswer),
    "/api/unlock": Path("Give a sentence back", messages.LockForm, messages.LockAnswer),
}
EXPORT = "/api/export"
EVENTS = "/api/events"


def parse_path(path: str) -> tuple[str, int | None]:
    """Return a path with {id} for the number of the sentence, and this number.

    >>> parse_path("/api/sentences/12/nbest"), parse_path("/api/project")
    (('/api/sentences/{id}/nbest', 12), ('/api/project', None))
    """
    parts = path.split("/")
    if len(parts) == 5 and parts[1:3] == ["api", "sentences"] and parts[3].isdecimal() and len(parts[3]) < 16:
        return "/".join([*parts[:3], ID, parts[4]]), int(parts[3])
    return path, None
