"""Begin with models and annotated files, import, and export to all formats."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sapo
from sapo.cli.main import app
from sapo.errors import SapoError
from taught_text import GOLD, TEXT

Open = Callable[..., Any]
TAGGED = "Carl B-PER\nis O\nin O\nRome S-LOC\n. O\n\nAnna B-PER\nBerg E-PER\nlives O\nin O\nOslo S-LOC\n. O\n\n"


def run(*arguments: str | Path) -> None:
    CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False, standalone_mode=False)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text(TEXT)
    return tmp_path / "notes.txt"


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    (tmp_path / "tagged.conll").write_text(TAGGED)
    return tmp_path / "tagged.conll"


def make(path: Path, texts: list[Path], **start: Any) -> None:
    from sapo.apps.teach.project import make_project

    make_project(path, texts, **start)


def test_annotated_sentences_are_accepted_and_learned(
    tmp_path: Path, text: Path, tagged: Path, open_project: Open
) -> None:
    make(tmp_path / "a.teach", [text], annotated=[tagged])
    client = open_project(tmp_path / "a.teach")
    project = client.get("/api/project").json
    assert project["labels"] == ["PER", "LOC"]
    assert project["people"] == ["tagged.conll"]
    assert project["counts"] == {"sentences": 8, "accepted": 2, "by_label": {"PER": 2, "LOC": 2}}  # one is in both
    accepted = client.get("/api/sentences?state=accepted").json["sentences"]
    assert accepted[1]["tags"] == GOLD[1]  # in IOB2, whatever the file had
    assert project["model"]["version"] > 0


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("new.xlsx", "PK", r"cannot read .xlsx files; save the table as .csv, with a column 'text'"),
        ("new.csv", "id,what\n1,Anna lives in Oslo.\n", r"found no column of words among id, what"),
        ("new.html", "<p>Anna</p>", r"cannot read .html files; convert it to plain text"),
        ("old.teach", "SQLite format 3\0 and more", r"is an SQLite file; if it is a project, export its sentences"),
        ("none.tsv", None, r"no such file"),
    ],
)
def test_what_is_not_text_is_not_read_as_text(tmp_path: Path, name: str, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(SapoError, match=f"^{tmp_path / name}: {why}"):
        make(tmp_path / "a.teach", [tmp_path / name])
    assert not (tmp_path / "a.teach").exists()


def test_texts_are_read_from_tables_and_tokens_from_tsv(tmp_path: Path) -> None:
    from sapo.apps.teach.store import Store

    contents = {
        "a.jsonl": '{"text": "Anna lives in Oslo."}\n',
        "b.csv": 'id,text\n1,"Carl, who sings, left."\n',
        "c.tsv": "id\ttext\n2\tDora slept. Eve woke.\n",
        "d.tsv": "Ben\tNNP\nsings\tVBZ\n\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    make(tmp_path / "a.teach", [tmp_path / name for name in contents])
    store = Store(tmp_path / "a.teach")
    texts = ["Anna lives in Oslo.", "Carl, who sings, left.", "Dora slept.", "Eve woke.", "Ben sings"]
    assert [one.text for one in store.sentences.values()] == texts
    assert [one.document for one in store.sentences.values()] == ["", "1", "2", "2", ""]
    store.close()


ANNOTATED = {
    "a.csv": "id,text,spans\nT-7,Anna lives in Oslo. She sings.,0:4:PER\n",
    "a.tsv": "id\ttext\tspans\nT-7\tAnna lives in Oslo. She sings.\t0:4:PER\n",
    "a.json": '[{"id": "T-7", "text": "Anna lives in Oslo. She sings.", "spans": [[0, 4, "PER"]]}]',
    "a.jsonl": '{"id": "T-7", "text": "Anna lives in Oslo. She sings.", "spans": [[0, 4, "PER"]]}\n',
    "doccano.jsonl": '{"id": "T-7", "text": "Anna lives in Oslo. She sings.", "label": [[0, 4, "PER"]]}\n',
    "studio.json": '[{"data": {"id": "T-7", "text": "Anna lives in Oslo. She sings."}, "annotations": [{"result": '
    '[{"from_name": "label", "to_name": "text", "type": "labels", '
    '"value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}}]}]}]',
}


@pytest.mark.parametrize("name", ANNOTATED)
def test_annotated_files_of_every_format_come_back_with_text_spans_and_names(
    tmp_path: Path, text: Path, name: str
) -> None:
    (tmp_path / name).write_text(ANNOTATED[name])
    make(tmp_path / "a.teach", [text], annotated=[tmp_path / name])
    run("teach", tmp_path / "a.teach", "--export", tmp_path / "out.jsonl", "-q")
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["document"], first["text"]) == ("T-7", "Anna lives in Oslo.")
    assert first["spans"] == [{"start": 0, "end": 4, "label": "PER"}]
    assert first["tokens"] == ["Anna", "lives", "in", "Oslo", "."]
    assert (second["document"], second["text"], second["spans"]) == ("T-7", "She sings.", [])
    run("teach", tmp_path / "a.teach", "--export", tmp_path / "out.csv", "-q")
    assert [one.document for one in sapo.read(tmp_path / "out.csv")] == ["T-7", "T-7"]
    run("teach", tmp_path / "a.teach", "--export", tmp_path / "out.txt", "-q")
    assert (tmp_path / "out.txt").read_text().startswith("# newdoc = T-7\nAnna\tB-PER\n")


def test_a_model_goes_on_learning(tmp_path: Path, text: Path, open_project: Open) -> None:
    pairs = [(["in", "Oslo"], ["O", "S-LOC"]), (["New", "York"], ["B-LOC", "E-LOC"]), (["at", "home"], ["O", "O"])]
    sapo.train(pairs, template="ner", scheme=None).save(tmp_path / "place.sapo")
    make(tmp_path / "a.teach", [text], model=tmp_path / "place.sapo", labels=["PER"])
    client = open_project(tmp_path / "a.teach")
    assert client.get("/api/project").json["labels"] == ["PER", "LOC"]
    views = client.get("/api/sentences").json["sentences"]
    assert {tag[:2] for view in views for tag in view["tags"]} <= {"O", "B-", "I-"}
    for sentence in (1, 2, 3):
        assert client.accept(sentence)["model"]["problem"] is None
    assert client.get("/api/sentences/4/nbest").json["taggings"]
    assert client.classroom.pupil.model.labels[:1] == ("O",)


def test_each_token_can_get_one_label(tmp_path: Path, text: Path, open_project: Open) -> None:
    make(tmp_path / "a.teach", [text], kind="tags", labels=["NOUN", "VERB", "X"])
    client = open_project(tmp_path / "a.teach")
    assert client.get("/api/sentences?count=1").json["sentences"][0]["tags"] == ["_"] * 6
    reply = client.post("/api/accept", {"id": 5, "tags": ["X", "VERB", "X", "_"], "author": "anna"})
    assert reply.json["error"] == "some tokens have no tag yet; give each token one"
    answer = client.accept(5, tags=["NOUN", "VERB", "X", "X"], visible=[1])
    assert answer["counts"]["by_label"] == {"NOUN": 1, "VERB": 1, "X": 2}
    assert set(answer["changed"][0]["tags"]) <= {"NOUN", "VERB", "X"}
    assert answer["changed"][0]["spans"] == []


def test_what_does_not_fit_together_is_one_line(tmp_path: Path, text: Path, tagged: Path) -> None:
    for start, why in (
        ({"annotated": [tagged], "kind": "tags"}, "--model, --annotated and --tags do not fit together"),
        ({"labels": ["\x07"]}, "label: expected a name"),
        ({"model": tagged}, "not a sapo model"),
    ):
        with pytest.raises(SapoError, match=why):
            make(tmp_path / "a.teach", [text], **start)
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(SapoError, match=r"empty.txt: has no sentences"):
        make(tmp_path / "a.teach", [tmp_path / "empty.txt"])
    assert not (tmp_path / "a.teach").exists()


def test_a_model_that_needs_more_than_words_is_refused(tmp_path: Path, text: Path) -> None:
    chunks = [([("the", "DT"), ("cat", "NN")], ["B-NP", "I-NP"])]
    sapo.train(chunks, template="chunking", epochs=2).save(tmp_path / "chunk.sapo")
    with pytest.raises(SapoError, match="this model also needs pos of each word"):
        make(tmp_path / "a.teach", [text], model=tmp_path / "chunk.sapo")


def test_import_adds_what_is_new_and_accepts_what_is_there(
    tmp_path: Path, project: Path, tagged: Path, open_project: Open, capsys: Any
) -> None:
    run("teach", project, "--import", tagged, "--author", "dora")
    client = open_project(project)
    state = client.get("/api/project").json
    assert (state["counts"]["sentences"], state["counts"]["accepted"], state["people"]) == (8, 2, ["dora"])
    assert client.get("/api/sentences?ids=1").json["sentences"][0]["tags"] == GOLD[1]
    (tmp_path / "pos.conllu").write_text("1\ta\t_\tDET\t_\t_\t_\t_\t_\t_\n\n")
    from sapo.apps.teach.project import import_file

    with pytest.raises(SapoError, match="has tags, but this project has spans"):
        import_file(client.classroom.store, tmp_path / "pos.conllu", None, None)


@pytest.mark.parametrize("name", ["a.jsonl", "a.conll", "a.conllu", "a.jsonl.gz", "a.doccano", "a.prodigy", "a.json"])
def test_what_is_exported_can_be_read_again(project: Path, open_project: Open, name: str) -> None:
    client = open_project(project)
    for sentence in (1, 3, 5):
        client.accept(sentence)
    client.close()
    path = project.parent / name
    format = {"a.doccano": "doccano", "a.prodigy": "prodigy", "a.json": "label-studio"}.get(name)
    run("teach", project, "--export", path, *(["--format", format] if format else []))
    label = "misc" if name == "a.conllu" else None
    from sapo.corpus.formats import read

    sentences = list(read(path, format=format, label=label))
    assert [list(one.tags or ()) for one in sentences] == [GOLD[1], GOLD[3], GOLD[5]]
    assert sentences[0].words == ("Anna", "Berg", "lives", "in", "Oslo", ".")


def test_an_import_does_not_overwrite_tokens_that_are_cut_meanwhile(project: Path, tmp_path: Path) -> None:
    from sapo.apps.teach.project import import_file
    from sapo.apps.teach.state import ACCEPT, Draft
    from sapo.apps.teach.store import Store

    class Late(Store):
        def add(self, *what: Any) -> None:
            page = Store(project)
            tags = ("O", *GOLD[1])
            page.write(lambda state: [Draft(ACCEPT, "anna", 1, tags, cuts=((0, 2),))])
            page.close()
            super().add(*what)

    (tmp_path / "same.conll").write_text("Anna O\nBerg O\nlives O\nin O\nOslo O\n. O\n")
    store = Late(project)
    with pytest.raises(SapoError, match="a person has just cut a token of one of its sentences; import it again"):
        import_file(store, tmp_path / "same.conll", None, None)
    store.close()
    again = Store(project)
    assert again.sentences[1].words[:3] == ["An", "na", "Berg"]
    again.close()


def test_the_page_exports_too(client: Any) -> None:
    client.accept(1)
    reply = client.get("/api/export?format=jsonl")
    assert json.loads(reply.body)["tags"] == GOLD[1]
    assert reply.headers["content-disposition"].startswith("attachment; filename=")


def test_mistakes_of_the_user_are_one_line(tmp_path: Path, project: Path, text: Path) -> None:
    for arguments, why in (
        (["teach", str(text), str(text)], "give the project to make: sapo teach TEXT... -o PROJECT"),
        (["teach", str(project), "--labels", "A"], "give the project to make"),
        (["teach", str(text)], "not a project of sapo teach"),
        (["teach", str(tmp_path / "no.txt"), "-o", str(tmp_path / "b.teach")], "no such file"),
        (["teach", str(text), "-o", str(project)], "already exists"),
        (["teach", str(project), "--export", str(tmp_path / "x.jsonl")], "no sentence has been accepted yet"),
    ):
        with pytest.raises(SapoError, match=why):
            run(*arguments)
