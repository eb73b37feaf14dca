"""Tables of pandas, polars, Arrow and Hugging Face, with the packages themselves: a row for a sentence or a token."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus import tables
from sapo.corpus.blocks import Sentence
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.formats import format_of, read
from sapo.errors import SapoError
from sapo.tags.labels import MISSING

pandas: Any = pytest.importorskip("pandas", reason="make test installs pandas")
polars: Any = pytest.importorskip("polars", reason="make test installs polars")
pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is an extra; make test installs it")
datasets: Any = pytest.importorskip("datasets", reason="make test installs datasets")

LISTS = {"id": [7, 8], "tokens": [["Anna", "sings"], ["No"]], "ner_tags": [["B-PER", "O"], ["O"]]}
ROWS = {"Sentence #": [1, 1, 2], "Word": ["Anna", "sings", "No"], "POS": ["N", "V", "D"], "Tag": ["B-PER", "O", "O"]}
SENTENCES = [
    Sentence({"word": ("Anna", "sings")}, ("B-PER", "O")),
    Sentence({"word": ("No",)}, ("O",)),
]
NAMES = ["O", "B-PER", "I-PER"]


def hugging_face(columns: dict[str, Any]) -> Any:
    """A dataset with labels as numbers."""
    numbers = {
        "tokens": columns["tokens"],
        "ner_tags": [[NAMES.index(tag) for tag in row] for row in columns["ner_tags"]],
    }
    features = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(datasets.ClassLabel(names=NAMES)),
        }
    )
    return datasets.Dataset.from_dict(numbers, features=features)


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.table,
    "datasets": datasets.Dataset.from_dict,
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("columns", [LISTS, ROWS])
def test_sentences_are_rows_or_runs_of_rows(maker: str, columns: dict[str, Any]) -> None:
    assert list(read(MAKERS[maker](columns))) == SENTENCES
    assert [one.tags for one in read(MAKERS[maker](columns), labeled=False)] == [None, None]


@pytest.mark.parametrize("maker", [*MAKERS, "hugging face"])
def test_a_table_trains_and_evaluates(maker: str) -> None:
    table = hugging_face(LISTS) if maker == "hugging face" else MAKERS[maker](LISTS)
    tagger = sapo.train(table, dev=table, template="ner", epochs=3)
    assert tagger.tag(["Anna", "sings"]) == ["B-PER", "O"]
    assert tagger.evaluate(table).main == ("F1", 1.0)
    trainer = sapo.Trainer(tagger)
    trainer.update(table)
    assert trainer.tagger.tag(["No"]) == ["O"]


def test_numbers_have_the_names_of_hugging_face(tmp_path: Path) -> None:
    made = hugging_face(LISTS)
    assert list(read(made)) == SENTENCES
    made.to_parquet(tmp_path / "a.parquet")
    assert list(read(tmp_path / "a.parquet")) == SENTENCES
    made.save_to_disk(tmp_path / "saved")
    assert format_of(tmp_path / "saved") == "arrow"
    assert list(read(tmp_path / "saved")) == SENTENCES
    with pytest.raises(
        SapoError, match=r"table:1: 'ner_tags' holds the number 1 without the names of labels; give str"
    ):
        list(read(pandas.DataFrame({"tokens": [["a"]], "ner_tags": [[1]]})))


def test_splits_are_named(tmp_path: Path) -> None:
    both = datasets.DatasetDict({"train": hugging_face(LISTS), "test": hugging_face(LISTS)})
    with pytest.raises(
        SapoError, match="training data: a DatasetDict has several splits; give one of them: train, test"
    ):
        sapo.train(both)
    both.save_to_disk(tmp_path / "saved")
    with pytest.raises(SapoError, match=r"has several datasets; give one of them, such as .*saved/test"):
        list(read(tmp_path / "saved"))
    assert list(read(tmp_path / "saved" / "train")) == SENTENCES


def test_many_rows_come_in_batches(tmp_path: Path) -> None:
    rows = {key: [value for number in range(1300) for value in values] for key, values in ROWS.items()}
    rows["Sentence #"] = [number // 3 * 2 + (number % 3 == 2) for number in range(3900)]
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "a.parquet", row_group_size=1000)
    assert list(read(tmp_path / "a.parquet")) == SENTENCES * 1300


def test_a_sentence_may_be_named_in_its_first_row_only() -> None:
    table = pandas.DataFrame({**ROWS, "Sentence #": ["Sentence: 1", float("nan"), "Sentence: 2"]})
    assert list(read(table)) == SENTENCES


@pytest.mark.parametrize("maker", MAKERS)
def test_rows_of_a_sentence_that_are_apart_are_refused(maker: str) -> None:
    table = MAKERS[maker]({**ROWS, "Sentence #": [1, 2, 1]})
    with pytest.raises(SapoError) as caught:
        list(read(table))
    assert str(caught.value) == (
        "table:3: the rows of sentence 1 in 'Sentence #' are not together; sort the table by 'Sentence #' and the "
        "position of the token, or give different sentences different values"
    )


def test_sentences_apart_are_noticed_in_a_long_table_with_few_of_them_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "REMEMBERED", 4)
    for apart in ([*range(50), 48], [*range(50), 2]):  # a recent one, and one of the first
        rows = {"sentence": apart, "word": ["a"] * 51, "label": ["O"] * 51}
        with pytest.raises(SapoError, match=rf"table:51: the rows of sentence {apart[-1]} "):
            list(read(pandas.DataFrame(rows)))


def test_columns_and_labels_can_be_named() -> None:
    (first, _) = read(polars.DataFrame(ROWS), columns=["Word", "Tag"], label="POS")
    assert first == Sentence({"word": ("Anna", "sings"), "tag": ("B-PER", "O")}, ("N", "V"))
    (first, _) = read(pandas.DataFrame(ROWS), columns=["Word", "POS"])
    assert first == Sentence({"word": ("Anna", "sings"), "pos": ("N", "V")}, ("B-PER", "O"))


def test_missing_labels_are_missing() -> None:
    made = hugging_face(LISTS).map(lambda row: {"ner_tags": [-1 for _ in row["ner_tags"]]})
    assert {tag for one in read(made) for tag in one.tags or ()} == {MISSING}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": ["x"]}, "table: found no column of words among a, b; name it with columns"),
        ({"tokens": [["a"]], "x": [["b"]]}, "table: found no column of labels among x; name it with label"),
        ({"word": ["a"], "label": ["b"]}, "table: found no column of sentences among word, label; call it sentence"),
        ({"tokens": [["a", "b"]], "tags": [["X"]]}, "table:1: columns of unequal length (2 tokens, 1 tags)"),
        ({"tokens": [[None]], "tags": [["X"]]}, "table:1: token 1 of 'tokens' must be a string, found None"),
    ],
)
def test_mistakes_are_named(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(SapoError) as caught:
        list(read(pandas.DataFrame(columns)))
    assert str(caught.value).startswith(message)


def test_a_file_that_is_not_of_arrow_is_refused(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.arrow"):
        (tmp_path / name).write_text("no")
        with pytest.raises(SapoError, match=rf"{name}: not a file of Arrow or Parquet, or damaged"):
            list(read(tmp_path / name))


def test_what_is_written_is_read_by_hugging_face(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("Anna B-PER\nsings O\n\nNo O\n\n")
    assert convert(Source(source), Target(tmp_path / "a.parquet")).sentences == 2
    made = datasets.Dataset.from_parquet(str(tmp_path / "a.parquet"), cache_dir=str(tmp_path / "cache"))
    feature = made.features["tags"]
    assert feature.feature.names == ["O", "B-PER"]
    assert made[0] == {"tokens": ["Anna", "sings"], "tags": [1, 0]}
    assert list(read(tmp_path / "a.parquet")) == SENTENCES
