"""Tag with a stack of models, each of which adds a column that the next ones can use.

`Pipeline` tags sentences and texts in memory. Files go through `run_pipeline` in training/stack.py, which can also
train the models; the steps, and the blocks with added columns, are defined here.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.columns import splice_tags
from sapo.corpus.conllu import COLUMNS, FEATS_KEY, TARGETS, ConlluOrigin, Place, place_of, with_feature
from sapo.corpus.jsonl import JsonlOrigin, json_line, with_tags
from sapo.corpus.scanner import Scanned, ScannedOrigin, check_tag
from sapo.errors import DataError, ModelError, OptionError
from sapo.jit.arrays import Ints
from sapo.search.chain import check_search
from sapo.tagger.decoding import plain_sentences
from sapo.tagger.tagger import Tagger, as_tagger
from sapo.tagger.text import Cut, TaggedText, check_text, cut_texts, find, tagged_texts
from sapo.tags.schemes import notation_of

MODEL = ".sapo"  # the file extension of models
WORD = "word"
Steps = Mapping[str, Tagger | str | Path] | Iterable[tuple[str, Tagger | str | Path]]


@dataclass(frozen=True, slots=True)
class ReadyStep:
    """Add a column with a model that is trained already.

    >>> ReadyStep("pos", "pos.sapo").column
    'pos'
    """

    column: str
    model: str | Path


@dataclass(frozen=True, slots=True)
class TrainedStep:
    """Add a column with a model that the pipeline trains on these files.

    >>> TrainedStep("pos", ("train.txt",), template="pos").files
    ('train.txt',)
    """

    column: str
    files: tuple[str | Path, ...]
    template: str | Path | None = None  # a preset or a file; default: the preset that suits the tags


Step = ReadyStep | TrainedStep


def parse_step(text: str, template: str | None = None) -> Step:
    """Return the step that is written as on the command line.

    A file that ends in .sapo is a model; other files are training data. Raises SapoError if the text is not a step.

    >>> parse_step("pos=pos.sapo")
    ReadyStep(column='pos', model='pos.sapo')
    >>> parse_step("chunk=a.txt,b.txt.gz").files
    ('a.txt', 'b.txt.gz')
    """
    column, equals, value = text.partition("=")
    names = [name.strip() for name in value.split(",")]
    if not equals or not all(names):
        raise OptionError(f"a step is column=model.sapo or column=file,file, not '{text}'")
    models = [name for name in names if name.endswith(MODEL)]
    if not models:
        return TrainedStep(column.strip(), tuple(names), template)
    if len(names) > 1:
        raise OptionError(f"the step '{text}' has a model and other files; give one model, or files to train on")
    if template is not None:
        raise OptionError(f"the step '{text}' has a ready model and takes no template")
    return ReadyStep(column.strip(), models[0])


def check_names(steps: tuple[Step, ...], columns: tuple[str, ...], source: str) -> None:
    """Raise SapoError unless every step adds a new column with a valid name."""
    have = list(columns)
    for step in steps:
        if not step.column.isidentifier() or step.column == LABEL:
            raise DataError(
                f"a column cannot be called '{step.column}'; use letters, digits and _, and not '{LABEL}', "
                "which is the gold tag"
            )
        if step.column in have:
            place = source if step.column in columns else "the pipeline"
            raise DataError(f"{place}: already has a column '{step.column}'; give the step another name")
        have.append(step.column)


def with_column(block: Block, name: str, tags: Ints, labels: Sequence[str]) -> Block:
    """Return the block with the column `labels[tags[t]]`; each label is appended once to the bytes of the block."""
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    ends = len(block.data) + np.cumsum([len(label) for label in encoded], dtype=np.int32)
    starts = ends - np.array([len(label) for label in encoded], np.int32)
    return dataclasses.replace(
        block,
        columns=(*block.columns, name),
        data=np.concatenate([block.data, np.frombuffer(b"".join(encoded), np.uint8)]),
        starts=np.column_stack([block.starts, starts[tags]]),
        ends=np.column_stack([block.ends, ends[tags]]),
    )


def sentences_of(block: Block, first: int, last: int) -> Block:
    """Return a block of the sentences `first`, ..., `last` - 1. It can be tagged, but not written."""
    begin, end = int(block.offsets[first]), int(block.offsets[last])
    return dataclasses.replace(
        block,
        starts=block.starts[begin:end],
        ends=block.ends[begin:end],
        offsets=block.offsets[first : last + 1] - begin,
        origin=None,
    )


def widened(block: Block) -> bytes:
    """Return the bytes of the file with the added columns: before the gold tag, or else at the end of the line.

    Raises SapoError if a tag cannot be written, or a comment would be read as a token.
    """
    scanned = block.origin_as(ScannedOrigin).scanned
    separator = b"\t" if scanned.layout.tabs else b" "
    gold = LABEL in block.columns
    own = scanned.layout.columns
    tuples, piece = np.unique(block.starts[:, own:], axis=0, return_inverse=True)
    whole = block.data.tobytes()
    end_of = dict(zip(block.starts[:, own:].ravel().tolist(), block.ends[:, own:].ravel().tolist(), strict=True))
    pieces = []
    for row in tuples.tolist():
        values = [whole[start : end_of[start]] for start in row]
        text = b"".join(value + separator if gold else separator + value for value in values)
        pieces.append(text.decode("utf-8", "surrogatepass"))
        for value in values:
            check_tag(value.decode("utf-8", "surrogatepass"), tabs=scanned.layout.tabs)
    _check_comments(scanned, len(block.columns), block.name)
    at = scanned.starts[:, -1] if gold else scanned.line_ends
    return splice_tags(scanned.data, at, at, pieces, piece.reshape(-1).astype(np.int32))


def widened_records(block: Block, added: Sequence[str], *, as_columns: bool) -> bytes:
    """Return the sentences of text or JSONL with the added columns: as lines of words and tags, or as records.

    Records of text also get `tokens`, and `spans` if the last column marks spans. Raises SapoError if a record has
    something else under the name of a column.
    """
    columns = {name: block.strings(name) for name in (WORD, *added)}
    notation = notation_of(sorted(set(columns[added[-1]])))
    lines = []
    for record, bounds in block.origin_as(JsonlOrigin).with_bounds(block.offsets):
        first, last = (bounds[0][0], bounds[-1][1]) if bounds else (0, 0)
        tags = {name: columns[name][first:last] for name in added}
        if as_columns:
            rows = zip(columns[WORD][first:last], *tags.values(), strict=True)
            lines.append("".join("\t".join(row) + "\n" for row in rows) + "\n")
            continue
        for name in added:
            if name in record.values:
                raise DataError(f"{block.name}:{record.line}: already has a key '{name}'; give the step another name")
        last_tags = [columns[added[-1]][begin:end] for begin, end in bounds]
        result = {**record.values, **with_tags(record, last_tags, notation), **tags}
        if "tags" in record.values:
            result["tags"] = record.values["tags"]
        else:
            del result["tags"]
        lines.append(json_line(result))
    return "".join(lines).encode("utf-8", "surrogatepass")


def conllu_place(column: str) -> Place | None:
    """Return where the column of a step goes in CoNLL-U; None if it becomes a key of MISC.

    >>> conllu_place("pos") == place_of("xpos"), conllu_place("chunk")
    (True, None)
    """
    if column in (*TARGETS, "pos") or re.fullmatch(FEATS_KEY, column):
        return place_of("xpos" if column == "pos" else column)
    return None


def widened_conllu(block: Block, added: Sequence[str]) -> bytes:
    """Return CoNLL-U with the added columns: in their columns, as features, or as keys of MISC (chunk: Chunk=B-NP).

    Raises SapoError if a tag cannot be written there.
    """
    scanned = block.origin_as(ConlluOrigin).scanned
    places = [(name, conllu_place(name)) for name in added]
    whole, first = scanned.data.tobytes(), COLUMNS.index("lemma")
    edges = [scanned.starts[:, first:].tolist(), scanned.ends[:, first:].tolist()]
    lines: list[str] = []
    checked: set[str] = set()
    for starts, ends, *tags in zip(*edges, *(block.strings(name) for name in added), strict=True):
        fields = [whole[a:b].decode() for a, b in zip(starts, ends, strict=True)]
        for (name, place), tag in zip(places, tags, strict=True):
            if tag not in checked:
                check_tag(tag, tabs=True)
                checked.add(tag)
            if place is None:
                if "|" in tag:
                    raise DataError(f"the tag {tag!r} cannot be written to MISC, where | is a separator; use JSONL")
                fields[-1] = with_feature(fields[-1], name[:1].upper() + name[1:], tag)
            else:
                place.check(tag)
                begin, end = place.first - first, place.last + 1 - first
                fields[begin:end] = place.filled(fields[begin:end], tag)
        lines.append("\t".join(fields))
    pieces = np.arange(len(lines), dtype=np.int32)
    return splice_tags(scanned.data, scanned.starts[:, first], scanned.ends[:, -1], lines, pieces)


def _check_comments(scanned: Scanned, columns: int, name: str) -> None:
    """Raise SapoError if a comment now has as many fields as a line with a token, since it would be read as one."""
    whole = scanned.data.tobytes()
    if b"#" not in whole:
        return
    words = set(scanned.line_starts.tolist())
    for line in re.finditer(rb"^#.*", whole, re.MULTILINE):
        fields = line[0].rstrip(b"\r").split(b"\t") if scanned.layout.tabs else line[0].split()
        if line.start() not in words and len(fields) == columns and fields[2:3] != [b"="]:
            place = scanned.first_line + whole.count(b"\n", 0, line.start())
            raise DataError(
                f"{name}:{place}: the comment {line[0].decode()!r:.60} would be a word among {columns} columns; "
                "write it as '# key = value'"
            )


class Pipeline:
    """Models that tag one after another. Each adds a column, and reads words and earlier columns by their names.

    `steps` has the name of each column, and the tagger or the path of the model that adds it. Raises SapoError if a
    model needs a column that no step before it adds.

    >>> import sapo
    >>> pos = sapo.train([(["a", "dog"], ["DT", "NN"])] * 2, template="pos")
    >>> chunks = sapo.train([([("a", "DT"), ("dog", "NN")], ["B-NP", "I-NP"])] * 2, template="chunking")
    >>> pipeline = Pipeline({"pos": pos, "chunk": chunks})
    >>> pipeline.tag(["a", "dog"])
    {'pos': ['DT', 'NN'], 'chunk': ['B-NP', 'I-NP']}
    >>> pipeline.tag_text("a dog").spans[0].text
    'a dog'
    """

    def __init__(self, steps: Steps) -> None:
        pairs = list(steps.items() if isinstance(steps, Mapping) else steps)
        if not pairs:
            raise OptionError("a pipeline needs a step, such as {'pos': 'pos.sapo'}")
        check_names(tuple(ReadyStep(column, "") for column, _ in pairs), (WORD,), "text")
        self.taggers = {column: as_tagger(one) for column, one in pairs}
        have = [WORD]
        for column, tagger in self.taggers.items():
            if not tagger.columns:
                raise ModelError(
                    f"step '{column}': was trained on ready-made features and cannot be part of a pipeline"
                )
            for needed in tagger.columns:
                if needed not in have:
                    raise DataError(
                        f"step '{column}' needs the column '{needed}', but before it there are only {', '.join(have)}; "
                        f"put a step '{needed}' before it"
                    )
            have.append(column)

    def tag(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Return the tags that each step gives the words of one sentence, by the name of its column."""
        return self.tag_many([words])[0]

    def tag_many(self, sentences: Iterable[Sequence[str]]) -> list[dict[str, list[str]]]:
        """Return the tags of many sentences; much faster than calling `tag` for each."""
        listed = list(plain_sentences(sentences))
        columns = self._columns(listed, list(self.taggers))
        return [{column: columns[column][at] for column in self.taggers} for at in range(len(listed))]

    def tag_text(self, text: str, *, probabilities: bool = False, nbest: int = 0, cut: Cut | None = None) -> TaggedText:
        """Tag raw text as `Tagger.tag_text` does with the last model, after the others.

        Tokens have the tags of the earlier models in `columns`. The text is cut by `cut`, or else by the rules of the
        first model.
        """
        return self.tag_texts([check_text(text)], probabilities=probabilities, nbest=nbest, cut=cut)[0]

    def tag_texts(
        self, texts: Iterable[str], *, probabilities: bool = False, nbest: int = 0, cut: Cut | None = None
    ) -> list[TaggedText]:
        """Tag many texts as `tag_text` does; much faster than calling `tag_text` for each."""
        if nbest:
            check_search("topn", nbest)
        first, *_ = self.taggers.values()
        *earlier, (_, last) = self.taggers.items()
        parts = cut_texts(texts, cut or first.splitter)
        words = list(parts.words())
        columns = self._columns(words, [column for column, _ in earlier])
        rows = self._rows(last, columns, len(words))
        found = find(last.model, rows, probabilities=probabilities, nbest=nbest, documents=parts.sizes)
        del columns[WORD]
        further = ({column: tags[at] for column, tags in columns.items()} for at in range(len(words)))
        return tagged_texts(parts, found, further if columns else None)

    def _columns(
        self, words: list[Sequence[str]] | list[list[str]], steps: Sequence[str]
    ) -> dict[str, list[list[str]]]:
        """Return the words, and the tags of these steps, of each sentence."""
        columns: dict[str, list[list[str]]] = {WORD: [list(sentence) for sentence in words]}
        for step in steps:
            columns[step] = self.taggers[step].tag_many(self._rows(self.taggers[step], columns, len(words)))
        return columns

    @staticmethod
    def _rows(
        tagger: Tagger, columns: Mapping[str, list[list[str]]], sentences: int
    ) -> list[list[str]] | list[list[tuple[str, ...]]]:
        """Return the sentences as this tagger takes them: strings, or tuples of its columns."""
        needed = [columns[column] for column in tagger.columns]
        if len(needed) == 1:
            return needed[0]
        return [list(zip(*(column[at] for column in needed), strict=True)) for at in range(sentences)]
