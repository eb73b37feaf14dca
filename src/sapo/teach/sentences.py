"""Files in, sentences of a project out: a text, and where its tokens stand in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sapo.corpus.blocks import Sentence
from sapo.corpus.files import check_readable, read_chunks, show_path
from sapo.corpus.formats import ENDINGS, format_of, read_blocks, sentences_of
from sapo.corpus.jsonl import joined
from sapo.errors import SapoError
from sapo.text import Splitter

COLUMNS = (".conll", ".bio", ".iob", ".iob2", ".tsv")  # files that cannot be text
TABLES = (".csv", ".ods", ".xls", ".xlsx")
DOCUMENTS = (".doc", ".docx", ".epub", ".htm", ".html", ".odt", ".pdf", ".rtf", ".xml")
TEXT = "text"


@dataclass(frozen=True, slots=True)
class TaughtSentence:
    """A sentence that people tag. Its words are `text[start:end]` of each offset."""

    text: str
    offsets: tuple[tuple[int, int], ...]
    source: str = ""  # the file it came from

    @property
    def words(self) -> list[str]:
        """The tokens as strings."""
        return [self.text[start:end] for start, end in self.offsets]

    def with_tags(self, tags: Sequence[str]) -> Sentence:
        """Return the sentence in the form that files are written from."""
        return Sentence({"word": tuple(self.words)}, tuple(tags), self.text, self.offsets)


def text_format(path: str | Path, given: str | None) -> str:
    """Return how to read a file without labels: as text, unless its extension or the user says otherwise.

    Raise SapoError if the extension says that it is neither text nor in a format of sapo.

    >>> text_format("notes.txt", None), text_format("a.conllu.gz", None), text_format("b.txt", "columns")
    ('text', 'conllu', 'columns')
    """
    if given is not None or (Path(path).is_dir() and next(Path(path).rglob("*.ann"), None) is not None):
        return format_of(path, given)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in (".gz", ".zip")]
    ending = suffixes[-1] if suffixes else ""
    if ending in TABLES or (ending == ".tsv" and _has_blanks_in_cells(path)):
        raise SapoError(
            f'{path}: a table is not read as text; write its texts to a .jsonl file, as lines of {{"text": "..."}}, '
            "or say what it is with --format"
        )
    if ending in DOCUMENTS:
        raise SapoError(
            f"{path}: {ending} files are not read; convert it to plain text, or say what it is with --format"
        )
    return format_of(path) if ending in (*ENDINGS, *COLUMNS) else TEXT


def _has_blanks_in_cells(path: str | Path) -> bool:
    """Return whether the first lines of a file have blanks between their tabs: texts and not tokens."""
    first = next(read_chunks(path), b"").split(b"\n", 10)[:10]
    return any(b" " in cell.strip() for line in first for cell in line.split(b"\t"))


def read_texts(path: str | Path, format: str | None, splitter: Splitter) -> Iterator[TaughtSentence]:
    """Yield the sentences of a text, or of a corpus without looking at its labels."""
    if not Path(path).is_dir():
        check_readable(path)
    chosen = text_format(path, format)
    for block in read_blocks(path, format=chosen, labelled=False, splitter=splitter):
        for sentence in sentences_of(block, chosen):
            if len(sentence):
                yield taught(sentence, path)


def read_annotated(
    path: str | Path, format: str | None, splitter: Splitter
) -> Iterator[tuple[TaughtSentence, tuple[str, ...]]]:
    """Yield the sentences of a labelled file with their tags."""
    chosen = format_of(path, format)
    for block in read_blocks(path, format=chosen, splitter=splitter):
        for sentence in sentences_of(block, chosen):
            if len(sentence) and sentence.tags is not None:
                yield taught(sentence, path), tuple(sentence.tags)


def taught(sentence: Sentence, path: str | Path = "") -> TaughtSentence:
    """Return a sentence of a file; where the file has no running text, blanks stand between its words."""
    words = sentence.words
    if not words:
        raise SapoError(f"{show_path(path)}: has ready-made features and no words to show; give a file with words")
    text, offsets = sentence.text, sentence.offsets
    if text is None or offsets is None:
        text, offsets = joined(words)
    source = show_path(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SapoError(f"{source}: half of a surrogate pair is not text: {text!r:.60}") from None
    return TaughtSentence(text, tuple((int(start), int(end)) for start, end in offsets), Path(source).name)


def check_sentence(text: object, offsets: object) -> TaughtSentence:
    """Return the sentence that a project file has. Raise SapoError unless its tokens lie in the text, in order.

    >>> check_sentence("a dog", [[0, 1], [2, 5]]).words
    ['a', 'dog']
    """
    made = []
    last = 0
    try:
        if not isinstance(text, str) or not isinstance(offsets, list) or not offsets:
            raise ValueError
        for start, end in offsets:
            if type(start) is not int or type(end) is not int or not last <= start < end <= len(text):
                raise ValueError
            made.append((start, end))
            last = end
    except (ValueError, TypeError):
        raise SapoError("its tokens are not in its text") from None
    return TaughtSentence(text, tuple(made))
