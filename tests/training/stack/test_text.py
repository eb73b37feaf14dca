"""A stack of models works on raw text and JSONL, in Python and as a command."""

import json
from pathlib import Path

import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.tagger.stack import ReadyStep, TrainedStep
from sapo.training.stack import run_pipeline

TEXT = "Mr. Lee lives in Oslo. It isn't far.\n\nThe end"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("models")
    for name, template, label in (("pos", "pos", "pos"), ("chunk", "chunking", "chunk"), ("ner", "ner", "entity")):
        options = {"template": template, "columns": COLUMNS, "label": label, "epochs": 2}
        sapo.train(sample_path("train"), **options).save(room / f"{name}.sapo")  # type: ignore[arg-type]
    return room


@pytest.fixture(scope="module")
def pipeline(models: Path) -> sapo.Pipeline:
    return sapo.Pipeline([("pos", sapo.Tagger.load(models / "pos.sapo")), ("chunk", models / "chunk.sapo")])


def test_each_model_sees_the_tags_of_those_before(models: Path, pipeline: sapo.Pipeline) -> None:
    words = ["The", "dog", "barks", "."]
    pos = sapo.Tagger.load(models / "pos.sapo").tag(words)
    chunks = sapo.Tagger.load(models / "chunk.sapo").tag(list(zip(words, pos, strict=True)))
    assert pipeline.tag(words) == {"pos": pos, "chunk": chunks}
    assert pipeline.tag_many([words, ["No"]])[0] == {"pos": pos, "chunk": chunks}


def test_text_has_the_tags_of_all_models(pipeline: sapo.Pipeline) -> None:
    found = pipeline.tag_text(TEXT, probabilities=True, nbest=2)
    assert len(found.sentences) == 3
    for sentence in found.sentences:
        tags = pipeline.tag(sentence.words)
        assert sentence.tags == tags["chunk"] == sentence.taggings[0].tags
        assert [token.columns for token in sentence.tokens] == [{"pos": tag} for tag in tags["pos"]]
    for piece in (*found.tokens, *found.spans):
        assert TEXT[piece.start : piece.end] == piece.text
        assert piece.probability is not None
    assert pipeline.tag_texts(["", TEXT])[1] == pipeline.tag_text(TEXT)


def test_a_step_without_its_columns_is_refused(models: Path) -> None:
    with pytest.raises(sapo.SapoError, match=r"step 'chunk' needs the column 'pos'.*put a step 'pos' before it"):
        sapo.Pipeline({"chunk": models / "chunk.sapo"})
    with pytest.raises(sapo.SapoError, match="needs a step"):
        sapo.Pipeline({})
    with pytest.raises(sapo.SapoError, match="already has a column 'word'"):
        sapo.Pipeline({"word": models / "pos.sapo"})


def steps(models: Path) -> list[ReadyStep]:
    return [ReadyStep(name, models / f"{name}.sapo") for name in ("pos", "ner")]


def test_text_becomes_columns(models: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(TEXT)
    report = run_pipeline(tmp_path / "book.txt", tmp_path / "out.txt", steps(models), format="text")
    assert report.columns == ("word", "pos", "ner")
    stack = sapo.Pipeline([(step.column, step.model) for step in steps(models)])
    parts = (tmp_path / "out.txt").read_text().strip("\n").split("\n\n")
    for part, sentence in zip(parts, stack.tag_text(TEXT).sentences, strict=True):
        expected = [f"{token.text}\t{token.columns['pos']}\t{token.tag}" for token in sentence.tokens]
        assert part.split("\n") == expected


def test_text_becomes_jsonl_with_offsets(models: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(TEXT)
    run_pipeline(tmp_path / "book.txt", tmp_path / "out.jsonl", steps(models), format="text")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [TEXT[record["start"] : record["end"]] for record in records] == [record["text"] for record in records]
    assert all(len(record["pos"]) == len(record["ner"]) == len(record["tokens"]) for record in records)
    assert ("Oslo", "LOC") in [
        (record["text"][span["start"] : span["end"]], span["label"]) for record in records for span in record["spans"]
    ]


def test_jsonl_gets_a_key_for_each_step(models: Path, tmp_path: Path) -> None:
    rows = [
        {"id": 1, "tokens": ["The", "dog"], "tags": ["gold", "gold"]},
        {"id": 2, "tokens": ["No"], "tags": ["gold"]},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run_pipeline(tmp_path / "in.jsonl", tmp_path / "out.jsonl", steps(models))
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    for before, after in zip(rows, found, strict=True):
        assert before.items() <= after.items()
        assert list(after) == [*before, "pos", "ner"]
    with pytest.raises(sapo.SapoError, match="already has a column 'pos'"):
        run_pipeline(tmp_path / "out.jsonl", tmp_path / "b.jsonl", steps(models))


def test_text_is_cut_as_the_data_of_a_step_that_is_trained_now(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a DT\nwell JJ\n- HYPH\nknown JJ\ndog NN\n\n" * 4)
    (tmp_path / "book.txt").write_text("an old-time cat")
    run_pipeline(
        tmp_path / "book.txt",
        tmp_path / "out.txt",
        [TrainedStep("pos", (tmp_path / "train.txt",))],
        format="text",
        epochs=2,
    )
    assert [line.split("\t")[0] for line in (tmp_path / "out.txt").read_text().split()[::2]] == [
        *("an", "old", "-", "time", "cat")
    ]


def test_text_is_not_taken_for_columns(models: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("The cat sleeps here now.\nIt is a good day.\n")
    with pytest.raises(sapo.SapoError, match="looks like running text"):
        run_pipeline(tmp_path / "book.txt", tmp_path / "out.txt", steps(models))
    with pytest.raises(sapo.SapoError, match="the names of columns are for column files"):
        run_pipeline(tmp_path / "book.txt", tmp_path / "out.txt", steps(models), format="text", columns=["word"])
    with pytest.raises(sapo.SapoError, match="columns or jsonl, not as 'conllu'"):
        run_pipeline(tmp_path / "book.txt", tmp_path / "out.txt", steps(models), format="text", to="conllu")
