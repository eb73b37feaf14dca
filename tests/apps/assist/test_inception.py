"""The messages of INCEpTION's external recommender."""

from collections.abc import Callable
from typing import Any

import pytest

cassis = pytest.importorskip("cassis", reason="--tool inception needs the extra inception")

Make = Callable[..., Any]
TYPE = (
    "<typeDescription><name>{name}</name><description/><supertypeName>{above}</supertypeName>"
    "<features>{features}</features></typeDescription>"
)
FEATURE = (
    "<featureDescription><name>{name}</name><description/><rangeTypeName>uima.cas.String</rangeTypeName>"
    "</featureDescription>"
)
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


def test_a_declaration_in_another_encoding_is_not_read(client: Make) -> None:
    types = typesystem()
    xmi = document(types, [["Oslo"]]).to_xmi().partition("?>")[2]
    hidden = '<!DOCTYPE a [<!ENTITY b "c">]>'.encode("utf-7").decode()
    for head in (
        '<?xml version="1.0" encoding="UTF-7"?>',
        "<?xml version='1.0' encoding='UTF-7' standalone='>'?>",
        '<?xml version="1.0"?><?xml version="1.0" encoding="UTF-7"?>',
        '\ufeff <?xml version="1.0" encoding="UTF-7"?>',
    ):
        sent = {**message(document(types, [["Oslo"]]), types), "document": {"xmi": head + hidden + xmi}}
        assert client("inception").post("/predict", sent).status == 422
        sent["document"]["xmi"] = head + xmi  # what the head says does not count: JSON is UTF-8
        assert client("inception").post("/predict", sent).status == 200


def test_sentences_that_overlap_share_no_token(client: Make) -> None:
    types = typesystem()
    cas = document(types, [["We", "live", "in", "Oslo", "."]])
    for begin in (0, 0, 3, 8):
        cas.add(types.get_type(SENTENCE)(begin=begin, end=17))
    from sapo.apps.assist.inception import sentences_of

    assert [len(sentence) for sentence in sentences_of(cas)] == [1, 1, 3]
    assert marks(client("inception").post("/predict", message(cas, types)), types) == [("Oslo", "LOC", True)]


def test_a_type_system_that_would_take_minutes_is_refused(client: Make) -> None:
    types, made = typesystem(), typesystem()
    xml = made.to_xml()
    for depth, told in ((101, "more than 100 types above it"), (100, "sum up to")):
        chain, above = "", "uima.tcas.Annotation"
        for number in range(depth):
            features = "".join(FEATURE.format(name=f"f{number}_{one}") for one in range(4))
            chain += TYPE.format(name=f"a.T{number}", above=above, features=features)
            above = f"a.T{number}"
        sent = {
            **message(document(types, [["Oslo"]]), types),
            "typeSystem": xml.replace("</types>", chain + "</types>"),
        }
        reply = client("inception").post("/predict", sent)
        assert (reply.status, told in reply.json["error"]) == (422, True)


@pytest.mark.parametrize(
    ("xmi", "told"),
    [
        ("<a>" + "<b/>" * 500_001 + "</a>", "at most 500000 elements"),
        ('<a members="' + "1 " * 500_001 + '"/>', "at most 500000 blanks"),
        ("<a b='\x00'/>", "declarations"),
    ],
)
def test_a_document_that_is_too_large_is_refused(client: Make, xmi: str, told: str) -> None:
    types = typesystem()
    sent = {**message(document(types, [["Oslo"]]), types), "document": {"xmi": xmi}}
    reply = client("inception").post("/predict", sent)
    assert (reply.status, told in reply.json["error"]) == (422, True)


@pytest.mark.filterwarnings("ignore")  # as outside of the tests
def test_offsets_that_are_half_of_an_emoji_are_refused(client: Make) -> None:
    types = typesystem()
    sent = message(document(types, [["😀", "Oslo"]]), types)
    sent["document"]["xmi"] = sent["document"]["xmi"].replace('begin="0" end="2"', 'begin="0" end="1"')
    reply = client("inception").post("/predict", sent)
    assert (reply.status, "Not mapping external offset [1]" in reply.json["error"]) == (422, True)


def test_an_unknown_path_is_refused_with_those_there_are(client: Make) -> None:
    reply = client("inception").get("/nothing")
    assert reply.status == 404
    assert "/predict" in reply.json["error"]
