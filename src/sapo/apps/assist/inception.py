"""Answer the external recommender of INCEpTION, which sends documents as CAS in XMI.

    POST /predict   {"metadata": {"layer": "…NamedEntity", "feature": "value", …}, "document": {"xmi": "…", …},
                     "typeSystem": "…"}  → {"document": "…"}, the same document with predictions
    POST /train     {"metadata": {…}, "documents": [{"xmi": "…", …}, …], "typeSystem": "…"}  → 204

dkpro-cassis reads and writes the documents; it also counts characters as Python does, where UIMA counts as Java does.
"""

import itertools
import re
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from sapo.apps.assist.helper import Foreign, Helper, Route, document_of
from sapo.apps.limits import LISTS, RequestLimits, TokenCount
from sapo.corpus.annotations import CharSpan
from sapo.errors import SapoError, pip_install

if TYPE_CHECKING:
    from cassis import Cas, TypeSystem

SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
TOKEN = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
PREDICTED = "inception_internal_predicted"
SCORE = "{feature}_score"
LONGEST_TYPES = 2_000_000  # characters of a type system
MOST_COST = 500_000  # some ten seconds; the hundreds of types of DKPro Core cost a tenth of this
DEEPEST = 100  # types above a type
_DECLARATION = re.compile(r"\A(?:[\ufeff\s]*<\?xml\s.*?\?>)*[\ufeff\s]*", re.DOTALL)
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x10000))))
_OTHER = re.compile(r"<!(?!--|\[CDATA\[)|\x00")


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
        types = read_types(request.typeSystem, layer)
        cas = read_cas(request.document.xmi, types, self._limits)
        with _as_sapo_error():
            for old in list(cas.select(layer)):
                if old.get(PREDICTED):
                    cas.remove(old)
        sentences = list(TokenCount(self._limits)(sentences_of(cas)))
        made = cas.typesystem.get_type(layer)
        names = {one.name for one in made.all_features}
        for missing in {feature, PREDICTED} - names:
            raise SapoError(f"the layer {layer} has no feature {missing}")
        marks = self._helper.suggest_for_tokens(cas.sofa_string or "", sentences).marks
        with _as_sapo_error():
            for mark in marks:
                fields: dict[str, Any] = {feature: mark.label, "begin": mark.start, "end": mark.end, PREDICTED: True}
                if SCORE.format(feature=feature) in names:
                    fields[SCORE.format(feature=feature)] = round(mark.probability, 6)
                cas.add(made(**fields))
            return {"document": cas.to_xmi()}

    def _train(self, request: CasTrainRequest) -> None:
        types = read_types(request.typeSystem, request.metadata.layer)
        count = TokenCount(self._limits.for_training())
        documents = []
        for one in request.documents:
            cas = read_cas(one.xmi, types, self._limits)
            place = f"document {one.documentId}"
            marks = marks_of_people(cas, request.metadata)
            documents.append(document_of(place, cas.sofa_string or "", marks, list(count(sentences_of(cas)))))
        self._helper.learn(documents, marked_only=True)


def need_cassis() -> None:
    """Raise SapoError if dkpro-cassis is not installed."""
    try:
        import cassis as _  # noqa: F401
    except ModuleNotFoundError:
        raise SapoError(f"--tool inception needs the package dkpro-cassis: {pip_install('inception')}") from None


def read_types(typesystem: str, layer: str) -> "TypeSystem":
    """Read a type system. Raise SapoError if it is not one, is too large, or does not have the layer."""
    from cassis import load_typesystem

    plain = _plain(typesystem)
    if len(plain) > LONGEST_TYPES:
        raise SapoError(f"the type system may have {LONGEST_TYPES:,} characters, not {len(plain):,}")
    with _as_sapo_error():
        if (cost := _cost(ElementTree.fromstring(plain))) > MOST_COST:
            raise SapoError(f"the type system is too large: the squares of the features of its types sum up to {cost}")
        types = load_typesystem(plain)
    for name in (SENTENCE, TOKEN, layer):
        if not types.contains_type(name):
            raise SapoError(f"the type system has no type {name}")
    return types


