"""Read models of CRF++, as text or binary, and of Wapiti.

Both tools make strings of templates, such as `U05:the/cat` of `U05:%x[-1,0]/%x[0,0]`, and give each string a weight for
every label, or for every pair of labels. Here a feature is the values that a template joins, so each string is taken
apart again: into all values that its templates could have made it of, because `U05:1/2/3` may be `1/2` and `3`, or `1`
and `2/3`. Each of these features gets the weights of the string. Positions outside the sentence are words to these
tools (`_B-1`, `_x+2`), and to Wapiti's regular expressions; here they are values of their own, with the same weights.

Nothing in a file is trusted: every index and size is checked before it is used.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from sapo import jit
from sapo.corpus.columns import name_columns
from sapo.errors import ModelError, SapoError, check_limit
from sapo.features.encoded import Pairs
from sapo.features.encoder import TemplateEncoder
from sapo.features.layout import FeatureLayout, tables_of, views_of
from sapo.features.strings import StringTable, within
from sapo.features.tables import INSERTION, Features, make_tables
from sapo.features.template import TemplateSet, parse_macros, parse_templates
from sapo.features.words import ColumnView, ViewValues
from sapo.jit.arrays import Floats, Longs, offsets_of, pieces_of
from sapo.search.lattice import Parameters, no_bans
from sapo.search.weights import FeatureRows
from sapo.tagger.model import Model

BINARY_HEADER = struct.Struct("<IidIII")  # version, type, cost factor, weights, columns, bytes of the double array
UNIT = np.dtype([("base", "<i4"), ("check", "<u4")])  # of a double array
STEPS, MOST_STEPS = 100, 1_000_000  # of taking strings apart: for each string on average, and in all
MEMM = 1  # the type of models of Wapiti whose probabilities are of one label at a time
WAPITI_OUTSIDE = 4  # how far positions outside the sentence have names of their own


@dataclass(frozen=True, slots=True)
class StringWeights:
    """The weights of strings: those of string s are `codes` and `values` from offsets[s] up to offsets[s + 1]."""

    offsets: Longs  # [strings + 1]
    codes: Longs  # a label, or p * labels + y for y after p
    values: Floats


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a file of either tool."""

    labels: list[str]
    lines: list[str]  # templates
    columns: int
    strings: list[bytes]
    nodes: StringWeights  # empty for strings without
    edges: StringWeights
    wapiti: bool


def model_from(data: bytes, tool: str, path: str | Path = "bytes") -> Model:
    """Return the model in the bytes of a file of `tool`: "CRF++ text", "CRF++ binary" or "Wapiti"."""
    read = {"CRF++ text": _read_text, "CRF++ binary": _read_binary, "Wapiti": _read_wapiti}[tool]
    try:
        contents = read(data, path)
        return _model(contents, path)
    except SapoError as error:
        raise error if str(error).startswith(f"{path}:") else ModelError(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path}: this {tool} model is not in UTF-8; convert its data, and train it again") from None
    except (ValueError, KeyError, IndexError, OverflowError, struct.error) as error:
        raise ModelError(f"{path}: not a {tool} model: its parts do not fit together ({error})") from None


def _checked_labels(labels: list[str], path: str | Path) -> list[str]:
    check_limit("labels", len(labels), path, "labels")
    check_limit("token", max(map(len, labels), default=0), path, "characters of a label")
    if not labels or "" in labels or len(set(labels)) != len(labels):
        raise ValueError("labels")
    return labels


def _read_text(data: bytes, path: str | Path) -> Contents:
    """Read what `crf_learn -t` writes: five parts with empty lines between them."""
    head, labels, templates, dictionary, weights = data.replace(b"\r\n", b"\n").split(b"\n\n", 4)
    fields = dict(line.split(b": ", 1) for line in head.split(b"\n"))
    names = _checked_labels(labels.decode().split("\n"), path)
    entries = [line.split(b" ", 1) for line in dictionary.split(b"\n")]
    numbers = np.array([int(number) for number, _ in entries], np.int64)
    values = np.array(weights.split(), np.float64)
    if len(values) != int(fields[b"maxid"]):
        raise ValueError("number of weights")
    lines, columns = templates.decode().split("\n"), int(fields[b"xsize"])
    return _crfpp(names, lines, columns, [string for _, string in entries], numbers, values)


