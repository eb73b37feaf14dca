"""Answer the external recommender of INCEpTION, which sends documents as CAS in XMI.

    POST /predict   {"metadata": {"layer": "…NamedEntity", "feature": "value", …}, "document": {"xmi": "…", …},
                     "typeSystem": "…"}  → {"document": "…"}, the same document with predictions
    POST /train     {"metadata": {…}, "documents": [{"xmi": "…", …}, …], "typeSystem": "…"}  → 204

dkpro-cassis reads and writes the documents; it also counts characters as Python does, where UIMA counts as Java does.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sapo.apps.assist.helper import Foreign, Helper, Route, document_of
from sapo.apps.limits import RequestLimits
from sapo.corpus.exchange.documents import Document, Offsets
from sapo.errors import SapoError

if TYPE_CHECKING:
    from cassis import Cas

SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
TOKEN = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
PREDICTED = "inception_internal_predicted"
SCORE = "{feature}_score"


class Metadata(Foreign):
    """Which feature of which layer is meant."""

    layer: str
    feature: str


class CasDocument(Foreign):
    """A document."""

    xmi: str
    documentId: int | str | None = None  # noqa: N815


class CasPredictRequest(Foreign):
    """Ask for predictions in a document."""

    metadata: Metadata
    document: CasDocument
    typeSystem: str  # noqa: N815


class CasTrainRequest(Foreign):
    """All documents with their annotations so far."""

    metadata: Metadata
    documents: list[CasDocument]
    typeSystem: str  # noqa: N815


class Inception:
    """Answers INCEpTION with a helper."""

    def __init__(self, helper: Helper, limits: RequestLimits) -> None:
        self._helper, self._limits = helper, limits
        self.gets: Mapping[str, Callable[[], Any]] = {"/health": self._health}
        self.posts: Mapping[str, Route] = {
            "/predict": Route(CasPredictRequest, self._predict),
            "/train": Route(CasTrainRequest, self._train, 204),
        }

    def _health(self) -> dict[str, Any]:
        return {"status": "UP", "model_version": self._helper.version}

    def _predict(self, request: CasPredictRequest) -> dict[str, Any]:
        layer, feature = request.metadata.layer, request.metadata.feature
        cas = read_cas(request.document.xmi, request.typeSystem, layer)
        for old in list(cas.select(layer)):
            if old.get(PREDICTED):
                cas.remove(old)
        sentences = sentences_of(cas)
        self._limits.check_tokens(sum(map(len, sentences)))
        made = cas.typesystem.get_type(layer)
        names = {one.name for one in made.all_features}
        for missing in {feature, PREDICTED} - names:
            raise SapoError(f"the layer {layer} has no feature {missing}")
        for mark in self._helper.suggest_for_tokens(cas.sofa_string or "", sentences).marks:
            fields: dict[str, Any] = {"begin": mark.start, "end": mark.end, PREDICTED: True, feature: mark.label}
            if SCORE.format(feature=feature) in names:
                fields[SCORE.format(feature=feature)] = round(mark.probability, 6)
            cas.add(made(**fields))
        return {"document": cas.to_xmi()}

    def _train(self, request: CasTrainRequest) -> None:
        documents = [_document(one, request.metadata, request.typeSystem) for one in request.documents]
        self._helper.learn(documents, marked_only=True)


def need_cassis() -> None:
    """Raise SapoError if dkpro-cassis is not installed."""
    try:
        import cassis as _  # noqa: F401
    except ModuleNotFoundError:
        raise SapoError(
            "--inception needs the package dkpro-cassis; install it with pip install 'sapo-nlp[inception]'"
        ) from None


def read_cas(xmi: str, typesystem: str, layer: str) -> "Cas":
    """Read a document. Raise SapoError if it is not one, or does not have the layer."""
    from cassis import load_cas_from_xmi, load_typesystem

    for text in (xmi, typesystem):
        if "<!DOCTYPE" in text or "<!ENTITY" in text:  # entities could grow without end
            raise SapoError("the document must not have declarations such as <!DOCTYPE>")
    try:
        types = load_typesystem(typesystem)
        cas = load_cas_from_xmi(xmi, types)
    except Exception as error:  # cassis and lxml raise many kinds
        raise SapoError(f"the document is not a CAS in XMI with its type system: {error!s:.200}") from None
    for name in (SENTENCE, TOKEN, layer):
        if not types.contains_type(name):
            raise SapoError(f"the type system has no type {name}")
    return cas


def sentences_of(cas: "Cas") -> list[Offsets]:
    """Return the tokens of each sentence; sentences without tokens are left out."""
    covered = ([(token.begin, token.end) for token in cas.select_covered(TOKEN, one)] for one in cas.select(SENTENCE))
    return [tokens for tokens in covered if tokens]


def _document(document: CasDocument, metadata: Metadata, typesystem: str) -> Document:
    cas = read_cas(document.xmi, typesystem, metadata.layer)
    sentences = sentences_of(cas)
    marks = [
        (one.begin, one.end, str(one.get(metadata.feature)))
        for one in cas.select(metadata.layer)
        if one.get(metadata.feature) and not one.get(PREDICTED)
    ]
    tokens = [token for sentence in sentences for token in sentence]
    starts = [sentence[0][0] for sentence in sentences]
    return document_of(f"document {document.documentId}", cas.sofa_string or "", marks, tokens, starts)
