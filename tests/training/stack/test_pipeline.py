"""Columns are added one on the other, nothing else changes, and no model tags what it saw."""

import functools
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.corpus.files import read_chunks
from sapo.tagger.stack import ReadyStep, TrainedStep, parse_step
from sapo.training.plan import Plan, make_plan
from sapo.training.stack import Watcher, run_pipeline

Row = tuple[str, ...]


def rows(path: Path) -> list[list[Row]]:
    """The sentences of a plain file, as a reader that knows nothing of sapo sees them."""
    return [
        [tuple(line.split()) for line in part.split("\n") if line]
        for part in path.read_text("utf-8").strip().split("\n\n")
    ]


def write(path: Path, sentences: list[list[Row]], separator: str = "\t") -> Path:
    path.write_text("".join("".join(separator.join(row) + "\n" for row in one) + "\n" for one in sentences), "utf-8")
    return path


def memory(sentences: int) -> list[list[Row]]:
    """Sentence i has words and a tag of its own: who has not seen it does not even know the tag."""
    return [[(f"w{i}x{j}", f"T{i}") for j in range(1 + i % 10)] for i in range(sentences)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pos.sapo needs words; chunk.sapo words and parts of speech; case.sapo parts of speech only."""
    room = tmp_path_factory.mktemp("models")
    pos = [(["a", "dog", "runs"], ["DT", "NN", "VB"]), (["the", "cat", "sleeps"], ["DT", "NN", "VB"])]
    sapo.train(pos, template="pos", epochs=5).save(room / "pos.sapo")
    chunk = [([("a", "DT"), ("dog", "NN"), ("runs", "VB")], ["B-NP", "I-NP", "B-VP"])] * 2
    sapo.train(chunk, template="chunking", epochs=5).save(room / "chunk.sapo")
    (room / "pos-only.txt").write_text("pos[0]\n")
    sapo.train(chunk, template=room / "pos-only.txt", epochs=5).save(room / "np.sapo")
    return room


def test_each_step_may_use_the_columns_of_those_before_it(models: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in.txt", [[("the",), ("dog",), ("sleeps",)], [("a",), ("cat",)]])
    steps = [ReadyStep("pos", models / "pos.sapo"), ReadyStep("np", models / "np.sapo")]
    report = run_pipeline(source, tmp_path / "out.txt", steps)
    assert (report.columns, report.sentences, report.tokens) == (("word", "pos", "np"), 2, 5)
    assert rows(tmp_path / "out.txt") == [
        [("the", "DT", "B-NP"), ("dog", "NN", "I-NP"), ("sleeps", "VB", "B-VP")],
        [("a", "DT", "B-NP"), ("cat", "NN", "I-NP")],
    ]


@pytest.mark.parametrize(
    ("text", "tagged"),
    [
        ("a\tO\ndog\tB-X\n\nthe\tO\ncat\tO\n", "a\tDT\tO\ndog\tNN\tB-X\n\nthe\tDT\tO\ncat\tNN\tO\n"),
        ("a  O\r\ndog B-X\r\n\r\n\r\nthe O\r\ncat O", "a  DT O\r\ndog NN B-X\r\n\r\n\r\nthe DT O\r\ncat NN O"),
        (
            "-DOCSTART- O\n\n# id = 7\na O\ndog O\n",
            "-DOCSTART- O\n\n# id = 7\na DT O\ndog NN O\n",
        ),
    ],
)
def test_the_gold_tag_stays_last_and_all_else_as_it_was(models: Path, tmp_path: Path, text: str, tagged: str) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(text.encode())
    report = run_pipeline(source, tmp_path / "out.txt", [ReadyStep("pos", models / "pos.sapo")])
    assert report.columns == ("word", "pos", "label")
    assert (tmp_path / "out.txt").read_bytes().decode() == tagged


def test_without_a_gold_tag_the_new_columns_stand_at_the_end(models: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in.txt", [[("a", "1"), ("dog", "2")]], " ")
    step = ReadyStep("pos", models / "pos.sapo")
    report = run_pipeline(source, tmp_path / "out.txt", [step], columns=["word", "id"], labeled=False)
    assert report.columns == ("word", "id", "pos")
    assert rows(tmp_path / "out.txt") == [[("a", "1", "DT"), ("dog", "2", "NN")]]


def test_columns_are_found_by_name_wherever_they_stand(models: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "in.txt", [[("DT", "1", "?", "a"), ("NN", "2", "?", "dog"), ("VB", "3", "?", "runs")]])
    step = ReadyStep("np", models / "chunk.sapo")
    columns = ["pos", "id", "x", "word"]
    run_pipeline(source, tmp_path / "out.txt", [step], columns=columns, labeled=False)
    assert [row[-1] for row in rows(tmp_path / "out.txt")[0]] == ["B-NP", "I-NP", "B-VP"]


@pytest.mark.parametrize("blocks", [2, 3, 7, 20])
def test_no_token_is_tagged_by_a_model_that_saw_it(tmp_path: Path, blocks: int) -> None:
    sentences = memory(20)
    source = write(tmp_path / "in.txt", sentences)
    # the control: a model that saw everything knows everything
    sapo.train(source, template="pos").save(tmp_path / "all.sapo")
    run_pipeline(source, tmp_path / "leak.txt", [ReadyStep("seen", tmp_path / "all.sapo")])
    assert all(seen == gold for one in rows(tmp_path / "leak.txt") for _, seen, gold in one)

    report = run_pipeline(source, tmp_path / "out.txt", [TrainedStep("found", (source,))], cross=blocks)
    found = rows(tmp_path / "out.txt")
    assert [[(word, gold) for word, _, gold in one] for one in found] == sentences
    cuts = [range(20 * i // blocks, 20 * (i + 1) // blocks) for i in range(blocks)]
    for block in cuts:
        of_block = {f"T{i}" for i in block}
        assert not any(tag in of_block for i in block for _, tag, _ in found[i])
    assert report.left_out == {"found": tuple(map(len, cuts))}


def test_other_tokens_and_headers_do_not_hide_a_sentence(tmp_path: Path) -> None:
    sentences = [one for one in memory(24) if len(one) > 1][:12]  # a single word, of course, stands in many sentences
    source = write(tmp_path / "in.txt", [[(word, "O") for word, _ in one] for one in sentences])
    cut_otherwise = [
        [piece for word, tag in one for piece in ((word[:2], tag), (word[2:], tag))] for one in sentences[:6]
    ]
    with_header = [[("TI", "H"), ("-", "H"), *one] for one in sentences[6:]]
    training = write(tmp_path / "train.txt", cut_otherwise + with_header)
    run_pipeline(source, tmp_path / "out.txt", [TrainedStep("found", (training,))], cross=12)
    for one, true in zip(rows(tmp_path / "out.txt"), sentences, strict=True):
        assert true[0][1] not in {tag for _, tag, _ in one}


def test_blocks_that_leave_out_the_same_share_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = []

    def counting(sentences: list[sapo.Sentence], **options: Any) -> Plan:
        trained.append(len(sentences))
        return make_plan(sentences, **options)

    monkeypatch.setattr("sapo.training.stack.make_plan", counting)
    source = write(tmp_path / "in.txt", [[(f"v{i}", "O")] for i in range(8)])
    other, same = write(tmp_path / "other.txt", memory(5)), write(tmp_path / "same.txt", [[("v0", "A")], [("z", "B")]])
    steps = [TrainedStep("one", (other,)), TrainedStep("two", (other, same))]
    report = run_pipeline(source, tmp_path / "out.txt", steps, cross=4)
    assert trained == [5, 6, 7]
    assert report.left_out == {"one": (0, 0, 0, 0), "two": (1, 0, 0, 0)}


def test_one_block_trains_without_what_overlaps(tmp_path: Path) -> None:
    source = write(tmp_path / "in.txt", memory(3))
    training = write(tmp_path / "train.txt", memory(6))
    report = run_pipeline(source, tmp_path / "out.txt", [TrainedStep("t", (training,))], cross=1)
    assert report.left_out == {"t": (3,)}


def test_equal_seeds_give_equal_files_with_any_number_of_threads(tmp_path: Path) -> None:
    source = write(tmp_path / "in.txt", memory(30))

    def result(name: str, **options: int) -> bytes:
        run_pipeline(source, tmp_path / name, [TrainedStep("t", (source,))], cross=3, epochs=3, **options)
        return (tmp_path / name).read_bytes()

    assert result("a", seed=1) == result("b", seed=1, threads=2)


def test_an_input_read_in_pieces_is_tagged_as_one(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapo.corpus.scanner.read_chunks", functools.partial(read_chunks, size=256))
    sentence = [("the", "O"), ("dog", "O"), ("sleeps", "O")]
    count = 100
    source = write(tmp_path / "in.txt", [sentence] * count)
    training = write(tmp_path / "train.txt", [[("a", "X"), ("b", "Y")]] * 2)
    steps = [ReadyStep("pos", models / "pos.sapo"), TrainedStep("t", (training,))]
    report = run_pipeline(source, tmp_path / "out.txt.gz", steps, cross=7)
    assert (report.sentences, report.left_out) == (count, {"t": (0,) * 7})
    lines = gzip.decompress((tmp_path / "out.txt.gz").read_bytes()).decode().split("\n\n")
    assert len(lines) == count + 1
    assert len(set(lines[:-1])) == 1
    assert re.fullmatch("the\tDT\t[XY]\tO\ndog\tNN\t[XY]\tO\nsleeps\tVB\t[XY]\tO", lines[0])


Refused = Callable[..., str]


@pytest.fixture
def refused(models: Path, tmp_path: Path) -> Refused:
    """Run with these steps and give back the one line; nothing may be written."""
    write(tmp_path / "in.txt", [[("a", "O"), ("dog", "O")], [("the", "O"), ("cat", "O")]])
    write(tmp_path / "same.txt", [[("x", "A"), ("y", "B")], [("the", "A"), ("cat", "B")]])
    write(tmp_path / "three.txt", [[("x", "NN", "B-NP"), ("y", "NN", "O")]])

    def call(*steps: str, source: str = "in.txt", **options: object) -> str:
        parsed = [
            parse_step(re.sub("[=,]", rf"\g<0>{models if '.sapo' in step else tmp_path}/", step)) for step in steps
        ]
        with pytest.raises(sapo.SapoError) as caught:
            run_pipeline(tmp_path / source, tmp_path / "out.txt", parsed, **options)  # type: ignore[arg-type]
        assert [path.name for path in tmp_path.glob("*out.txt*")] == []
        line = str(caught.value)
        assert "\n" not in line
        return line.replace(f"{tmp_path}/", "").replace(f"{models}/", "")

    return call


def test_training_data_that_overlaps_is_refused_without_cross(refused: Refused) -> None:
    assert refused("pos=same.txt") == (
        "same.txt: 1 of 2 sentences overlap with in.txt, the first is 'the cat'; "
        "use `cross=10`, or `cross=1` to train without them"
    )


def test_a_column_that_is_not_there_is_named(refused: Refused) -> None:
    assert refused("np=chunk.sapo") == (
        "step 'np': chunk.sapo needs the column 'pos', but in.txt and the steps before have only word "
        "(the gold tag does not count)"
    )
    assert refused("np=three.txt").startswith("step 'np': three.txt needs the column 'pos', but in.txt and ")


def test_mistakes_of_the_options_are_told(refused: Refused, tmp_path: Path) -> None:
    assert refused() == "a pipeline needs a step, such as pos=pos.sapo"
    assert refused("pos=pos.sapo", cross=3).startswith("cross is for steps that are trained on the spot")
    assert refused("pos=same.txt", cross=-1) == "cross must be a number of blocks, 0 or more, not -1"
    assert refused("pos=same.txt", cross=3) == "in.txt: has 2 sentences, which cannot be cut into 3 blocks"
    assert refused("pos=pos.sapo", threads=0) == "threads must be at least 1, not 0"
    assert refused("pos=same.txt", cross=2, epoch=3) == "unknown setting 'epoch'; did you mean 'epochs'?"
    assert refused("pos=in.txt", cross=1).startswith("in.txt: all sentences overlap with block 1 of in.txt, ")
    assert refused("pos=same.txt,three.txt", cross=1) == (
        "three.txt: has the columns word, pos before the label, but same.txt has word"
    )


def test_mistakes_of_the_names_are_told(refused: Refused) -> None:
    assert refused("word=pos.sapo") == "in.txt: already has a column 'word'; give the step another name"
    assert refused("pos=pos.sapo", "pos=pos.sapo").startswith("the pipeline: already has a column 'pos'")
    assert refused("label=pos.sapo").startswith("a column cannot be called 'label'; use letters")
    assert refused("pos=pos.sapo", columns=["word"]) == "in.txt: has 2 columns; `columns` names 1: word"
    assert refused("pos=pos.sapo", columns=["label", "word"]).startswith("in.txt: the gold tag must be the last column")


def test_other_formats_are_refused_with_the_way_out(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("")
    assert refused("pos=pos.sapo", source="in.csv") == (
        "in.csv: a pipeline tags column files, CoNLL-U, JSONL and text, and this is csv; "
        "make a column file with sapo convert"
    )


def test_an_input_without_a_sentence_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("-DOCSTART- O\n\n")
    assert refused("pos=pos.sapo") == "in.txt: has no sentences"


def test_a_comment_that_would_become_a_word_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a O\n\n# about dogs\na O\ndog O\n")
    assert refused("pos=pos.sapo") == (
        "in.txt:3: the comment '# about dogs' would be a word among 3 columns; write it as '# key = value'"
    )


def test_a_tag_with_a_blank_cannot_stand_between_blanks(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a O\ndog O\n")
    write(tmp_path / "blank.txt", [[("x", "proper noun")]])
    assert refused("pos=blank.txt") == (
        "the tag 'proper noun' contains a blank and cannot be written to this file; separate its columns by TABs"
    )


@pytest.mark.parametrize("text", ["pos", "pos=", "pos=a.txt,,b.txt"])
def test_a_step_that_is_no_step_is_told(text: str) -> None:
    with pytest.raises(sapo.SapoError, match=r"a step is column=model\.sapo or column=file,file, not "):
        parse_step(text)


def test_a_model_is_neither_mixed_with_files_nor_given_a_template() -> None:
    with pytest.raises(sapo.SapoError, match="has a model and other files"):
        parse_step("pos=a.sapo,b.txt")
    with pytest.raises(sapo.SapoError, match="has a ready model and takes no template"):
        parse_step("pos=a.sapo", "pos")


def test_ctrl_c_while_a_model_is_trained_leaves_no_file(tmp_path: Path) -> None:
    class Impatient(Watcher):
        def samples(self, epoch: int, done: int, of: int) -> None:
            raise KeyboardInterrupt

    source = write(tmp_path / "in.txt", memory(6))
    with pytest.raises(KeyboardInterrupt):
        run_pipeline(source, tmp_path / "out.txt", [TrainedStep("t", (source,))], cross=2, watcher=Impatient())
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