def _read_binary(data: bytes, path: str | Path) -> Contents:
    """Read what `crf_learn` writes: a header, labels, templates, a double array of strings, and weights."""
    *_, count, columns, array_bytes = BINARY_HEADER.unpack_from(data)
    at, parts = BINARY_HEADER.size, []
    for _ in range(2):
        (size,) = struct.unpack_from("<I", data, at)
        parts.append(_piece(data, at + 4, size))
        at += 4 + size
    labels, templates = ([piece.decode() for piece in part.split(b"\0") if piece] for part in parts)
    strings, numbers = _strings_of(np.frombuffer(_piece(data, at, array_bytes), UNIT))
    values = np.frombuffer(_piece(data, at + array_bytes, 4 * count), "<f4")
    if at + array_bytes + 4 * count != len(data):
        raise ValueError("size")
    return _crfpp(_checked_labels(labels, path), templates, columns, strings, numbers, values)


def _piece(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError("its end is missing")
    return data[at : at + size]


def _strings_of(units: np.ndarray) -> tuple[list[bytes], Longs]:
    """Return the strings of a double array and their numbers.

    The child of a node by the byte c is the unit base + c + 1, whose check is base; the end of a string is the unit
    base, which has the number -1 - base. So the parent of a unit is the node whose base is its check.
    """
    base, check = units["base"].astype(np.int64), units["check"].astype(np.int64)
    number = np.arange(len(units))
    step = number - check  # the byte that leads to a unit, plus 1
    used = (check > 0) & (step >= 0) & (step <= 256)
    nodes = np.flatnonzero((base > 0) & (used | (number == 0)))
    by_base = nodes[np.argsort(base[nodes], kind="stable")]
    if len(np.unique(base[nodes])) != len(nodes):
        raise ValueError("double array")
    place = np.searchsorted(base[by_base], check)
    place[place == len(by_base)] = 0
    parent = by_base[place] if len(by_base) else number
    used &= base[parent] == check
    ends = np.flatnonzero(used & (step == 0) & (base < 0))
    parents, steps = parent.tolist(), step.tolist()
    known, strings, total = {0: b""}, list[bytes](), 0
    for end in ends.tolist():
        way, node = list[int](), parents[end]
        while node not in known:
            way.append(node)
            if not used[node] or len(way) > len(units):
                raise ValueError("double array")
            node = parents[node]
        for node in reversed(way):
            known[node] = known[parents[node]] + bytes((steps[node] - 1,))
            total += len(known[node])
            if total > 100 * len(units) + 1_000_000:  # strings of real features are short
                raise ValueError("double array")
        strings.append(known[parents[end]])
    return strings, -1 - base[ends]


def _crfpp(
    labels: list[str],
    lines: list[str],
    columns: int,
    strings: list[bytes],
    numbers: Longs,
    values: np.ndarray,
) -> Contents:
    """Return the contents of a model of CRF++; `numbers` has the first weight of each string.

    The cost factor of the file does not count: `crf_test` replaces it by its own option, which is 1 by default.
    """
    edge = np.array([string.startswith(b"B") for string in strings], np.bool_)
    sizes = np.where(edge, len(labels) ** 2, len(labels))
    if not (within(numbers, len(values)) and within(numbers + sizes, len(values) + 1)):
        raise ValueError("numbers of weights")
    weights = list[StringWeights]()
    for kind in (~edge, edge):
        # strings may share weights in a hostile file: then there would be more of them than the file has
        if int(sizes[kind].sum()) > len(values):
            raise ValueError("numbers of weights")
        counts = np.where(kind, sizes, 0)
        codes = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        found = values[np.repeat(numbers, counts) + codes]
        kept = found != 0
        owners = np.repeat(np.arange(len(strings)), counts)[kept]
        weights.append(_weights(owners, codes[kept], found[kept], len(strings)))
    b"".join(strings).decode()
    return Contents(labels, lines, columns, strings, weights[0], weights[1], wapiti=False)


def _weights(owners: Longs, codes: Longs, values: np.ndarray, strings: int) -> StringWeights:
    with np.errstate(over="ignore"):  # numbers too large for single precision become infinite, and are rejected
        return StringWeights(offsets_of(np.bincount(owners, minlength=strings)), codes, values.astype(np.float32))


def _read_wapiti(data: bytes, path: str | Path) -> Contents:
    """Read what `wapiti train` writes: patterns, labels and strings with their lengths, and weights that are not 0."""
    at = 0

    def line() -> bytes:
        nonlocal at
        start, at = at, data.index(b"\n", at) + 1
        return data[start : at - 1]

    def strings(count: int) -> Iterator[bytes]:
        nonlocal at
        for _ in range(count):
            colon = data.index(b":", at, at + 12)
            start = colon + 1
            at = start + int(data[at:colon])
            if not start <= at or data[at : at + 2] != b",\n":
                raise ValueError("length of a string")
            yield data[start:at]
            at += 2

    head = line().split(b"#")
    kind, count = (0, int(head[2])) if len(head) == 3 else (int(head[2]), int(head[3]))
    if kind == MEMM:
        raise ModelError(f"{path}: is a model of Wapiti of type memm, which sapo cannot read; train one of type crf")
    reader = line().removeprefix(b"#rdr#").split(b"/")
    lines = [pattern.decode() for pattern in strings(int(reader[0]))]
    labels = _checked_labels([label.decode() for label in strings(int(line().removeprefix(b"#qrk#")))], path)
    names = list(strings(int(line().removeprefix(b"#qrk#"))))
    rows = data[at:].split(b"\n")[:-1]
    if len(rows) != count:
        raise ValueError("number of weights")
    pairs = [row.decode("ascii").split("=", 1) for row in rows]
    numbers = np.array([int(number) for number, _ in pairs], np.int64)
    values = np.array([float.fromhex(value) for _, value in pairs])
    first = np.array([name[:1].decode("latin-1") for name in names], "U1")
    has_node, has_edge = (first == "u") | (first == "*"), (first == "b") | (first == "*")
    if not (has_node | has_edge).all():
        raise ValueError("kind of a string")
    node_sizes = np.where(has_node, len(labels), 0)
    offsets = offsets_of(node_sizes + np.where(has_edge, len(labels) ** 2, 0))
    if not within(numbers, int(offsets[-1])) or (np.diff(numbers) <= 0).any():
        raise ValueError("numbers of weights")
    owners = np.searchsorted(offsets, numbers, side="right") - 1
    codes = numbers - offsets[owners]
    node = codes < node_sizes[owners]
    nodes = _weights(owners[node], codes[node], values[node], len(names))
    edges = _weights(owners[~node], (codes - node_sizes[owners])[~node], values[~node], len(names))
    return Contents(labels, lines, int(reader[1]) + 1, names, nodes, edges, wapiti=True)


def _model(contents: Contents, path: str | Path) -> Model:
    from sapo.tagger.file import check_weights

    if len(set(contents.strings)) != len(contents.strings):
        raise ValueError("equal strings")
    if not contents.lines:
        raise ModelError(f"{path}: is a model of Wapiti without patterns, which sapo cannot read")
    check_limit("columns", contents.columns, path, "columns")
    columns = name_columns(max(contents.columns, 1) + 1, None, None, True, str(path))
    templates = parse_templates("\n".join(contents.lines) + "\n", columns, "its template")
    encoder, parameters = _Reader(contents, templates).result()
    check_weights(parameters, encoder.kind)
    return Model(tuple(contents.labels), encoder, parameters, reader={"columns": list(columns), "format": "columns"})


@dataclass(slots=True)
class _Form:
    """A form of strings: literals with values between them. Lines that differ only in rows have the same form."""

    literals: tuple[bytes, ...]  # the text before, between and after the values
    views: tuple[ColumnView, ...]
    outside: list[dict[bytes, set[int]]]  # of each value: positions outside the sentence that give it
    tables: list[int]  # of the feature, the edge feature, or both
    transitions: bool
    times: set[int]  # how often each of its lines stands in the template: so often its weights count
    found: list[tuple[int, ...]] = field(default_factory=list)  # the values of its features
    owners: list[int] = field(default_factory=list)  # their strings


class _Reader:
    """Take the strings of a model apart, and make an encoder and weights of them."""

    def __init__(self, contents: Contents, templates: TemplateSet) -> None:
        self.contents, self.templates = contents, templates
        offsets = [atom.offset for template in templates.templates for atom in template.atoms]
        self.reserved = 1 + 2 * max(map(abs, offsets), default=0)  # as in FeatureLayout
        self.numbers: dict[ColumnView, dict[bytes, int]] = {view: {} for view in views_of(templates)}
        self.steps = MOST_STEPS + STEPS * len(contents.strings)
        self.forms: dict[tuple[object, ...], _Form] = {}
        table_of = dict(zip(templates.templates, tables_of(templates)[1], strict=True))
        for line, times in Counter(contents.lines).items():
            parsed = parse_macros(
                line.strip(), templates.file_columns, f"its template '{line}'", wapiti=contents.wapiti
            )
            literals = [literal.encode() for literal in parsed.literals]
            literals[-1] += line[len(line.rstrip()) :].encode()
            views = tuple(atom.view for atom in parsed.atoms)
            tables = [table_of[template] for template in parsed.templates]
            new = _Form(tuple(literals), views, [{} for _ in views], tables, parsed.transitions, set())
            form = self.forms.setdefault((*literals, *views), new)
            form.times.add(times)
            for atom, values in zip(parsed.atoms, form.outside, strict=True):
                for distance in range(1, abs(atom.offset) + 1):
                    value = atom.view.apply(self._outside(distance, "-" if atom.offset < 0 else "+"))[0]
                    values.setdefault(value.encode(), set()).add(2 * distance - (atom.offset < 0))
        if any(len(form.times) > 1 for form in self.forms.values()):
            raise ModelError("two lines of its template share their features, and one of them stands there twice")

    def _outside(self, distance: int, sign: str) -> str:
        """Return the name of a position outside the sentence."""
        if self.contents.wapiti:
            return f"_x{sign}{distance if distance <= WAPITI_OUTSIDE else '#'}"
        return f"_B{sign}{distance}"

    def result(self) -> tuple[TemplateEncoder, Parameters]:
        """Return the encoder and the weights."""
        contents = self.contents
        weighted = (np.diff(contents.nodes.offsets) > 0) | (np.diff(contents.edges.offsets) > 0)
        by_start: dict[bytes, list[_Form]] = {}
        for form in self.forms.values():
            by_start.setdefault(form.literals[0], []).append(form)
        lengths = sorted({len(start) for start in by_start})
        for owner in np.flatnonzero(weighted).tolist():
            string = contents.strings[owner]
            for length in lengths:
                for form in by_start.get(string[:length], ()) if length <= len(string) else ():
                    for parts in self._parts(string[length:], form.literals[1:]):
                        self._add(form, parts, owner)
        encoder = self._encoder()
        L = len(contents.labels)
        edges = np.zeros((L, L), np.float64)
        for form in self.forms.values():
            for owner in form.owners if form.transitions else ():
                of_string = slice(*contents.edges.offsets[owner : owner + 2].tolist())
                edges.reshape(-1)[contents.edges.codes[of_string]] += contents.edges.values[of_string] * max(form.times)
        counts, labels, values = self._entries(contents.nodes, self.node_owners)
        pair_counts, codes, pair_values = self._entries(contents.edges, self.edge_owners)
        rows = FeatureRows.of_entries(counts.astype(np.int32), labels.astype(np.uint16), values, L)
        pairs = Pairs(offsets_of(pair_counts), codes.astype(np.int32))
        with np.errstate(over="ignore"):
            parameters = Parameters(rows, edges.astype(np.float32), pairs, pair_values.reshape(-1, 1), no_bans(L))
        return encoder, parameters

    def _parts(self, rest: bytes, literals: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
        """Yield all ways to take the rest of a string apart, which has a value before each literal."""
        self.steps -= 1
        if self.steps < 0:
            raise ValueError("its features can be read in too many ways")
        if not literals:
            if not rest:
                yield ()
        elif len(literals) == 1:
            if rest.endswith(literals[0]):
                yield (rest[: len(rest) - len(literals[0])],)
        else:
            at = rest.find(literals[0])
            while at >= 0:
                for others in self._parts(rest[at + len(literals[0]) :], literals[1:]):
                    yield (rest[:at], *others)
                at = rest.find(literals[0], at + 1)

    def _add(self, form: _Form, parts: tuple[bytes, ...], owner: int) -> None:
        """Add the features that these values make; none if a value cannot be one of its view."""
        if len(parts) == 1 and not form.views[0].functions:
            parts[0].decode()  # data in another encoding is an error
        choices = [
            self._values(view, part, outside)
            for view, part, outside in zip(form.views, parts, form.outside, strict=True)
        ]
        for values in product(*choices):
            self.steps -= 1
            form.found.append(values)
            form.owners.append(owner)

    def _values(self, view: ColumnView, part: bytes, outside: dict[bytes, set[int]]) -> list[int]:
        found = sorted(outside.get(part, ()))
        if not view.functions:  # a word
            if found or not part or not _is_utf8(part):
                return found
        numbers = self.numbers[view]
        return [*found, self.reserved + numbers.setdefault(part, len(numbers))]

    def _encoder(self) -> TemplateEncoder:
        templates = self.templates
        texts = {
            view: [part.decode("utf-8", "surrogateescape") for part in numbers]
            for view, numbers in self.numbers.items()
        }
        columns = {name: StringTable(texts.get(ColumnView(name), ())) for name in templates.columns}
        views = []
        for view, values in texts.items():
            if not view.functions:
                views.append(ViewValues(view, columns[view.column], None, None))
                continue
            empty = ViewValues(view, StringTable(values), np.zeros(1, np.int64), np.empty(0, np.int32))
            views.append(ViewValues(view, empty.table, *empty.of_new_words(columns[view.column].strings())))
        layout = FeatureLayout(templates, tuple(views))
        nodes, self.node_owners = self._features(layout, edges=False)
        edges, self.edge_owners = self._features(layout, edges=True)
        jit.prepare(pairs=INSERTION * (len(nodes[0]) + len(edges[0])))
        return TemplateEncoder(templates, columns, tuple(views), make_tables(layout, nodes, edges))

    def _features(self, layout: FeatureLayout, *, edges: bool) -> tuple[Features, list[tuple[Longs, int]]]:
        """Return all features, or edge features, that have weights, and their strings, with how often these count."""
        weights = self.contents.edges if edges else self.contents.nodes
        keys, groups, owners = [np.empty(0, np.int64)], [np.empty(0, np.int32)], list[tuple[Longs, int]]()
        for form in self.forms.values():
            strings = np.array(form.owners, np.int64)
            kept = np.flatnonzero(np.diff(weights.offsets)[strings] > 0)
            for table in form.tables:
                if table not in layout.tables_of_kind(edges=edges):
                    continue
                values = np.array(form.found, np.int64).reshape(len(strings), len(form.views))[kept]
                key = np.zeros(len(kept), np.int64)
                for place, view in enumerate(form.views):
                    key = key << layout.view_bits[layout.number[view]] | values[:, place]
                keys.append(key)
                groups.append(np.full(len(kept), table, np.int32))
                owners.append((strings[kept], max(form.times)))
        return (np.concatenate(keys), np.concatenate(groups)), owners

    def _entries(self, weights: StringWeights, owners: list[tuple[Longs, int]]) -> tuple[Longs, Longs, Floats]:
        """Return how many weights each feature has, their codes, and the weights."""
        strings = np.concatenate([np.empty(0, np.int64), *(some for some, _ in owners)])
        times = np.repeat([times for _, times in owners], [len(some) for some, _ in owners])
        offsets, places = pieces_of(weights.offsets, strings)
        counts = np.diff(offsets)
        return counts, weights.codes[places], weights.values[places] * np.repeat(times, counts).astype(np.float32)


def _is_utf8(part: bytes) -> bool:
    try:
        part.decode()
    except UnicodeDecodeError:
        return False
    return True
