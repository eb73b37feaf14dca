"""Every mistake in a file is found, with its line, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sapo.check.doctor import examine
from sapo.check.findings import ERROR, NOTE, WARNING, Finding
from sapo.corpus.formats import read
from sapo.corpus.sample import sample_path

Write = Callable[..., Path]
ROWS = [line.split("\t") for line in sample_path("train").read_text("utf-8").splitlines()]
ENTITIES = ["\t".join((row[0], row[-1])) if row[0] else "" for row in ROWS]  # word and entity
TAGS = ["\t".join(row[:2]) if row[0] else "" for row in ROWS]  # word and part of speech
OUTSIDE = next(number for number, line in enumerate(ENTITIES, 1) if line.endswith("\tO"))
PERSON = next(number for number, line in enumerate(ENTITIES, 1) if line.endswith("\tB-PER"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(lines: list[str], name: str = "train.txt", end: str = "\n") -> Path:
        path = tmp_path / name
        path.write_bytes("".join(line + end for line in lines).encode("utf-8", "surrogateescape"))
        return path

    return call


def changed(lines: list[str], number: int, new: str) -> list[str]:
    """Return lines of which one, counted from 1, is another."""
    return [*lines[: number - 1], new, *lines[number:]]


def found(*paths: Path, **reading: str) -> list[Finding]:
    return [finding for finding in examine(paths, **reading).findings if finding.severity != NOTE]  # type: ignore[arg-type]


def only(*paths: Path, **reading: str) -> Finding:
    (finding,) = found(*paths, **reading)
    return finding


def relabeled(number: int, label: str, lines: list[str] = ENTITIES) -> list[str]:
    return changed(lines, number, lines[number - 1].rpartition("\t")[0] + "\t" + label)


@pytest.mark.parametrize("column", ["entity", "chunk", "pos"])
def test_the_sample_is_clean(column: str) -> None:
    columns = ["word", "pos", "chunk", "entity"]
    report = examine([sample_path("train"), sample_path("test")], columns=columns, label=column)
    assert report.clean
    assert report.files[0].sentences == 416


@pytest.mark.parametrize(
    ("label", "meant"),
    [("0", "O"), ("o", "O"), ("B_PER", "B-PER"), ("b-per", "B-PER"), ("B\u2013PER", "B-PER"), ("OO", None)],
)
def test_a_label_that_almost_fits_the_scheme_is_an_error(write: Write, label: str, meant: str | None) -> None:
    finding = only(write(relabeled(OUTSIDE, label)))
    assert (finding.kind, finding.severity, finding.line) == ("near-scheme", ERROR, OUTSIDE)
    assert f"'{label}'" in finding.text
    assert (f"did you mean '{meant}'?" == finding.way_out) if meant else ("--missing" in finding.way_out)


def test_labels_without_capitals_are_an_error(write: Write) -> None:
    lower = [line.rpartition("\t")[0] + "\t" + line.rpartition("\t")[2].lower() if line else "" for line in ENTITIES]
    findings = found(write(lower))
    assert {finding.kind for finding in findings} == {"near-scheme"}
    assert "did you mean 'O'?" in [finding.way_out for finding in findings]


def test_a_header_is_an_error(write: Write) -> None:
    finding = only(write(["Word\tner_tag", *ENTITIES]))
    assert (finding.kind, finding.severity, finding.line) == ("header", ERROR, 1)


def test_a_header_with_another_number_of_columns_is_found_in_line_1(write: Write) -> None:
    finding = only(write(["word", *ENTITIES]))
    assert (finding.kind, finding.line) == ("columns", 1)
    assert "expected 2 columns" in finding.text


def test_labels_that_differ_by_case_are_a_warning(write: Write) -> None:
    number = next(number for number, line in enumerate(TAGS, 1) if line.endswith("\tNN"))
    finding = only(write(relabeled(number, "nn", TAGS)))
    assert (finding.kind, finding.severity, finding.line) == ("case", WARNING, number)


@pytest.mark.parametrize("label", ["B-PRE", "B-PERS", "B-PET"])
def test_a_rare_label_one_letter_away_is_a_warning(write: Write, label: str) -> None:
    (finding, *_) = found(write(relabeled(PERSON, label)))
    assert (finding.kind, finding.severity, finding.line) == ("similar-label", WARNING, PERSON)
    assert finding.way_out == "did you mean 'B-PER'?"


def test_a_label_seen_once_is_a_note(write: Write) -> None:
    report = examine([write(relabeled(PERSON, "B-SHIP"))])
    assert [(finding.kind, finding.line) for finding in report.findings if finding.kind == "once"] == [("once", PERSON)]


def test_a_file_without_empty_lines_is_an_error(write: Write) -> None:
    finding = only(write([line for line in ENTITIES if line]))
    assert (finding.kind, finding.severity) == ("no-empty-lines", ERROR)


def test_an_empty_line_after_every_token_is_a_warning(write: Write) -> None:
    lines = [line for token in ENTITIES if token for line in (token, "")]
    assert "short-sentences" in {finding.kind for finding in found(write(lines))}


def test_one_sentence_out_of_all_proportion_is_a_warning(write: Write) -> None:
    joined = [line for line in ENTITIES[:500] if line]
    finding = only(write([*ENTITIES[500:], "", *joined]))
    assert (finding.kind, finding.severity, finding.line) == ("long-sentence", WARNING, len(ENTITIES[500:]) + 2)


def test_blanks_among_tabs_are_an_error(write: Write) -> None:
    finding = only(write(changed(ENTITIES, 5, ENTITIES[4].replace("\t", "  "))))
    assert (finding.kind, finding.severity, finding.line) == ("separators", ERROR, 5)


def test_tabs_among_blanks_are_a_warning(write: Write) -> None:
    lines = [line.replace("\t", " ") for line in ENTITIES]
    finding = only(write(changed(lines, 5, ENTITIES[4])))
    assert (finding.kind, finding.severity, finding.line) == ("separators", WARNING, 5)


def test_dev_data_that_is_the_training_data_is_an_error(write: Write) -> None:
    finding = only(write(ENTITIES), write(ENTITIES, "dev.txt"))
    assert (finding.kind, finding.severity) == ("same-data", ERROR)
    assert finding.file.endswith("dev.txt")


def test_sentences_in_both_files_are_counted(write: Write) -> None:
    borders = [0, *(number for number, line in enumerate(ENTITIES) if not line)]
    train, dev = ENTITIES[: borders[300]], ENTITIES[borders[290] :]
    finding = only(write(train), write(dev, "dev.txt"))
    assert (finding.kind, finding.severity) == ("overlap", WARNING)
    assert ": 10 of " in finding.text


def test_the_words_of_a_test_file_are_looked_up(write: Write) -> None:
    report = examine([write(ENTITIES), write(["zzz\tO", "The\tO"], "test.txt")])
    (finding,) = [finding for finding in report.findings if finding.kind == "known-words"]
    assert finding.text.startswith("50.0 % of its tokens")


def test_a_label_that_only_the_dev_data_has_is_a_warning(write: Write) -> None:
    finding = only(write(ENTITIES), write(["Oslo\tB-LOCC", "rests\tO"], "dev.txt"))
    assert (finding.kind, finding.line, finding.way_out) == ("unseen-label", 1, "did you mean 'B-LOC'?")


def test_other_columns_in_the_dev_data_are_an_error(write: Write) -> None:
    finding = only(write(ENTITIES), write(["Oslo\tNNP\tB-LOC"], "dev.txt"))
    assert (finding.kind, finding.severity) == ("unlike-columns", ERROR)


def test_a_column_that_equals_the_label_is_an_error(write: Write) -> None:
    lines = [line and f"{line}\t{line.split()[1]}" for line in TAGS]
    finding = only(write(lines))
    assert (finding.kind, finding.severity) == ("leak", ERROR)
    assert "column 1" in finding.text


def test_a_column_that_tells_the_label_is_a_warning(write: Write) -> None:
    lines = [line and f"{line}\tT-{line.split()[1]}" for line in TAGS]
    finding = only(write(lines))
    assert (finding.kind, finding.severity) == ("leak", WARNING)


def test_a_constant_column_is_a_note(write: Write) -> None:
    lines = [line.replace("\t", "\tX\t") for line in TAGS]
    report = examine([write(lines)])
    assert [finding.kind for finding in report.findings if "column 1 (pos)" in finding.text] == ["constant-column"]
    assert report.clean


@pytest.mark.parametrize(
    ("word", "kind"),
    [("New York", "blank"), ("New\xa0York", "blank"), ("a\u200bb", "invisible"), ("\ufffd", "lost-character")],
)
def test_words_with_blanks_or_invisible_characters_are_a_warning(write: Write, word: str, kind: str) -> None:
    finding = only(write(changed(ENTITIES, 1, f"{word}\tO")))
    assert (finding.kind, finding.severity, finding.line) == (kind, WARNING, 1)


def test_a_label_with_an_invisible_character_is_an_error(write: Write) -> None:
    number = next(number for number, line in enumerate(TAGS, 1) if line.endswith("\tNN"))
    finding = only(write(relabeled(number, "NN\u200b", TAGS)))
    assert (finding.kind, finding.severity, finding.line) == ("unclean-label", ERROR, number)


def test_spans_that_break_their_scheme_are_a_warning(write: Write) -> None:
    finding = only(write(relabeled(OUTSIDE, "I-PER")))
    assert (finding.kind, finding.severity, finding.line) == ("scheme", WARNING, OUTSIDE)


def test_all_lines_with_a_wrong_number_of_columns_are_told_at_once(write: Write) -> None:
    lines = changed(changed(ENTITIES, 2, "lost"), 7, "lost")
    finding = only(write(lines))
    assert (finding.kind, finding.lines) == ("columns", (2, 7))


def test_lines_that_are_not_utf8_are_told_at_once(write: Write) -> None:
    finding = only(write(changed(ENTITIES, 3, "caf\udce9\tO")))
    assert (finding.kind, finding.severity, finding.line) == ("not-utf8", ERROR, 3)


def test_lone_carriage_returns_are_found_and_read_as_line_ends(write: Write) -> None:
    report = examine([write(ENTITIES, end="\r")])
    assert [(finding.kind, finding.line) for finding in report.findings] == [("line-ends", 1)]
    assert report.files[0].sentences == 416


def test_empty_labels_are_found(write: Write) -> None:
    finding = only(write(changed(ENTITIES, 4, ENTITIES[3].rpartition("\t")[0] + "\t")))
    assert (finding.kind, finding.line) == ("empty-label", 4)


def test_commas_in_one_column_are_named(write: Write) -> None:
    finding = only(write([line.replace("\t", ",") for line in ENTITIES if "," not in line]))
    assert finding.kind == "one-column"
    assert "commas" in finding.way_out


def test_an_empty_file_is_an_error(write: Write) -> None:
    assert only(write([])).kind == "empty"


def test_a_mark_of_missing_tags_is_no_label(write: Write) -> None:
    path = write(relabeled(OUTSIDE, "?"))
    assert only(path).kind == "near-scheme"
    assert not found(path, missing="?")


def test_jsonl_is_checked_past_broken_lines(write: Write) -> None:
    lines = ['{"tokens": ["a"], "tags": ["DT"]}', "{", '{"tokens": ["a"], "tags": []}', '{"tokens": [], "tags": []}']
    report = examine([write(lines, "train.jsonl")])
    assert [(finding.kind, finding.line) for finding in report.findings] == [
        ("record", 2),
        ("record", 3),
        ("no-tokens", 4),
    ]
    assert report.files[0].tokens == 1


def test_conllu_is_checked_past_broken_lines(write: Write) -> None:
    token = "1\tno\tno\tDET\t_\t_\t_\t_\t_\t_"
    lines = ["# text = no", token, "2\train", "1-2\tx" + "\t_" * 8, "", token.replace("DET", "DT"), ""]
    report = examine([write(lines, "train.conllu")])
    assert [(finding.kind, finding.line) for finding in report.findings] == [("columns", 3)]
    assert (report.files[0].tokens, report.files[0].labels) == (2, {"DET": 1, "DT": 1})


def test_the_label_of_conllu_may_be_a_key_of_feats(write: Write) -> None:
    path = write(["1\tno\tno\tDET\t_\tNumber=Sing|Case=Nom\t_\t_\t_\t_", ""], "train.conllu")
    assert list(examine([path], label="Case").files[0].labels) == ["Nom"]
    assert list(examine([path], label="upos+feats").files[0].labels) == ["DET|Number=Sing|Case=Nom"]


@pytest.mark.parametrize("name", ["train.txt", "train.conllu", "train.jsonl"])
def test_the_doctor_reads_what_training_reads(write: Write, name: str) -> None:
    from sapo.check.reading import read_sheet
    from sapo.corpus.formats import FORMATS

    sentences = list(read(sample_path("test")))[:20]
    path = write(
        ["".join(map(FORMATS[{"txt": "columns"}.get(name[6:], name[6:])].write_sentence, sentences))], name, ""
    )
    sheet = read_sheet(path)
    expected = list(read(path))
    assert list(sheet.words) == [word for sentence in expected for word in sentence.words]
    assert list(sheet.labels) == [tag for sentence in expected for tag in sentence.tags or ()]
    assert sheet.lengths == [len(sentence) for sentence in expected]
