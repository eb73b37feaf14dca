"""Parts of a file together are the file, have the wanted sizes, and share the labels evenly."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.conversion import Source, Target, Unit, convert, read_units, split_corpus, split_units
from sapo.corpus.formats import FORMATS, read
from sapo.corpus.sample import sample_path
from sapo.errors import SapoError


def labels(part: list[Unit]) -> Counter[str]:
    return sum((unit.labels for unit in part), Counter[str]())


@given(
    st.lists(st.tuples(st.frozensets(st.sampled_from("ABC"), max_size=3), st.integers(1, 9)), min_size=3, max_size=40),
    st.lists(st.floats(0.05, 1), min_size=2, max_size=3),
    st.integers(0, 3),
)
def test_every_unit_is_in_one_part_in_order(
    made: list[tuple[frozenset[str], int]], shares: list[float], seed: int
) -> None:
    units = [Unit(str(number).encode(), Counter(found), 1, size) for number, (found, size) in enumerate(made)]
    parts = split_units(units, shares, seed=seed)
    assert all(parts)
    assert sorted(int(unit.data) for part in parts for unit in part) == list(range(len(units)))
    assert all([int(unit.data) for unit in part] == sorted(int(unit.data) for unit in part) for part in parts)
    again = split_units(units, shares, seed=seed)
    assert [[unit.data for unit in part] for part in again] == [[unit.data for unit in part] for part in parts]


def test_the_parts_have_their_sizes_and_the_labels_their_shares() -> None:
    units, _ = read_units(Source(sample_path("train")))
    parts = split_units(units, [80, 10, 10])
    tokens = np.array([sum(unit.tokens for unit in part) for part in parts])
    assert np.abs(tokens / tokens.sum() - [0.8, 0.1, 0.1]).max() < 0.02
    whole = labels(units)
    assert set(whole) == {"PER", "LOC", "ORG", "MISC"}
    for part, share in zip(parts, (0.8, 0.1, 0.1), strict=True):
        for label, count in labels(part).items():
            assert abs(count - share * whole[label]) <= 2


def test_other_seeds_give_other_parts() -> None:
    units, _ = read_units(Source(sample_path("train")))
    first, second = (split_units(units, [1, 1], seed=seed)[0] for seed in (0, 1))
    assert [unit.data for unit in first] != [unit.data for unit in second]


def test_units_are_the_file_as_it_is() -> None:
    whole = sample_path("test").read_bytes().rstrip(b"\n") + b"\n\n"
    assert b"".join(unit.data for unit in read_units(Source(sample_path("test")))[0]) == whole


def test_documents_of_column_files_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("-DOCSTART- -X- O\n\na DT O\n\nb DT O\n\n-DOCSTART- -X- O\n\nc DT O\n\n", "utf-8")
    (first, second), _ = read_units(Source(path), documents=True)
    assert (first.sentences, second.sentences) == (2, 1)
    assert first.data + second.data == path.read_bytes()


def test_documents_of_conllu_stay_whole(tmp_path: Path) -> None:
    token = "1\ta\ta\tDET" + "\t_" * 6 + "\n\n"
    path = tmp_path / "a.conllu"
    path.write_text(f"# newdoc id = x\n# text = a\n{token}# text = a\n{token}# newdoc id = y\n{token}", "utf-8")
    assert [unit.sentences for unit in read_units(Source(path), documents=True)[0]] == [2, 1]


def test_sentence_names_of_conllu_tell_the_document(tmp_path: Path) -> None:
    token = "1\ta\ta\tDET" + "\t_" * 6 + "\n\n"
    path = tmp_path / "a.conllu"
    path.write_text("".join(f"# sent_id = {name}\n{token}" for name in ("x-1-1", "x-1-2", "x-2-1")), "utf-8")
    assert [unit.sentences for unit in read_units(Source(path), documents=True)[0]] == [2, 1]


def test_documents_of_jsonl_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [f'{{"tokens": ["a"], "tags": ["DT"], "document": {name}}}\n' for name in (1, 2, 1)]
    path.write_text("".join(lines), "utf-8")
    assert [unit.data.decode() for unit in read_units(Source(path), documents=True)[0]] == [
        lines[0] + lines[2],
        lines[1],
    ]
    assert [len(list(read(path)))] == [3]


def test_a_file_without_documents_is_refused() -> None:
    with pytest.raises(SapoError, match="has no documents"):
        read_units(Source(sample_path("test")), documents=True)


def test_too_few_units_are_refused() -> None:
    with pytest.raises(SapoError, match="cannot be split into 3 parts"):
        split_units([Unit(b"", Counter(), 1, 1)] * 2, [1, 1, 1])


def test_equal_sentences_go_to_the_same_part(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    sentences = [f"word{number % 20} X\nend X\n\n" for number in range(60)]
    path.write_text("".join(sentences), "utf-8")
    parts, _ = split_corpus(Source(path), Target(tmp_path / "data"), [60, 20, 20])
    found = [{sentence.words for sentence in read(part.path)} for part in parts]
    assert sum(part.sentences for part in parts) == 60
    assert all(a.isdisjoint(b) for at, a in enumerate(found) for b in found[at + 1 :])


def test_documents_that_share_a_sentence_stay_together_unless_all_would(tmp_path: Path) -> None:
    units = [
        Unit(str(number).encode(), Counter("A"), 2, 20, keys=((19, number // 2), (1, 7))) for number in range(20)
    ]  # pairs share a long sentence, and all of them share 'Thanks!'
    parts = split_units(units, [60, 20, 20])
    homes = {unit.data: at for at, part in enumerate(parts) for unit in part}
    assert all(homes[b"%d" % (2 * pair)] == homes[b"%d" % (2 * pair + 1)] for pair in range(10))
    assert all(parts)


TEXT_ROWS = [{"id": f"T-{number}", "text": f"Anna{number} sings. She is in Oslo.", "spans": []} for number in range(12)]


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("text", "crfsuite")])
def test_every_format_is_split_by_document_and_keeps_their_names(tmp_path: Path, format: str) -> None:
    if format in ("spacy", "arrow"):
        pytest.importorskip({"arrow": "pyarrow"}.get(format, format))
    start = tmp_path / "start.jsonl"
    start.write_text("".join(json.dumps(row) + "\n" for row in TEXT_ROWS), "utf-8")
    ending = {"columns": ".txt", "doccano": ".jsonl", "prodigy": ".jsonl", "label-studio": ".json", "brat": ""}
    source = tmp_path / f"all{ending.get(format, f'.{format}')}"
    source = source.with_suffix(".parquet") if format == "arrow" else source
    convert(Source(start), Target(source, format, text=format in ("jsonl", "arrow")))
    parts, lost = split_corpus(Source(source, format), Target(tmp_path / "data"), [60, 20, 20])
    assert lost == ()
    assert [part.documents for part in parts] == [8, 2, 2]
    if format == "spacy":  # has no place for names
        return
    names = [{one.document for one in read(part.path, format=format)} for part in parts]
    assert set().union(*names) == {row["id"] for row in TEXT_ROWS}
    assert sum(map(len, names)) == len(TEXT_ROWS)
    assert sum(part.sentences for part in parts) == 24


def test_names_of_documents_survive_splitting_with_a_conversion(tmp_path: Path) -> None:
    source = tmp_path / "all.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in TEXT_ROWS), "utf-8")
    parts, _ = split_corpus(Source(source), Target(tmp_path / "data", "conllu"), [80, 20])
    sentences = [one for part in parts for one in read(part.path)]
    assert len(sentences) == 24
    assert {one.document for one in sentences} == {row["id"] for row in TEXT_ROWS}
    assert parts[0].path.read_text("utf-8").startswith("# newdoc id = T-")
