"""`sapo tag` on raw text: recognized, cut, tagged, and written with offsets."""

import json
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.sample import COLUMNS, sample_path

TEXT = "Mr. Lee lives in Oslo.\nIt isn't far.\n\nThe end"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("models")
    for name, template, label in (("ner", "ner", "entity"), ("pos", "pos", "pos"), ("chunk", "chunking", "chunk")):
        sapo.train(sample_path("train"), template=template, columns=COLUMNS, label=label, epochs=3).save(
            room / f"{name}.sapo"
        )
    plain = [(list(sentence.words), list(sentence.columns["pos"])) for sentence in sapo.read(sample_path("train"))]
    sapo.train(plain, template="pos", epochs=2).save(room / "plain.sapo")
    sapo.train([(list("今天很好。"), list("BEBES"))] * 3, template="pos", epochs=1).save(room / "characters.sapo")
    return room


def rows(output: str) -> list[list[list[str]]]:
    return [[line.split("\t") for line in part.split("\n")] for part in output.strip("\n").split("\n\n")]


def test_text_is_tagged_as_in_python(run: Any, models: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(TEXT)
    tagger = sapo.Tagger.load(models / "pos.sapo")
    expected = [[[token.text, token.tag] for token in sentence.tokens] for sentence in tagger.tag_text(TEXT).sentences]
    assert [len(sentence) for sentence in expected] == [6, 5, 2]
    assert rows(run("tag", models / "pos.sapo", "--text", TEXT).stdout) == expected
    assert rows(run("tag", models / "pos.sapo", tmp_path / "book.txt", "--format", "text").stdout) == expected
    assert rows(run("tag", models / "pos.sapo", "--format", "text", input=TEXT).stdout) == expected


def test_spans_are_written_with_their_offsets_in_the_file(run: Any, models: Path) -> None:
    lines = run("tag", models / "ner.sapo", "--text", TEXT, "--spans").stdout.splitlines()
    spans = sapo.Tagger.load(models / "ner.sapo").tag_text(TEXT, probabilities=True).spans
    assert spans
    for line, span in zip(lines, spans, strict=True):
        start, end, kind, share, text = line.split("\t")
        assert (int(start), int(end), kind, text) == (span.start, span.end, span.type, span.text)
        assert TEXT[int(start) : int(end)] == text
        assert float(share) == pytest.approx(span.probability, abs=1e-6)


@pytest.mark.parametrize("option", [[], ["--spans"], ["--marginals"], ["--nbest", "2"]])
def test_jsonl_has_offsets_in_its_text_and_the_place_in_the_file(
    run: Any, models: Path, tmp_path: Path, option: list[str]
) -> None:
    run("tag", models / "ner.sapo", "--text", TEXT, *option, "-o", tmp_path / "a.jsonl")
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(records) == 3
    for record in records:
        text = record["text"]
        assert TEXT[record["start"] : record["end"]] == text
        assert [text[a:b] for a, b in record["offsets"]] == record["tokens"]
        assert len(record["tags"]) == len(record["tokens"])
        assert all(text[span["start"] : span["end"]] for span in record["spans"])
    again = run("tag", models / "ner.sapo", tmp_path / "a.jsonl", *option).stdout
    assert [json.loads(line)["tags"] for line in again.splitlines()] == [record["tags"] for record in records]


def test_probabilities_and_n_best_taggings_are_columns(run: Any, models: Path) -> None:
    marginals = rows(run("tag", models / "pos.sapo", "--text", TEXT, "--marginals").stdout)
    assert all(0 < float(row[2]) <= 1 for sentence in marginals for row in sentence)
    best = run("tag", models / "pos.sapo", "--text", "A dog", "--nbest", "2").stdout
    assert best.count("# tagging = ") == best.count("dog\t") == 2


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("pos", "The cat sleeps here now.\nIt is a good day.\n"),
        ("plain", "The cat sleeps here now.\nIt is a good day.\n"),
        ("plain", "the cat\nsleeps well\n"),
        ("plain", "The cat sleeps."),
        ("plain", "No it is here\nAnd so it goes\n"),
        ("characters", "今天很好。"),
    ],
)
def test_text_is_never_taken_for_columns(run: Any, models: Path, model: str, text: str) -> None:
    done = run("tag", models / f"{model}.sapo", input=text, ends=2)
    assert done.stdout == ""
    assert "standard input:1: this looks like running text" in done.stderr
    assert "--format text" in done.stderr
    run("tag", models / f"{model}.sapo", "--format", "columns", input=text)


def test_lines_of_unequal_length_may_be_text(run: Any, models: Path) -> None:
    done = run("tag", models / "pos.sapo", input="The cat sleeps\nIt is\n", ends=2)
    assert "found 2 ('It is'); if this is running text, use --format text" in done.stderr


