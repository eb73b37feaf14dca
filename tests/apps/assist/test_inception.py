"""The messages of INCEpTION's external recommender."""

from collections.abc import Callable
from typing import Any

import pytest

cassis = pytest.importorskip("cassis", reason="--inception needs the extra inception")

Make = Callable[..., Any]
SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
TOKEN = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
PREDICTED = "inception_internal_predicted"
LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"


def typesystem(*features: str) -> Any:
    made = cassis.TypeSystem()
    made.create_type(SENTENCE)
    made.create_type(TOKEN)
    layer = made.create_type(LAYER)
    for name in features or ("value",):
        made.create_feature(layer, name, "uima.cas.String")
    made.create_feature(layer, PREDICTED, "uima.cas.Boolean")
    made.create_feature(layer, "value_score", "uima.cas.Double")
    return made


def document(types: Any, sentences: list[list[str]], *marks: tuple[int, int, str], **more: Any) -> Any:
    """Return a CAS whose tokens are divided by blanks and its sentences by line ends."""
    cas = cassis.Cas(types)
    cas.sofa_string = "\n".join(" ".join(words) for words in sentences)
    cas.sofa_mime = "text"
    at = 0
    for words in sentences:
        begin = at
        for word in words:
            cas.add(types.get_type(TOKEN)(begin=at, end=at + len(word)))
            at += len(word) + 1
        cas.add(types.get_type(SENTENCE)(begin=begin, end=at - 1))
    for start, end, label in marks:
        cas.add(types.get_type(LAYER)(begin=start, end=end, value=label, **more))
    return cas


def message(cas: Any, types: Any, *, training: bool = False) -> dict[str, Any]:
    metadata = {
        "layer": LAYER,
        "feature": "value",
        "projectId": 1337,
        "anchoringMode": "tokens",
        "crossSentence": False,
        "range": {"begin": 0, "end": 10},
    }
    sent = {"xmi": cas.to_xmi(), "documentId": 42, "userId": "anna"}
    documents = {"documents": [sent]} if training else {"document": sent}
    return {"metadata": metadata, "typeSystem": types.to_xml(), **documents}


def marks(reply: Any, types: Any) -> list[tuple[str, str, bool]]:
    assert reply.status == 200, reply.body
    cas = cassis.load_cas_from_xmi(reply.json["document"], types)
    return [(one.get_covered_text(), one.value, bool(one.get(PREDICTED))) for one in cas.select(LAYER)]


def test_predictions_are_in_the_layer_and_say_what_they_are(client: Make) -> None:
    types = typesystem()
    cas = document(types, [["We", "live", "in", "Oslo", "."], ["Anna", "is", "at", "home", "."]])
    reply = client("inception").post("/predict", message(cas, types))
    assert marks(reply, types) == [("Oslo", "LOC", True), ("Anna", "PER", True)]
    first = cassis.load_cas_from_xmi(reply.json["document"], types).select(LAYER)[0]
    assert 0 < first.value_score <= 1


def test_annotations_of_people_stay_and_old_predictions_go(client: Make) -> None:
    types = typesystem()
    cas = document(types, [["We", "live", "in", "Oslo", "."]], (0, 2, "PER"))
    cas.add(types.get_type(LAYER)(begin=3, end=7, value="OLD", **{PREDICTED: True}))
    found = marks(client("inception").post("/predict", message(cas, types)), types)
    assert sorted(found) == [("Oslo", "LOC", True), ("We", "PER", False)]


def test_training_learns_marked_sentences_once(client: Make) -> None:
    types, recommender = typesystem(), client("inception")
    words = ["The", "offices", "of", "Acme", "are", "closed", "."]
    cas = document(types, [words, ["Nobody", "looked", "at", "this"]], (15, 19, "ORG"))
    reply = recommender.post("/train", message(cas, types, training=True))
    assert (reply.status, reply.body) == (204, b"")
    assert recommender.helper.version == "towns-4"
    recommender.post("/train", message(cas, types, training=True))
    assert recommender.helper.version == "towns-4"
    assert ("Acme", "ORG", True) in marks(recommender.post("/predict", message(document(types, [words]), types)), types)


def test_offsets_are_those_of_java(client: Make) -> None:
    types = typesystem()
    cas = document(types, [["😀", "We", "live", "in", "Oslo", "."]])
    reply = client("inception").post("/predict", message(cas, types))
    assert marks(reply, types) == [("Oslo", "LOC", True)]
    assert 'begin="14" end="18"' in reply.json["document"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"typeSystem": "<x/>"}, "CAS in XMI|no type"),
        ({"document": {"xmi": "no", "documentId": 1}}, "CAS in XMI"),
        ({"document": {"xmi": '<!DOCTYPE a [<!ENTITY b "c">]><a/>'}}, "declarations"),
        ({"metadata": {"layer": "no.such.Layer", "feature": "value"}}, "no type no.such.Layer"),
        ({"metadata": {"layer": LAYER, "feature": "other"}}, "no feature other"),
        ({"metadata": {"layer": LAYER}}, "missing required field `feature`"),
    ],
)
def test_a_message_that_cannot_be_answered_gets_one_line(client: Make, change: dict[str, Any], told: str) -> None:
    types = typesystem()
    sent = {**message(document(types, [["Oslo"]]), types), **change}
    reply = client("inception").post("/predict", sent)
    assert reply.status == 422
    assert any(one in reply.json["error"] for one in told.split("|"))
    assert "\n" not in reply.json["error"]


def test_an_unknown_path_is_refused_with_those_there_are(client: Make) -> None:
    reply = client("inception").get("/nothing")
    assert reply.status == 404
    assert "/predict" in reply.json["error"]
