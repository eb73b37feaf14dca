"""Models that turn strings into strings."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sapo.cli.main import app
from sapo.errors import DataError, ModelError
from sapo.tagger.edits import EditItem, EditMemory, EditModel, Proposal, lists_of
from sapo.tags.edits import rule_of
from sapo.training.edits import train_edits

VERBS = ["walk", "talk", "jump", "call", "play", "work", "look", "open", "rain", "turn", "fill", "pull"]
ITEMS = [
    *(EditItem(verb + "ed", ("VERB",), verb) for verb in VERBS),
    *(EditItem(verb + "ed", ("ADJ",), verb + "ed") for verb in VERBS),
    EditItem("was", ("VERB",), "be", 50),
    EditItem("hm", ("X",), ""),
    EditItem("\u0130zmir", ("PROPN",), "i\u0307zmir"),
]


@pytest.fixture(scope="module")
def model() -> EditModel:
    return train_edits(ITEMS)


def test_regular_and_remembered_outputs_depend_on_the_context(model: EditModel) -> None:
    new = [EditItem("barked", ("VERB",)), EditItem("barked", ("ADJ",)), EditItem("was", ("VERB",))]
    assert model.predict_many(new) == ["bark", "barked", "be"]


def test_outputs_may_be_empty_and_lower_case_may_be_longer(model: EditModel) -> None:
    assert model.predict_many([EditItem("hm", ("X",)), EditItem("\u0130zmir", ("PROPN",))]) == ["", "i\u0307zmir"]
    assert model.predict_many([EditItem("")]) == [""]


def test_no_output_is_empty_if_none_was() -> None:
    model = train_edits([EditItem("as", (), "a"), EditItem("bs", (), "b"), EditItem("cs", (), "c")])
    assert all(one.text for one in model.nbest(EditItem("s"), 20))


def test_probabilities_are_over_the_candidates(model: EditModel) -> None:
    every = model.nbest(EditItem("barked", ("VERB",)), 1000)
    assert sum(one.probability for one in every) == pytest.approx(1.0)
    assert every == sorted(every, key=lambda one: -one.probability)
    assert len({one.text for one in every}) == len(every) > 2
    assert model.nbest(EditItem("barked", ("VERB",)), 2) == every[:2]


def test_a_string_of_10000_characters_is_transformed(model: EditModel) -> None:
    long = "bark" * 2500
    assert model.predict_many([EditItem(long + "ed", ("VERB",))])[0] in (long, long + "ed")


def test_equal_seeds_give_equal_arrays_and_arrays_give_the_model_back(model: EditModel) -> None:
    arrays, meta = model.to_arrays()
    again, _ = train_edits(ITEMS).to_arrays()
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)
    copy = EditModel.from_arrays(arrays, meta)
    item = EditItem("barking", ("VERB",))
    assert copy.nbest(item) == model.nbest(item)


def test_seen_in_training_leaves_out_the_item_itself() -> None:
    known = EditMemory({}, {"dogs": ["dog"]}, {"dog": 1}, {("dog", "N"): 1})
    unseen = EditMemory({}, {}, {}, {})
    own = Proposal("dogs", "N", "N", ["dog"], {}, gold=0)
    other = Proposal("dogs", "N", "N", ["dog"], {})
    assert lists_of([own], known).rows.tolist() == lists_of([other], unseen).rows.tolist()
    assert lists_of([other], known).rows.tolist() != lists_of([other], unseen).rows.tolist()


def test_features_do_not_depend_on_the_batch() -> None:
    known = EditMemory({rule_of("as", "a"): 2}, {}, {"a": 1}, {})
    one, two = Proposal("as", "N", "N|Plur", ["a", "as"], {"a": 1.0}), Proposal("b", "", "", ["b", "", "B"], {})
    both = lists_of([one, two], known)
    assert both.offsets.tolist() == [0, 2, 5]
    assert both.rows.tolist() == [*lists_of([one], known).rows, *lists_of([two], known).rows]
    assert both.row_offsets[-1] == len(both.rows)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (EditItem("", (), "a"), "item 0: the form is empty; leave it out"),
        (EditItem("a"), "item 0: 'a' has no output"),
        (EditItem("ab" * 5000, (), "cd" * 5000), "differ in 10,000 and 10,000 characters"),
    ],
)
def test_items_that_cannot_be_learned_are_refused(item: EditItem, message: str) -> None:
    with pytest.raises(DataError, match=message):
        train_edits([item])


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(DataError, match="nothing to learn from"):
        train_edits([])


def test_a_file_keeps_the_model_and_damage_is_noticed(model: EditModel, tmp_path: Path) -> None:
    path = tmp_path / "edits.sapo"
    model.save(path)
    assert EditModel.load(path).predict_many([EditItem("barked", ("VERB",))]) == ["bark"]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ModelError, match="not a model of edits"):
        EditModel.load(path)
    arrays, meta = model.to_arrays()
    for name, bad in {"edits.rows": arrays["edits.rows"] - 2**30, "edits.texts": arrays["edits.texts"][:-1]}.items():
        with pytest.raises(ValueError, match=r".+"):
            EditModel.from_arrays({**arrays, name: bad}, meta)


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["edits", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_command_line_reads_tsv(tmp_path: Path) -> None:
    pairs, forms, model = tmp_path / "pairs.tsv", tmp_path / "forms.tsv", str(tmp_path / "m.sapo")
    pairs.write_text("".join(f"{one.form}\t{one.context[0]}\t{one.output}\n" for one in ITEMS), "utf-8")
    forms.write_text("barked\tVERB\n\nbarked\tADJ\n", "utf-8")
    run("train", str(pairs), "-o", model, "--quiet")
    assert run("apply", model, str(forms)) == "barked\tVERB\tbark\n\nbarked\tADJ\tbarked\n"
    fields = run("apply", model, str(forms), "--nbest", "2").splitlines()[0].split("\t")
    assert fields[2] == "bark"
    assert 0.5 < float(fields[3]) <= 1
    assert len(fields) == 6


def test_the_command_line_fills_lemmas_of_conllu(tmp_path: Path) -> None:
    def line(number: int, form: str, lemma: str, upos: str) -> str:
        return "\t".join([str(number), form, lemma, upos, *"______"]) + "\n"

    train = tmp_path / "train.conllu"
    train.write_text("".join(line(1, one.form, one.output or "_", one.context[0]) + "\n" for one in ITEMS), "utf-8")
    new = tmp_path / "new.conllu"
    new.write_text("# text = x\n1-2\tx" + "\t_" * 8 + "\n" + line(1, "barked", "_", "VERB") + "\n", "utf-8")
    model = str(tmp_path / "m.sapo")
    run("train", str(train), "-o", model, "--quiet")
    assert run("apply", model, str(new)) == new.read_text("utf-8").replace("barked\t_", "barked\tbark")


@pytest.mark.parametrize(
    ("text", "message"), [("a\n", "x.tsv:1: expected a form"), ("\tb\n", "x.tsv:1: the form is empty")]
)
def test_a_wrong_line_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        CliRunner().invoke(app, ["edits", "train", str(path)], catch_exceptions=False, standalone_mode=False)
