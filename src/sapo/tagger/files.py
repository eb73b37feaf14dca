"""Tag and evaluate files block by block, a few hundred sentences at a time, so that they may have any length."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from sapo.corpus.blocks import LABEL, Block, Sentence
from sapo.errors import SapoError
from sapo.features.encoded import EncodedCorpus
from sapo.features.strings import StringTable, label_ids
from sapo.search.lattice import Lattice
from sapo.tagger import decoding
from sapo.tagger import decoding as streams
from sapo.tagger.forced import force_block
from sapo.tagger.model import Model
from sapo.tags.labels import MISSING, have_common_label, listed, refuse_missing

if TYPE_CHECKING:
    from sapo.evaluate.scores import Scores
    from sapo.tagger.tagger import Tagger

R = TypeVar("R")
Decode = Callable[[Model, EncodedCorpus], R]


class HasModel(Protocol):
    """A tagger. The tagger of a `Trainer` has a new model after each update."""

    @property
    def model(self) -> Model:
        """The current model."""


def reading_of(model: Model, path: str | Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return how to read a file. Options that are not given are as for the training file, if the format is the same."""
    how = dict(given)
    if not isinstance(path, str | Path):  # a table, whose columns have names
        return how
    from sapo.corpus.formats import format_of

    trained = model.reader
    if format_of(path, how.get("format")) == trained.get("format"):
        for key in ("label", "columns"):
            if how.get(key) is None:
                how[key] = trained.get(key)
        if given.get("label") not in (None, LABEL) and given.get("columns") is None and how["columns"]:
            from sapo.corpus.columns import without_label

            how["columns"] = without_label(how["columns"])  # the label may be in another column now
    return how


def read_blocks(tagger: "Tagger", path: str | Path, *, labeled: bool = False, **reading: Any) -> Iterator[Block]:
    """Read a file in blocks, in the same way as the training file unless `reading` has other options."""
    from sapo.corpus.formats import read_blocks

    return read_blocks(path, labeled=labeled, splitter=tagger.splitter, **reading_of(tagger.model, path, reading))


def each_block(
    tagger: HasModel,
    blocks: Iterable[Block],
    decode: Decode[R],
    *,
    threads: int = 1,
    forced: str | None = None,
    session: Any = None,
) -> Iterator[tuple[Block, R]]:
    """Yield each block with the result of `decode`, in order. The number of threads does not change the result.

    `forced` is a column of known tags, with '_' for tokens whose tag is not known. A session of the model's encoder
    remembers new words from file to file.
    """

    def work(block: Block, corpus: EncodedCorpus) -> R:
        model = tagger.model
        return decode(model, corpus if forced is None else force_block(corpus, block, forced, model))

    return streams.each_block(tagger.model, blocks, work, threads, session)


def evaluate(tagger: HasModel, blocks: Iterable[Block], path: str | Path, *, strict: bool = False) -> "Scores":
    """Tag labeled blocks, and return the scores of the tags. `path` is for messages."""
    labels = list(tagger.model.outer_labels)
    golds, found, sizes = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for block, tags in each_block(tagger, blocks, decoding.best_tags):
        golds.append(label_ids(block, labels))
        found.append(tags)
        sizes.append(np.diff(block.offsets))
    offsets = np.cumsum(np.concatenate(sizes))
    if len(offsets) == 1:
        raise SapoError(f"{path}: has no sentences")
    check_no_missing(tagger.model, labels, path)
    check_same_task(tagger.model, [labels[tag] for tag in np.unique(np.concatenate(golds)).tolist()], path)
    from sapo.evaluate.scores import score  # which tagging need not load

    return score(labels, np.concatenate(golds), np.concatenate(found), offsets, strict=strict)


def evaluate_pairs(tagger: HasModel, data: Any, *, strict: bool = False) -> "Scores":
    """Tag labeled sentences from Python, and return the scores. Raise SapoError if they have another shape."""
    if not isinstance(data, Iterable) or isinstance(data, bytes | Mapping):
        raise SapoError(
            f"evaluate: expected the path of a file, a table, or pairs of tokens and tags, found {data!r:.40}"
        )
    model, listed = tagger.model, list(data)
    if not listed:
        raise SapoError("data: has no sentences")
    from sapo.corpus.labeled import read_pairs  # which tagging does not need

    tokens, tags = read_pairs([_pair(one, model) for one in listed], "data")
    found = [best for corpus in streams.encoded_batches(model, tokens) for best in decoding.best_tags(model, corpus)]
    labels = list(model.outer_labels)
    golds = [tag for own in tags for tag in own]
    check_no_missing(model, sorted(set(golds)), "data")
    check_same_task(model, sorted(set(golds)), "data")
    table = StringTable(labels)
    gold = table.add(golds)
    offsets = np.cumsum([0, *(len(own) for own in tags)])
    from sapo.evaluate.scores import score

    return score(table.strings(), gold, np.array(found, np.int32), offsets, strict=strict)


def _pair(sentence: Any, model: Model) -> Any:
    """Return a `Sentence` as a pair of tokens and tags, with the columns that the model reads; others as they are."""
    if not isinstance(sentence, Sentence):
        return sentence
    if sentence.features is not None and not model.encoder.columns:
        return sentence.features, sentence.tags
    names = tuple(model.encoder.columns)
    if missing := [name for name in names if name not in sentence.columns]:
        raise SapoError(f"data: has no column '{missing[0]}', which the features need")
    values = [sentence.columns[name] for name in names]
    return (values[0] if len(names) == 1 else list(zip(*values, strict=True))), sentence.tags


def check_no_missing(model: Model, labels: Sequence[str], path: str | Path) -> None:
    """Raise SapoError if the file to evaluate has missing tags."""
    refuse_missing(labels, [model.record.get("missing", MISSING)], str(path))


def check_same_task(model: Model, labels: Sequence[str], path: str | Path) -> None:
    """Raise SapoError if the file to evaluate has no label that the model knows."""
    if not have_common_label(model.outer_labels, labels):
        raise SapoError(
            f"{path}: the model knows none of its labels ({listed(labels)}); it has {listed(model.outer_labels)}; "
            "give data of its task, or the label's column with `label`"
        )


def gold_lattices(tagger: HasModel, blocks: Iterable[Block]) -> Iterator[tuple[Lattice, list[str]]]:
    """Yield the lattice of each sentence of labeled blocks, with its gold tags as learned labels."""
    for block, corpus in streams.encoded_blocks(tagger.model, blocks):
        model, tags = tagger.model, block.strings(LABEL)
        for sentence in range(corpus.sentences):
            first, last = corpus.offsets[sentence : sentence + 2].tolist()
            lattice = decoding.calibrated_lattice(model, corpus, sentence, exact=True)
            yield lattice, decoding.learned_tags(model, tags[first:last])
