"""A corpus in, a tagger out: every form of corpus, the dev set, and the same run giving the same file."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo import Sentence, Tagger, read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.learn.records import PassRecord, State
from sapo.training.plan import make_settings
from sapo.training.run import Outcome, read_data, train, train_on

Pairs = list[tuple[list[tuple[str, str]], tuple[str, ...]]]


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """A hundred sentences of the bundled sample: word, pos, and the chunk as tag."""
    found = itertools.islice(read(sample_path("train"), columns=COLUMNS, label="chunk"), 100)
    return [Sentence({name: one.columns[name] for name in ("word", "pos")}, one.tags) for one in found]


@pytest.fixture(scope="module")
def pairs(sentences: list[Sentence]) -> Pairs:
    return [(list(zip(*one.columns.values(), strict=True)), one.tags or ()) for one in sentences]


@pytest.fixture(scope="module")
def file(pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "train.txt"
    path.write_text(column_text(pairs))
    return path


def column_text(pairs: Pairs) -> str:
    return "\n".join("".join(f"{w} {p} {t}\n" for (w, p), t in zip(*pair, strict=True)) for pair in pairs)


def words_alone(pairs: Pairs) -> list[tuple[list[str], tuple[str, ...]]]:
    return [([word for word, _ in tokens], tags) for tokens, tags in pairs]


def same_weights(one: Tagger, other: Tagger) -> bool:
    blocks = zip(one.model.parameters.blocks, other.model.parameters.blocks, strict=True)
    return all(np.array_equal(a, b) for a, b in blocks)


def test_a_file_pairs_and_sentences_train_the_same_tagger(file: Path, pairs: Pairs, sentences: list[Sentence]) -> None:
    by_file = train(file, epochs=2)
    for data in (str(file), pairs, iter(pairs), sentences):
        other = train(data, epochs=2)
        assert other.labels == by_file.labels
        assert other.columns == by_file.columns == ("word", "pos")
        assert same_weights(other, by_file)


def test_jsonl_and_conllu_are_trained_on_as_they_are(tmp_path: Path) -> None:
    jsonl = tmp_path / "train.jsonl"
    jsonl.write_text('{"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"]}\n' * 3)
    assert train(jsonl, epochs=3).tag(["Anna"]) == ["B-PER"]
    conllu = tmp_path / "train.conllu"
    row = "1\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\t_\n2\tsleep\tsleep\tVERB\tVBP\t_\t1\tdep\t_\t_\n\n"
    conllu.write_text(row * 3)
    assert train(conllu, epochs=3).tag(["cats"]) == ["NOUN"]
    assert train(conllu, label="xpos", epochs=3).tag(["cats"]) == ["NNS"]
    assert train(conllu, label="Number", epochs=3).labels == ("Plur", "_")


def test_columns_can_be_named_and_the_label_chosen(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("form\nchunk[-1]\n")
    tagger = train(file, columns=["form", "tag", "chunk"], label="tag", template=path, epochs=1)
    assert tagger.columns == ("form", "chunk")
    assert "NNP" in tagger.labels


def test_ready_made_features_may_be_dictionaries_or_lists() -> None:
    dicts = [([{"w": "a"}, {"w": "b", "x": 0.5}], ["A", "B"])] * 5
    assert train(dicts, epochs=5).tag([{"w": "b"}, {"w": "a"}]) == ["B", "A"]
    lists = [([["w=a"], ["w=b", "x"]], ["A", "B"])] * 5
    assert train(lists, epochs=5).tag([["w=b"], ["w=a"]]) == ["B", "A"]


def test_ready_made_features_have_a_dev_set_too() -> None:
    data = [([{"w": "a"}, {"w": "b"}], ["A", "B"])] * 5
    prepared = read_data(data, dev=[([{"w": "a"}, {"w": "new"}], ["A", "C"])])
    assert prepared.unseen == ["C"]
    outcome = train_on(prepared, make_settings({"epochs": 3}))
    assert outcome.history[-1].dev == 0.5
    assert outcome.tagger.labels == ("A", "B")


@pytest.mark.parametrize(
    ("tokens", "tags", "template"),
    [
        (["a", "b"], ["DT", "NN"], "pos-best"),
        ([("a", "DT"), ("b", "NN")], ["X", "Y"], "pos-best+pos"),
        (["a", "b"], ["B-PER", "O"], "ner"),
        ([("a", "DT"), ("b", "NN")], ["B-NP", "I-NP"], "chunking-best"),
        ([("a", "DT"), ("b", "NN"), ("c", "VB"), (".", ".")], ["B-NP", "I-NP", "B-VP", "O"], "chunking-best"),
        ([(word, "X") for word in ("the", "cat", "sat", ",", ".")], ["B-NP", "I-NP", "O", "O", "O"], "chunking-best"),
        ([("Ann", "NNP"), ("Lee", "NNP"), ("is", "VBZ"), ("in", "IN")], ["B-PER", "I-PER", "O", "O"], "ner+pos"),
        ([("il-2", "NN"), ("binds", "VBZ"), ("to", "IN")], ["B-protein", "O", "O"], "ner+pos"),
        ([("a", "DT", "B-NP"), ("b", "NN", "I-NP"), ("c", "VB", "B-VP")], ["B-X", "O", "O"], "ner+pos+chunk"),
        ([("a", "DT", "B-NP"), ("b", "NN", "I-NP")], ["B-X", "I-X"], "ner+pos+chunk"),
        (["a", "b"], ["O", "O"], "pos-best"),
    ],
)
def test_the_default_template_is_chosen_by_columns_and_tags(tokens: Any, tags: list[str], template: str) -> None:
    assert read_data([(tokens, tags)]).template == template


def with_column(values: Any, *, pos: bool = True) -> list[Any]:
    """Entities with a column of parts of speech, or another one: `values` makes its value from number, word and tag."""
    rng = np.random.default_rng(0)
    words = [f"{'NN' if name else 'w'}{rng.integers(90)}" for _ in range(240) for name in (0, 1, 0, 0, 0)]
    numbered = enumerate(words)
    tokens = [
        (word, word[:2], values(number, word)) if pos else (word, values(number, word)) for number, word in numbered
    ]
    tags = ["B-X" if word.startswith("NN") else "O" for word in words]
    return [(tokens[at : at + 5], tags[at : at + 5]) for at in range(0, len(words), 5)]


@pytest.mark.parametrize(
    ("values", "template"),
    [
        (lambda number, word: "ab"[hash_of(number) % 2], "ner+pos"),  # says nothing
        (lambda number, word: f"t{number}", "ner+pos"),  # different everywhere
        (lambda number, word: f"d{number // 50}", "ner+pos"),  # the same in a document
        (lambda number, word: "name" if word.startswith("NN") else "-", "ner+pos+chunk"),
    ],
)
def test_a_column_is_used_by_default_if_it_tells_something_about_the_tags(values: Any, template: str) -> None:
    assert read_data(with_column(values)).template == template


def hash_of(number: int) -> int:
    return number * 2654435761 % 2**32 >> 7


def test_columns_after_the_label_and_those_of_conllu_are_not_used_by_default(tmp_path: Path) -> None:
    path = tmp_path / "three.txt"
    path.write_text("Oslo NNP B-X\nis VBZ O\n\n" * 50)
    assert read_data(path, label="pos").template == "pos-best"
    assert read_data(path).template.endswith("+pos")
    table = tmp_path / "a.conllu"
    table.write_text("1\tOslo\tOslo\tPROPN\tNNP\t_\t0\troot\t_\t_\n\n" * 50)
    assert read_data(table, label="xpos").template == "pos-best"


def test_a_column_with_any_name_can_be_used() -> None:
    columns = ["word", "eine Spalte"]
    data = [(["Oslo", "is"], ["B-X", "O"])] * 20
    sentences = [Sentence(dict(zip(columns, (words, tags), strict=True)), tags) for words, tags in data]
    assert read_data(sentences).template == "ner+c1"


def test_missing_tags_do_not_make_phrases_of_entities() -> None:
    tokens = [("Ann", "NNP"), ("Lee", "NNP"), ("is", "VBZ"), ("in", "IN"), *[("x", "X")] * 3]
    tags = ["B-PER", "I-PER", "O", "O", *["?"] * 3]
    assert read_data([(tokens, tags)], missing="?").template == "ner+pos"


def test_a_template_file_may_be_given(tmp_path: Path, pairs: Pairs) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("pos[0]\n")
    prepared = read_data(pairs, template=path)
    assert prepared.template == "mine.txt"
    assert prepared.encoder.features == len({pos for tokens, _ in pairs for _, pos in tokens})
    assert not prepared.encoder.transitions
    assert not train_on(prepared, make_settings({"epochs": 1})).tagger.model.parameters.edges.any()


def test_rare_features_can_be_left_out(pairs: Pairs) -> None:
    sizes = [read_data(pairs, min_count=count).encoder.features for count in (1, 2, 5)]
    assert sizes[0] > sizes[1] > sizes[2] > 0
    with pytest.raises(SapoError, match="min_count must be at least 1, not 0"):
        read_data(pairs, min_count=0)


def test_the_best_pass_on_dev_is_kept(pairs: Pairs) -> None:
    prepared = read_data(pairs[:60], dev=pairs[60:], template="chunking")
    outcome = train_on(prepared, make_settings({"epochs": 8, "tolerance": 0.0}))
    scores = [record.dev or 0.0 for record in outcome.history]
    assert outcome.best_epoch == 1 + scores.index(max(scores))
    cut = train_on(
        read_data(pairs[:60], template="chunking"), make_settings({"epochs": outcome.best_epoch, "tolerance": 0.0})
    )
    assert same_weights(outcome.tagger, cut.tagger)


def test_without_a_better_dev_score_training_stops(pairs: Pairs) -> None:
    outcome = train_on(read_data(pairs, dev=pairs[:20]), make_settings({"epochs": 50, "patience": 2, "tolerance": 0.0}))
    assert outcome.stop.text == "no better dev score in 2 epochs"
    assert len(outcome.history) == outcome.best_epoch + 2


def test_it_stops_when_all_passes_are_done_or_nothing_changes(pairs: Pairs) -> None:
    assert train_on(read_data(pairs), make_settings({"epochs": 2})).stop.text == "all 2 epochs done"
    early = train_on(read_data(pairs), make_settings({"epochs": 50, "tolerance": 0.9}))
    assert early.stop.text == "converged"
    assert len(early.history) == 3


def test_labels_that_only_dev_has_are_told_and_count_as_wrong(pairs: Pairs) -> None:
    dev = [([("a", "DT"), ("dog", "NN")], ["B-NEW", "I-NEW"])]
    prepared = read_data(pairs, dev=dev)
    assert prepared.unseen == ["B-NEW", "I-NEW"]
    outcome = train_on(prepared, make_settings({"epochs": 2}))
    assert [record.dev for record in outcome.history] == [0.0, 0.0]
    assert not set(prepared.unseen) & set(outcome.tagger.labels)


def test_the_record_says_how_it_was_trained(pairs: Pairs) -> None:
    record = train(pairs, epochs=2, n=3, seed=9).model.record
    assert record["learner"] == "sapo"
    assert record["sentences"] == 100
    assert record["passes"] == record["kept_pass"] == len(record["history"]) == 2
    assert (record["settings"]["n"], record["settings"]["seed"]) == (3, 9)
    assert record["score_name"] == "F1"
    assert "seconds" not in record["history"][0]


class Watch:
    """Remembers what it sees; stops a run in the middle of a pass if told so."""

    def __init__(self, stop_in: int | None = None) -> None:
        self.seen: list[Any] = []
        self.stop_in = stop_in

    def samples(self, epoch: int, done: int, of: int) -> None:
        self.seen.append((epoch, done, of))
        if epoch == self.stop_in:
            raise KeyboardInterrupt

    def passed(self, record: PassRecord, state: State) -> None:
        self.seen.append(record.epoch)


def test_observers_see_every_pass(pairs: Pairs) -> None:
    watch = Watch()
    train(pairs, epochs=2, observers=[watch])
    assert watch.seen == [(1, 100, 100), 1, (2, 100, 100), 2]


def test_an_interrupted_run_keeps_what_it_has_learned(pairs: Pairs) -> None:
    outcome = train_on(read_data(pairs), make_settings({"epochs": 9}), observers=[Watch(stop_in=3)])
    assert outcome.stop.text == "interrupted"
    assert len(outcome.history) == 2
    assert outcome.tagger.tag([("the", "DT"), ("dog", "NN")]) == ["B-NP", "I-NP"]


def test_two_runs_with_the_same_seed_give_the_same_file(pairs: Pairs, tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        train(pairs, dev=pairs[:20], epochs=3, seed=seed).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


ELSEWHERE = "import sys, sapo; sapo.train(sys.argv[1], epochs=3, seed=5).save(sys.argv[2])"


def test_another_process_gives_the_same_file(file: Path, tmp_path: Path) -> None:
    train(str(file), epochs=3, seed=5).save(tmp_path / "here")
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, file, tmp_path / "there"],
        env={**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent), "PYTHONHASHSEED": "12"},
        check=True,
    )
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


@pytest.fixture(params=[False, True], ids=["without dev", "with dev"])
def learn_again(request: pytest.FixtureRequest, pairs: Pairs) -> Callable[..., Outcome]:
    """Read the data anew and run: as a new process would."""

    def make(data: Pairs = pairs, watch: Watch | None = None, **options: Any) -> Outcome:
        checkpoint, resume = options.pop("checkpoint", None), options.pop("resume", False)
        prepared = read_data(data, dev=pairs[:20] if request.param else None, template="chunking")
        chosen = make_settings({"epochs": 5, "tolerance": 0.0, **options})
        return train_on(prepared, chosen, observers=[watch] if watch else [], checkpoint=checkpoint, resume=resume)

    return make


def test_a_run_that_was_stopped_and_resumed_gives_the_same_file(
    learn_again: Callable[..., Outcome], tmp_path: Path
) -> None:
    learn_again().tagger.save(tmp_path / "whole")
    state = tmp_path / "run.state"
    stopped = learn_again(watch=Watch(stop_in=4), checkpoint=state)  # in the middle of the fourth pass
    assert stopped.stop.text == "interrupted"
    learn_again(checkpoint=state, resume=True).tagger.save(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
    # and so does one that was meant to be shorter, or that has nothing left to do
    learn_again(checkpoint=state, epochs=2)
    learn_again(checkpoint=state, resume=True).tagger.save(tmp_path / "longer")
    learn_again(checkpoint=state, resume=True).tagger.save(tmp_path / "done")
    assert (tmp_path / "longer").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "done").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        ("sapo-avg", {"regularizer": "l1"}),
        ("sapo", {"search": "beam", "order": "draw"}),
        ("crf", {"schedule": "inverse"}),
        ("perceptron-avg", {}),
        ("mira-nbest-avg", {}),
    ],
)
def test_every_kind_of_run_can_be_cut_in_two(
    pairs: Pairs, tmp_path: Path, learner: str, options: dict[str, Any]
) -> None:
    def learn(epochs: int, **more: Any) -> Outcome:
        chosen = make_settings({"epochs": epochs, "tolerance": 0.0, **options})
        return train_on(read_data(pairs[:40]), chosen, learner=learner, **more)

    learn(3).tagger.save(tmp_path / "whole")
    learn(2, checkpoint=tmp_path / "run.state")
    learn(3, checkpoint=tmp_path / "run.state", resume=True).tagger.save(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_resuming_is_refused_with_other_settings_or_data(
    learn_again: Callable[..., Outcome], pairs: Pairs, tmp_path: Path
) -> None:
    state = tmp_path / "run.state"
    learn_again(checkpoint=state, epochs=1)
    before = state.read_bytes()
    with pytest.raises(SapoError, match=r"was made with seed 0 \(now 1\); give the same settings, or leave `resume"):
        learn_again(checkpoint=state, resume=True, seed=1)
    with pytest.raises(SapoError, match=r"was made with other data.*; leave `resume` out to start over"):
        learn_again(pairs[:-1], checkpoint=state, resume=True)
    assert state.read_bytes() == before


def test_without_a_checkpoint_to_resume_from_a_run_begins_anew(
    learn_again: Callable[..., Outcome], tmp_path: Path
) -> None:
    state = tmp_path / "run.state"
    assert len(learn_again(checkpoint=state, resume=True, epochs=2).history) == 2
    assert state.exists()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "training data: has no sentences"),
        ([["a", "b", "c"]], "training data: sentence 1 must be a pair of tokens and tags, found ['a', 'b', 'c']"),
        (["ab"], "training data: sentence 1 must be a pair of tokens and tags, found 'ab'"),
        ([(["a"], ["X"]), (["a", "b"], ["X"])], "training data: sentence 2 has 2 tokens but 1 tags"),
        ([(["a"], ["X"]), ([], [])], "training data: sentence 2 has no tokens; leave it out"),
        ([(["a"], [3])], "training data: sentence 1 has the tag 3; tags are strings"),
        ([([("a", "b"), ("a",)], ["X", "Y"])], "sentence 1, token 2: expected (word, pos), 2 strings, found ('a',)"),
        ([(1, 2)], "training data: sentence 1: expected a list of tokens, found 1"),
        ([(None, None)], "training data: sentence 1: expected a list of tokens, found None"),
        ([([1, 2], ["A", "B"])], "training data: sentence 1, token 1: expected a string or a tuple of strings"),
        ([([()], ["A"])], "training data: sentence 1, token 1: expected a string or a tuple of strings, found ()"),
        (5, "training data: expected a path or sentences, found 5"),
        ([Sentence({"word": ("a",)}, ("X",)), Sentence({"word": ()}, ())], "training data: sentence 2 has no tokens"),
        (
            [("ab", ["X", "Y"])],
            "training data: sentence 1: expected a list of tokens, found the string 'ab'; split it first",
        ),
        ([Sentence({"word": ("a",)})], "training data: has no tags"),
        ([([{"a": float("nan")}], ["X"])], "sentence 1, token 1: feature 'a' is nan"),
    ],
)
def test_sentences_of_the_wrong_form_are_named(data: Any, complaint: str) -> None:
    with pytest.raises(SapoError) as told:
        train(data)
    assert str(told.value).startswith(complaint)


def test_options_that_do_not_go_together_are_told(pairs: Pairs, file: Path) -> None:
    features = [([{"a": 1}], ["X"])]
    with pytest.raises(SapoError, match="because these tokens already have features"):
        train(features, template="pos")
    with pytest.raises(SapoError, match="dev data must be pairs of features and tags"):
        train(features, dev=file)
    with pytest.raises(SapoError, match="unknown setting 'epoch'; did you mean 'epochs'"):
        train(pairs, epoch=3)
    with pytest.raises(SapoError, match="unknown learner 'spo'; did you mean 'sapo'"):
        train(pairs, learner="spo")
    with pytest.raises(SapoError, match="n must be at least 1 or 'auto', not 0"):
        train(pairs, n=0)
    with pytest.raises(SapoError, match="no template 'chunkin'"):
        train(pairs, template="chunkin")
    with pytest.raises(SapoError, match=r"preset chunking:.* uses the column 'pos', which is not there"):
        train(words_alone(pairs), template="chunking")
    with pytest.raises(SapoError, match="unknown format 'conl'; did you mean 'conllu'"):
        train(file, format="conl")


def test_a_line_of_json_without_tokens_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"tokens": ["a"], "tags": ["X"]}\n{"tokens": [], "tags": []}\n')
    with pytest.raises(SapoError, match=r"train\.jsonl:2: this sentence has no tokens; leave it out"):
        train(path)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("settings", [{"rate": 1e10}, {"rate": 1e38}, {"strength": 1000.0}, {"strength": 1e9}])
def test_settings_that_make_weights_grow_without_end_are_told_or_still_give_a_model(
    tmp_path: Path, pairs: Pairs, settings: dict[str, float]
) -> None:
    try:
        tagger = train(pairs[:10], template="pos", **settings)
        tagger.save(tmp_path / "model")
    except SapoError:
        return
    assert Tagger.load(tmp_path / "model").tag([("a", "DT")])


@pytest.mark.parametrize("settings", [{"n": "3"}, {"n": 2.5}, {"epochs": 2.5}, {"seed": "x"}, {"rate": "x"}])
def test_settings_of_the_wrong_type_are_named(pairs: Pairs, settings: dict[str, Any]) -> None:
    with pytest.raises(SapoError, match=f"{next(iter(settings))} must be"):
        train(pairs[:10], template="pos", **settings)


def test_a_lone_surrogate_of_a_json_file_is_trained_on_and_tagged(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"tokens": ["\\\\ud83d", "dog"], "tags": ["X", "Y"]}\n' * 3)
    tagger = train(path, epochs=3)
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").tag(["\ud83d", "\ud83e"])[0] == "X"


def test_the_file_is_the_same_for_any_number_of_threads(pairs: Pairs, tmp_path: Path) -> None:
    for threads in (1, 2, 8):
        tagger = sapo.train(pairs, template="chunking", epochs=3, threads=threads, settings={"block": 16})
        tagger.save(tmp_path / f"{threads}.sapo")
    first, *others = (path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert all(other == first for other in others)


def test_large_data_is_learned_in_blocks(monkeypatch: pytest.MonkeyPatch, pairs: Pairs) -> None:
    assert "block" not in sapo.train(pairs, template="chunking", epochs=1).model.record["settings"]
    monkeypatch.setattr("sapo.training.choice.SMALL", 100)
    assert sapo.train(pairs, template="chunking", epochs=1).model.record["settings"]["block"] == 4
