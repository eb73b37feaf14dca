"""Targets that read corpora, text, tables, templates, rules, word clusters, name lists and word vectors."""

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.doors import file, piped, room
from fuzz.target import ARRAYS, BYTES, JSON, Target, small
from sapo.check.doctor import examine
from sapo.corpus.formats import read
from sapo.corpus.sample import sample_path
from sapo.errors import DataError
from sapo.features.clusters import Clusters
from sapo.features.names import NameList
from sapo.features.strings import fields
from sapo.features.template import PRESETS, parse_templates, template_text
from sapo.features.vectors import read_vectors
from sapo.tagger.arrayfile import pack_arrays, unpack_arrays
from sapo.tags.constraints import Constraints, bans_of
from sapo.training.gold import read_rules

LABELS = ["O", "B-NP", "I-NP", "B-VP", "NN"]
MOST = 1000  # sentences that are looked at

SAMPLE = sample_path("train").read_bytes()[:600]
CONLLU = b"# text = Cats sing\n1\tCats\tcat\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
JSONL = (
    b'{"tokens": ["New", "York"], "tags": ["B-LOC", "I-LOC"], "pos": ["A", "B"]}\n{"tokens": ["a"], "tags": ["O"]}\n'
)
SPANS = '{"text": "Ann sees Köln", "label": [[0, 3, "PER"], [9, 13, "LOC"]], "spans": []}\n'.encode()
CSV = (
    'id;text;spans\n1;"Ann ""sees""\nKöln";0:3:PER; 11:15:LOC\n'.encode(),
    b"id,text,start,end,label\n1,Ann sees,0,3,PER\n1,,4,8,X\n",
    b"sentence_id,word,tag\n1,Ann,B-PER\n1,sees,O\n",
)
ARRAY = (
    b'[{"id": 1, "text": "Ann sees", "spans": [{"start": 0, "end": 3, "label": "P"}]}, {"text": "a", "spans": "0:1:X"}]'
)
PRODIGY = (
    b'{"text": "Ann sees", "tokens": [{"text": "Ann", "start": 0, "end": 3, "id": 0}], '
    b'"spans": [{"start": 0, "end": 3, "label": "P"}]}\n'
)
STUDIO = (
    b'[{"data": {"text": "Ann sees"}, "annotations": [{"result": [{"type": "labels", '
    b'"value": {"start": 0, "end": 3, "labels": ["P"], "text": "Ann"}}]}]}]'
)
CRFSUITE = b"B-NP\tw[0]=the\tpos=DT:2.5\nI-NP\tw[0]=cat\t__EOS__\n\nO\ta\\:b=1\n"
BRAT = b"Ann sees Rome .\nShe sings\x00T1\tPER 0 3\tAnn\nT2\tLOC 9 10;11 13\tRo me\n#1\tAnnotatorNotes T1\tx\n"
TEXT = "Mr. Smith didn't pay $5.50. “No!” he said… www.x.org a@b.de 東京です。\n\nNew paragraph 's n't".encode()
RULES = b"forbid B-NP B-VP\nallow O I-*\nstart O B-*\nend * # comment\n"
VECTORS = b"3 2\nthe 0.1 0.2\ncat -1 2e3\nNew York 1 1\n"
LISTS = (
    "# cities\nNew York\nÅrhus\nCoca-Cola\nDon't\n京都\n--\n".encode(),
    b'name,id\n"New\nYork",1\nO\'Neil,2\n',
    b'{"name": "New York", "id": 1}\n{"name": "U.S."}\n',
)
BINARY = b"2 3\nthe " + bytes(range(12)) + b"\ncat " + bytes(12) + b"\n"
# A table as JSON: the target writes it as Arrow, so that what is tried is what a sound file can hold.
NAMES = {"info": {"features": {"ner_tags": {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}}}}}
TABLES: list[Any] = [
    {"columns": {"tokens": [["Ann", "sings"], ["No"]], "ner_tags": [[1, 0], [0]]}, "huggingface": NAMES},
    {"columns": {"sentence": [1, 1, 2], "word": ["a", "b", "c"], "label": ["O", None, "B-X"]}, "huggingface": {}},
]


