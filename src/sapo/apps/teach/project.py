"""Make, fill and export projects."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sapo.apps.taggers import OUTSIDE, SPANS, kind_of, label_names
from sapo.apps.teach.pupil import check_pupil
from sapo.apps.teach.state import IMPORT, LABEL, Draft, TaughtSentence, as_iob2, check_name
from sapo.apps.teach.store import Store, create
from sapo.corpus.annotations import Placement
from sapo.corpus.blocks import Sentence, with_document_starts
from sapo.corpus.files import check_readable, read_chunks, show_path
from sapo.corpus.formats import ENDINGS, FORMATS, format_of, open_output, read_blocks
from sapo.corpus.jsonl import joined
from sapo.errors import SapoError, check_limit
from sapo.tagger.file import load_model, model_bytes
from sapo.tagger.model import Model
from sapo.tags.schemes import as_prefixed
from sapo.text.splitter import Splitter
from sapo.training.data import names_in
from sapo.training.plan import check_kinds

Files = Sequence[str | Path]
Annotated = list[tuple[TaughtSentence, tuple[str, ...]]]
COLUMNS = (".conll", ".bio", ".iob", ".iob2", ".tsv")  # files that cannot be text
TABLES = (".ods", ".xls", ".xlsx")
DOCUMENTS = (".doc", ".docx", ".epub", ".htm", ".html", ".odt", ".pdf", ".rtf", ".xml")
TEXT = "text"


def make_project(
    path: str | Path,
    texts: Files,
    labels: Sequence[str] = (),
    *,
    kind: str | None = None,
    model: str | Path | None = None,
    annotated: Files = (),
    format: str | None = None,
    names: Mapping[str, str | Path] | None = None,
) -> None:
    """Read texts, which have this format, and write a new project.

    Its kind is by default that of the model or the annotated files, or else spans. Raises SapoError if something cannot
    be read, or does not fit together.
    """
    if names and model is not None:
        raise SapoError("names: a project that begins with a model has the lists of the model alone; leave one out")
    check_kinds(names)
    lists = {kind: names_in(file) for kind, file in (names or {}).items()}
    base = None if model is None else load_model(model)
    splitter = Splitter(None if base is None else base.text_rules)
    tagged = [one for file in annotated for one in read_annotated(file, None, splitter)]
    kind = _kind(kind, base, tagged)
    tagged = _prefixed(tagged)
    shown = () if base is None else as_prefixed(base.outer_labels) if kind == SPANS else base.outer_labels
    used = [*labels, *label_names(kind, shown), *label_names(kind, (tag for _, tags in tagged for tag in tags))]
    drafts = [Draft(LABEL, "start", name=check_name(name, "label")) for name in dict.fromkeys(used)]
    author = Path(annotated[0]).name[:100] if annotated else ""
    drafts += [Draft(IMPORT, author, number, as_iob2(kind, tags)) for number, (_, tags) in enumerate(tagged, 1)]
    sentences = [sentence for sentence, _ in tagged]
    known = {tuple(one.words) for one in sentences}
    for file in texts:
        sentences += [one for one in read_texts(file, format, splitter) if tuple(one.words) not in known]
        check_limit("sentences", len(sentences), file, "sentences in a project")
    if not sentences:
        raise SapoError(f"{texts[0] if texts else path}: has no sentences")
    create(path, kind, sentences, drafts, None if base is None else model_bytes(base), lists)


def import_file(store: Store, path: str | Path, format: str | None, author: str | None) -> tuple[int, int]:
    """Take annotated sentences as accepted. Return how many there are, and how many of them are new sentences."""
    annotated = _prefixed(list(read_annotated(path, format, Splitter())))
    kind = kind_of({tag for _, tags in annotated for tag in tags})
    if annotated and kind != store.kind and any(set(tags) - {OUTSIDE} for _, tags in annotated):
        raise SapoError(f"{path}: has {kind}, but this project has {store.kind}; is it for another task?")
    known = {tuple(one.words): number for number, one in store.sentences.items()}
    new = [(sentence, tags) for sentence, tags in annotated if tuple(sentence.words) not in known]
    old = [(known[tuple(sentence.words)], tags) for sentence, tags in annotated if tuple(sentence.words) in known]
    check_limit("sentences", len(known) + len(new), path, "sentences in a project")
    name = check_name(Path(path).name[:100] if author is None else author, "author")

    def drafts(numbers: Sequence[int]) -> Iterator[Draft]:
        there = set(store.state.labels)
        for label in label_names(store.kind, (tag for _, tags in annotated for tag in tags)):
            if label not in there:
                yield Draft(LABEL, name, name=check_name(label, "label"))
        if any(len(store.sentences[number].offsets) != len(tags) for number, tags in old):
            raise SapoError(f"{path}: a person has just cut a token of one of its sentences; import it again")
        for number, tags in [*old, *zip(numbers, (tags for _, tags in new), strict=True)]:
            yield Draft(IMPORT, name, number, as_iob2(store.kind, tags))

    store.add([sentence for sentence, _ in new], drafts)
    return len(annotated), len(new)


def export_file(store: Store, path: str | Path, format: str | None) -> int:
    """Write all accepted sentences to a file. Return how many there are; raise SapoError if there is none."""
    if not store.state.accepted_count():
        raise SapoError(f"{store.path}: nothing to export: no sentence has been accepted yet")
    chosen = format_of(path, format)
    writer = FORMATS[chosen]
    placement = Placement("misc" if store.kind == SPANS else "upos", both=True)
    current = ((sentence, store.state.current(number)) for number, sentence in store.sentences.items())
    accepted = (sentence.with_tags(event.tags) for sentence, event in current if event is not None)
    count = 0
    with open_output(path, chosen) as stream:
        for sentence in with_document_starts(accepted):
            count += 1
            written = writer.write_sentence(sentence, placement)
            stream.write(written.encode("utf-8", "surrogatepass"))
    return count


def exported(store: Store, format: str) -> bytes:
    """Return all accepted sentences as the bytes of a file."""
    with tempfile.TemporaryDirectory() as room:
        path = Path(room, "export")
        export_file(store, path, format)
        return path.read_bytes()


def _kind(given: str | None, model: Model | None, annotated: Annotated) -> str:
    """Return what the tags of a new project mean. Raise SapoError if its parts mean different things."""
    found = {kind_of(model.outer_labels)} if model is not None else set()
    tags = {tag for _, own in annotated for tag in own}
    if tags:
        found.add(kind_of(tags))
    if given is not None:
        found.add(given)
    if len(found) > 1:
        raise SapoError("--model, --annotated and --tags do not fit together: some mark spans, some tag each token")
    kind = found.pop() if found else SPANS
    if model is not None:
        check_pupil(model, kind)
    return kind


def _prefixed(annotated: Annotated) -> Annotated:
    """Return annotated sentences whose spans have letter, '-' and type, whatever the file has."""
    labels = list(dict.fromkeys(tag for _, tags in annotated for tag in tags))
    names = dict(zip(labels, as_prefixed(labels), strict=True))
    return [(sentence, tuple(names[tag] for tag in tags)) for sentence, tags in annotated]


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
    if ending == ".tsv" and _has_blanks_in_cells(path):
        return "csv"
    if ending in TABLES:
        raise SapoError(f"{path}: cannot read {ending} files; save the table as .csv, with a column 'text'")
    if ending in DOCUMENTS:
        raise SapoError(
            f"{path}: cannot read {ending} files; convert it to plain text, or give its format with --format"
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
    for block in read_blocks(path, format=chosen, labeled=False, splitter=splitter):
        for sentence in block.sentences():
            if len(sentence):
                yield taught(sentence, path)


def read_annotated(
    path: str | Path, format: str | None, splitter: Splitter
) -> Iterator[tuple[TaughtSentence, tuple[str, ...]]]:
    """Yield the sentences of a labeled file with their tags."""
    chosen = format_of(path, format)
    for block in read_blocks(path, format=chosen, splitter=splitter):
        for sentence in block.sentences():
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
        raise SapoError(f"{source}: half of a surrogate pair is not valid text: {text!r:.60}") from None
    places = tuple((int(start), int(end)) for start, end in offsets)
    return TaughtSentence(text, places, Path(source).name, sentence.document or "")
