"""Training from Python, and steps of a pipeline, warn about data as `sapo train` does."""

from pathlib import Path

import pytest

import sapo
from answers import answer
from sapo.errors import DataWarning

# a zero for the letter O, as it comes out of a spreadsheet
ODD = [(["in", "Oslo"], ["O", "B-LOC"]), (["at", "home"], ["O", "O"])] * 20 + [(["no", "rain"], ["0", "O"])]


def test_python_warns_in_one_line() -> None:
    with pytest.warns(DataWarning, match="^training data: .*'0'") as found:
        sapo.train(ODD, template="ner", epochs=1)
    assert len(found) == 1
    assert "\n" not in str(found[0].message)
    assert found[0].filename == __file__


def test_python_warns_of_labels_of_the_dev_data_that_training_lacks() -> None:
    with pytest.warns(DataWarning, match="the label 'X' of the dev data never occurs in the training data"):
        sapo.train([(["a", "b"], ["Y", "Z"])], dev=[(["a", "b"], ["Y", "X"])], template="pos", epochs=1)


def test_a_file_is_named_with_its_line_and_a_pipeline_warns_too(tmp_path: Path) -> None:
    rows = ["".join(f"{word} {tag}\n" for word, tag in zip(*pair, strict=True)) + "\n" for pair in ODD]
    (tmp_path / "odd.txt").write_text("".join(rows))
    (tmp_path / "input.txt").write_text("We\nlive\n\n")
    with pytest.warns(DataWarning, match=r"odd\.txt:121: "):
        sapo.train(tmp_path / "odd.txt", template="ner", epochs=1)
    done = answer("pipeline", tmp_path / "input.txt", "--add", f"ner={tmp_path / 'odd.txt'}", "-e", 1)
    assert done.code == 0, done
    assert len([line for line in done.lines if line.startswith("sapo: warning: ") and "'0'" in line]) == 1


TEXTS = {
    "a.jsonl": '{{"text": "Both {0} broke.", "spans": [[5, {1}, "PRODUCT"]]}}\n',
    "a.csv": "Both {0} broke.,5:{1}:PRODUCT\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_tokenizer_learns_to_split_where_spans_begin_and_end(tmp_path: Path, name: str) -> None:
    header = "text,spans\n" if name.endswith("csv") else ""
    (tmp_path / name).write_text(header + TEXTS[name].format("LumiLamp/SolarPack", 13) * 3)
    tagger = sapo.train(tmp_path / name, epochs=3)  # without a warning
    assert [span.text for span in tagger.tag_text("Both LumiLamp/SolarPack broke.").spans] == ["LumiLamp"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_span_that_the_tokenizer_cannot_learn_is_told_with_its_token(tmp_path: Path, name: str) -> None:
    header = "text,spans\n" if name.endswith("csv") else ""
    (tmp_path / name).write_text(header + TEXTS[name].format("LumiLamps", 13))
    with pytest.warns(DataWarning) as found:
        sapo.train(tmp_path / name, epochs=1)
    line = 1 + bool(header)
    assert str(found[0].message) == (
        f"{tmp_path / name}:{line}: span 5:13 'LumiLamp' ends inside the token 'LumiLamps' (5:14), which is too rare "
        "to learn: in raw text, the model cannot find this span"
    )
    assert len(found) == 1
    found_lines = answer("check", tmp_path / name).out.splitlines()
    place = f"{tmp_path / name}:{line}: warning: span 5:13 'LumiLamp' ends inside the token 'LumiLamps' (5:14); "
    assert found_lines[0].startswith(place)
    assert found_lines[0].endswith("[inside-token]")


def test_what_a_reader_left_out_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,spans\nAnna Lee sings,0:8:PER; 5:8:PER\n")
    (first, *_) = answer("check", tmp_path / "a.csv").out.splitlines()
    assert first.startswith(f"{tmp_path / 'a.csv'}:2: warning: span 5:8 'PER' ('Lee') overlaps 0:8 'PER'")