def _corpus(format: str) -> Callable[[bytes], None]:
    def use(data: bytes) -> None:
        with piped(data) as path:
            for number, _ in enumerate(read(path, format=format, labeled=_labeled(data, format))):
                if number > MOST:
                    break

    return use


def _labeled(data: bytes, format: str) -> bool:
    """Return whether to look for labels: for half of the inputs, and for text, which has none, never."""
    return format != "text" and len(data) % 2 == 0


def _check(data: bytes) -> None:
    examine([file("check.txt", data)])


def _brat(data: bytes) -> None:
    text, _, annotations = data.partition(b"\x00")
    path = file("a.txt", text)
    file("a.ann", annotations)
    list(read(path, format="brat", labeled=_labeled(data, "brat")))


def _docbin(data: bytes) -> None:
    path = file("a.spacy", zlib.compress(data, 1))
    list(read(path, format="spacy", labeled=_labeled(data, "spacy")))


def _docbin_seeds() -> list[bytes]:
    import spacy

    doc = spacy.tokens.Doc(spacy.vocab.Vocab(), words=["Ann", "sings", "."], ents=["B-PER", "O", "O"])
    doc[0].is_sent_start = True
    return [zlib.decompress(spacy.tokens.DocBin(docs=[doc]).to_bytes())]


def _arrow(data: bytes) -> None:
    path = file("a.parquet" if data.startswith(b"PAR1") else "a.arrow", data)
    list(read(path, labeled=_labeled(data, "arrow")))


def _arrow_seeds() -> list[bytes]:
    import pyarrow.parquet

    seeds = []
    for one in TABLES:
        table = _table(one)
        _write_stream(table)
        seeds.append((room() / "table.arrow").read_bytes())
        pyarrow.parquet.write_table(table, room() / "table.parquet")
        seeds.append((room() / "table.parquet").read_bytes())
    return seeds


def _tables(data: bytes) -> None:
    import pyarrow

    try:
        table = _table(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, pyarrow.ArrowException):
        return  # not a table that anybody could have written
    _write_stream(table)
    list(read(room() / "table.arrow", labeled=_labeled(data, "arrow")))


def _table(value: Any) -> Any:
    import pyarrow

    told = json.dumps(value["huggingface"])
    return pyarrow.table(value["columns"]).replace_schema_metadata({"huggingface": told})