def _cost(root: ElementTree.Element) -> int:
    """Return how much work it is to read a type system: cassis makes a new class for each feature it has or inherits.

    So a type with f features costs f². A chain of 300 types, each with one feature more, takes minutes.
    """
    above: dict[str, str] = {}
    features: Counter[str] = Counter()
    for one in root.iter():
        if one.tag.rpartition("}")[2] == "typeDescription":
            name = (one.findtext("{*}name") or "").strip()
            above[name] = (one.findtext("{*}supertypeName") or "").strip()
            features[name] += len(one.findall("{*}features/{*}featureDescription"))
    cost = 0
    for name in above:
        number, known = 0, set[str]()
        while name in above and name not in known:
            known.add(name)
            if len(known) > DEEPEST:
                raise SapoError(f"the type system has a type with more than {DEEPEST} types above it")
            number, name = number + features[name], above[name]
        cost += (number + 3) ** 2  # each annotation also has sofa, begin and end
    return cost


def read_cas(xmi: str, types: "TypeSystem", limits: RequestLimits) -> "Cas":
    """Read a document. Raise SapoError if it is not one, or is too large."""
    from cassis import load_cas_from_xmi

    plain, most = _plain(xmi), LISTS * limits.tokens
    if plain.count("<") > most:
        raise SapoError(f"a document may have at most {most} elements; send it in parts")
    for one in plain.split("<"):  # attributes are separated by blanks, and so are the numbers in an attribute
        if len(one) > most and sum(map(one.count, _BLANKS)) > most:
            raise SapoError(f"an element of a document may have at most {most} blanks; send it in parts")
    with _as_sapo_error():
        return load_cas_from_xmi(plain, types)


def _plain(xml: str) -> str:
    """Return XML without its first line, which might name another encoding. Raise SapoError if it has declarations."""
    plain = _DECLARATION.sub("", xml)
    if _OTHER.search(plain):  # entities could grow without end, and NUL hints at another encoding
        raise SapoError("the document must not have declarations such as <!DOCTYPE>")
    return plain


@contextmanager
def _as_sapo_error() -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Not mapping .* offset")  # each warning takes as long as the text is
            yield
    except SapoError:
        raise
    except Exception as error:  # cassis and lxml raise many kinds
        text = " ".join(f"{error}".split())
        raise SapoError(f"the document is not a CAS in XMI with its type system: {text:.200}") from None


def sentences_of(cas: "Cas") -> Iterator[list[tuple[int, int]]]:
    """Yield the tokens of each sentence; sentences without tokens are left out, and tokens outside of sentences.

    Of sentences that overlap, a token belongs to the one that begins last.
    """
    sentences, tokens = _places(cas, SENTENCE), _places(cas, TOKEN)
    starts = [start for start, _ in sentences]
    inside = ((bisect_right(starts, start) - 1, start, end) for start, end in tokens)
    covered = ((number, (start, end)) for number, start, end in inside if number >= 0 and end <= sentences[number][1])
    for _, own in itertools.groupby(covered, key=lambda one: one[0]):
        yield [token for _, token in own]


def _places(cas: "Cas", type: str) -> list[tuple[int, int]]:
    with _as_sapo_error():
        found = [(one.begin, one.end) for one in cas.select(type)]
    if not all(isinstance(at, int) for one in found for at in one):
        raise SapoError(f"the document has a {type.rpartition('.')[2]} without begin or end")
    return sorted(found)


def marks_of_people(cas: "Cas", metadata: Metadata) -> list[CharSpan]:
    """Return what people have marked in a layer."""
    with _as_sapo_error():
        made = [
            (one.begin, one.end, one.get(metadata.feature))
            for one in cas.select(metadata.layer)
            if one.get(metadata.feature) and not one.get(PREDICTED)
        ]
    for start, end, label in made:
        if not (isinstance(start, int) and isinstance(end, int) and isinstance(label, str | int | float)):
            raise SapoError(f"an annotation of {metadata.layer} has no begin, no end, or no text as {metadata.feature}")
    return [CharSpan(start, end, str(label)) for start, end, label in made]