@pytest.mark.parametrize(
    "text", ["The\ncat\n", "The DT\ncat NN\n", "The DT B-NP PER x\ncat NN I-NP O x\n", "the\tcat\nis\there.\n"]
)
def test_columns_are_not_taken_for_text(run: Any, models: Path, text: str) -> None:
    assert len(run("tag", models / "plain.sapo", input=text).stdout.splitlines()) == 2


def test_a_column_in_lower_case_that_the_model_knows_is_no_text(run: Any, tmp_path: Path) -> None:
    tokens = [("cats", "cat"), ("sleep", "sleep")]
    sapo.train([(tokens, ["N", "V"])] * 3, template="pos", columns=["word", "lemma"], epochs=1).save(
        tmp_path / "m.sapo"
    )
    assert run("tag", tmp_path / "m.sapo", input="dogs dog\nsleep sleep\n").stdout.startswith("dogs dog N\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chunk.sapo", "--text", "A dog"], "also needs pos of each word"),
        (["chunk.sapo", "--format", "text"], "also needs pos of each word"),
        (["pos.sapo", "book.txt", "--text", "A dog"], "two inputs"),
        (["pos.sapo", "--text", "A dog", "--format", "jsonl"], "--text is plain text, not jsonl"),
        (["pos.sapo", "--text", "A dog", "--to", "csv"], "columns, jsonl or conllu, not as 'csv'"),
        (["pos.sapo", "--to", "jsonl"], "convert the result with sapo convert"),
    ],
)
def test_mistakes_are_one_line_with_the_way_out(run: Any, models: Path, arguments: list[str], message: str) -> None:
    done = run("tag", *arguments, ends=2, cwd=models)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_text_is_converted_to_columns(run: Any) -> None:
    done = run("convert", "-", "-", "--from", "text", "--to", "columns", "--no-label", input="He left. Yes")
    assert done.stdout == "He\nleft\n.\n\nYes\n\n"
    assert "does not write it" in run("convert", "-", "-", "--to", "text", "--no-label", input="a\n\n", ends=2).stderr


def test_text_becomes_conllu_that_is_cut_as_the_model_was_trained(run: Any, models: Path, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(TEXT)
    source, out = tmp_path / "book.txt", tmp_path / "out.conllu"
    run("tag", models / "pos.sapo", source, "--format", "text", "--label", "xpos", "-o", out)
    sentences = list(sapo.read(out, label="xpos"))
    expected = sapo.Tagger.load(models / "pos.sapo").tag_text(TEXT).sentences
    assert [list(one.words) for one in sentences] == [[token.text for token in one.tokens] for one in expected]
    assert [list(one.tags or ()) for one in sentences] == [[token.tag for token in one.tokens] for one in expected]
    assert out.read_text().startswith("# sent_id = 1\n# text = Mr. Lee lives in Oslo.\n1\tMr.\t_\t_\t")
    assert "\tSpaceAfter=No\n6\t." in out.read_text()
    assert (
        run("tag", models / "pos.sapo", "--text", TEXT, "--to", "conllu", "--label", "xpos").stdout == out.read_text()
    )


@pytest.mark.parametrize(("option", "shown"), [("--spans", "SpanProbability="), ("--marginals", "TagProbability=")])
def test_probabilities_go_to_misc_of_conllu(run: Any, models: Path, option: str, shown: str) -> None:
    found = run("tag", models / "ner.sapo", "--text", TEXT, "--to", "conllu", "--label", "Entity", option).stdout
    assert shown in found
    assert "Entity=B-" in found
    ranked = run("tag", models / "ner.sapo", "--text", TEXT, "--to", "conllu", "--label", "Entity", "--nbest", 2).stdout
    assert ranked.count("# sent_id = 1\n") == 2
    assert "# tagging = 2\n" in ranked


def test_a_folder_of_texts_becomes_documents_of_conllu(run: Any, models: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "texts" / name).write_text(TEXT)
    run(
        "tag",
        models / "pos.sapo",
        tmp_path / "texts",
        "--format",
        "text",
        "--label",
        "xpos",
        "-o",
        tmp_path / "o.conllu",
    )
    assert [one.document for one in sapo.read(tmp_path / "o.conllu")] == ["a.txt"] * 3 + ["b.txt"] * 3


def test_a_model_without_a_place_in_conllu_needs_one(run: Any, models: Path) -> None:
    told = run("tag", models / "pos.sapo", "--text", TEXT, "--to", "conllu", ends=2).stderr
    assert "this model was not trained on CoNLL-U; say with --label where its tags go" in told