def _write_stream(table: Any) -> None:
    import pyarrow

    with pyarrow.OSFile(str(room() / "table.arrow"), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as to:
        to.write_table(table)


def _tag_text(data: bytes) -> None:
    for sentence in small().tag_text(data.decode("utf-8", "replace")[:5000]).sentences:
        assert len(sentence.tokens) == len(sentence.tags)


def _template(data: bytes) -> None:
    parse_templates(data.decode("utf-8", "replace"), ["word", "pos", "chunk", "label"])


def _rules(data: bytes) -> None:
    with piped(data) as path:
        bans_of(Constraints(rules=tuple(read_rules(path))), LABELS)


def _vectors(data: bytes) -> None:
    read_vectors(file("vectors.txt", data))


def _clusters(data: bytes) -> None:
    _find_clusters(Clusters.read(file("clusters", data)))


def _cluster_arrays(data: bytes) -> None:
    try:
        clusters = Clusters.from_arrays(unpack_arrays(data, "clusters", "a list")[1], "c")
    except (ValueError, KeyError) as error:
        raise DataError(f"damaged: {error}") from None
    _find_clusters(clusters)


def _find_clusters(clusters: Clusters) -> None:
    words = ["in", "New", "1984", "", "\ufffd", "京"] * 5
    data, starts, ends = clusters.fields(*fields(words), np.array([0, len(words)]))
    assert len(starts) == len(ends) == len(words)
    assert ends.max() <= len(data)


def _cluster_seeds() -> list[bytes]:
    clusters = Clusters({"in": "00", "new": "010", "####": "011", "京": "1"})
    return [pack_arrays({}, {f"c.{key}": array for key, array in clusters.arrays().items()})]


def _names(data: bytes) -> None:
    ending = "jsonl" if data.startswith(b"{") else "csv" if b"," in data[:10] else "txt"
    _find_names(NameList.read(file(f"names.{ending}", data), any_case=len(data) % 2 == 0))


def _name_arrays(data: bytes) -> None:
    try:
        names = NameList.from_arrays(unpack_arrays(data, "names", "a list")[1], "list")
    except (ValueError, KeyError) as error:
        raise DataError(f"damaged: {error}") from None
    _find_names(names)


def _find_names(names: NameList) -> None:
    words = ["in", "New", "York", "O", "'Neil", "do", "n't", "don't", "京", "都", "--", "", "U.S."] * 5
    data, _, ends = names.fields(*fields(words), np.array([0, 7, 7, len(words)]))
    assert len(ends) == len(words)
    assert ends.max() <= len(data)


def _name_seeds() -> list[bytes]:
    names = NameList.of(["New York", "New York City", "York", "O'Neil", "Don't", "京都", "a b c d"])
    return [pack_arrays({}, {f"list.{key}": array for key, array in names.arrays().items()})]


def _given(*seeds: bytes) -> Callable[[], list[bytes]]:
    return lambda: list(seeds)


def _binary_seed() -> bytes:
    return b"1 2\nthe " + struct.pack("<2f", 1.5, -2.0) + b"\n"


def _tensor_seed() -> bytes:
    words = np.frombuffer("the\ncafé".encode(), np.uint8)
    return pack_arrays({}, {"vectors": np.array([[1.5, -2], [0, 1]], np.float16), "words": words})


READERS: dict[str, Target] = {
    "columns": Target(_corpus("columns"), _given(SAMPLE, SAMPLE.replace(b" ", b"\t"))),
    "conllu": Target(_corpus("conllu"), _given(CONLLU)),
    "jsonl": Target(_corpus("jsonl"), _given(JSONL, SPANS), JSON),
    "csv": Target(_corpus("csv"), _given(*CSV)),
    "json": Target(_corpus("json"), _given(ARRAY), JSON),
    "crfsuite": Target(_corpus("crfsuite"), _given(CRFSUITE)),
    "doccano": Target(_corpus("doccano"), _given(SPANS), JSON),
    "prodigy": Target(_corpus("prodigy"), _given(PRODIGY), JSON),
    "label-studio": Target(_corpus("label-studio"), _given(STUDIO), JSON),
    "brat": Target(_brat, _given(BRAT)),
    "spacy": Target(_docbin, _docbin_seeds, needs="spacy"),
    "arrow": Target(_arrow, _arrow_seeds, needs="pyarrow"),
    "tables": Target(_tables, lambda: [json.dumps(one).encode() for one in TABLES], JSON, needs="pyarrow"),
    "text": Target(_corpus("text"), _given(TEXT)),
    "tag-text": Target(_tag_text, _given(TEXT)),
    "check": Target(_check, _given(SAMPLE)),
    "templates": Target(_template, lambda: [template_text(name)[0].encode() for name in PRESETS]),
    "rules": Target(_rules, _given(RULES)),
    "clusters": Target(_clusters, _given(b"00\tin\t7\n010\tnew\t2\n", b"in\t3\nnew\t17\n", b'{"in": 6, "new": "010"}')),
    "cluster-arrays": Target(_cluster_arrays, _cluster_seeds, ARRAYS),
    "names": Target(_names, _given(*LISTS)),
    "name-arrays": Target(_name_arrays, _name_seeds, ARRAYS),
    "vectors": Target(_vectors, lambda: [VECTORS, BINARY, _binary_seed(), _tensor_seed()], BYTES),
}
