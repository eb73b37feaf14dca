"""A student learns what its teacher says, and every mistake of a teacher is one line."""

import dataclasses
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import sapo
from literal_sapo import Tiny
from sapo.errors import DataError, ModelError, OptionError
from sapo.features.encoded import subset
from sapo.learn.sapo import sapo_pass
from sapo.learn.settings import Settings
from sapo.training.distil import DistilOptions, distil, draw_sentences, soft_samples
from sapo.training.teachers import Candidate, Command, Ensemble, Function, check_candidates, open_teacher, read_answers

NAMES = ("Anna", "Ben", "Cleo", "Dora", "Emil", "Fritz")
VERBS = ("met", "saw", "heard", "knew")
TEXTS = [[one, verb, "old", other, "."] for one in NAMES for other in NAMES for verb in VERBS if one != other]
TAGS = {**dict.fromkeys(NAMES, "NAME"), **dict.fromkeys(VERBS, "VERB"), "old": "ADJ", ".": "."}
QUICK: Any = {"template": "pos", "rate": 0.3, "strength": 0.1, "epochs": 4}


def perfect(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[TAGS[token] for token in tokens] for tokens in sentences]


def pairs(texts: list[list[str]]) -> list[tuple[list[str], list[str]]]:
    return list(zip(texts, perfect(texts), strict=True))


@given(
    seed=st.integers(0, 10_000),
    chances=st.lists(st.floats(0.2, 1.0), min_size=2, max_size=4),
    weight=st.sampled_from([0.3, 1.0, 2.0]),
    n=st.sampled_from([1, 2, 5, 100]),
    rate=st.sampled_from([0.01, 1.0]),
)
@hypothesis_settings(deadline=None, max_examples=40)
def test_weighted_candidates_are_the_update_with_a_soft_oracle(
    seed: int, chances: list[float], weight: float, n: int, rate: float
) -> None:
    """w += rate * weight * sum_k (Q_k - P_k) F(x, y_k): the samples of a block are searched with the same weights."""
    tiny, T, labels = Tiny(), 3, 3
    corpus = tiny.corpus(seed, lengths=(T,), labels=labels)
    weights = tiny.weights(seed, corpus, labels=labels)
    rng = np.random.default_rng(seed)
    drawn = [tuple(path) for path in rng.integers(labels, size=(len(chances), T)).tolist()]
    found = [
        Candidate(tuple(map(str, path)), chance / sum(chances)) for path, chance in zip(drawn, chances, strict=True)
    ]
    found.sort(key=lambda one: -one.probability)
    (samples,) = soft_samples([(("a", "b", "c"), found)], DistilOptions(weight=weight, nbest=5))

    literal = tiny.literal(corpus, weights)
    paths, F = literal.table(0)
    scores = F @ literal.flat
    order = np.argsort(-scores, kind="stable")
    assume(np.diff(scores[order][::-1]).min() > 1e-3)  # single precision finds the same candidates
    best = order[:n]
    P = np.exp(scores[best] - scores[best[0]])
    wanted = -(P / P.sum()) @ F[best]
    for one in found:
        wanted = wanted + one.probability * F[paths.index(tuple(map(int, one.tags)))]
    literal.step(rate * weight * wanted)

    copies = dataclasses.replace(
        subset(corpus, np.zeros(len(samples), np.int64)),
        gold=np.array([int(tag) for sentence, _ in samples for tag in sentence.tags or ()], np.int32),
        importance=np.repeat([weight for _, weight in samples], T).astype(np.float32),
    )
    settings = Settings(n=n, strength=0.0, rate=rate, stop_ratio=math.inf, block=4)
    list(sapo_pass(weights, copies, np.arange(len(samples)), rate, settings, np.zeros(20)))
    features, edges = weights.true_weights().blocks[:2]
    np.testing.assert_allclose(features, literal.features, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(edges, literal.edges, rtol=1e-4, atol=2e-5)


def test_a_student_of_a_perfect_teacher_is_perfect() -> None:
    student = distil(perfect, TEXTS[:80], **QUICK)
    assert student.tag_many(TEXTS[80:]) == perfect(TEXTS[80:])


def test_a_student_learns_the_doubts_of_its_teacher() -> None:
    def unsure(sentences: Sequence[Sequence[str]]) -> list[Any]:
        return [[(["A"], 0.7), (["B"], 0.3)] for _ in sentences]

    texts = [[f"word{i % 7}"] for i in range(60)]
    soft, hard = (distil(unsure, texts, nbest=n, template="pos", epochs=10, strength=0.1) for n in (5, 1))
    assert soft.tag(["word1"]) == hard.tag(["word1"]) == ["A"]
    assert soft.labels == ("A", "B")
    assert hard.labels == ("A",)


def test_gold_sentences_count_for_more_than_those_of_the_teacher() -> None:
    gold = [(["this"], ["RIGHT"]), (["that"], ["WRONG"])] * 8
    student = distil(
        lambda sentences: [["WRONG"] for _ in sentences],
        [["this"]] * 8,
        train=gold,
        weight=0.1,
        template="pos",
        epochs=5,
    )
    assert student.tag(["this"]) == ["RIGHT"]


def test_candidates_of_little_probability_are_left_out_and_the_others_share_the_weight() -> None:
    found = [Candidate(("A",), 0.5), Candidate(("B",), 0.3), Candidate(("C",), 0.01), Candidate(("D",), 0.0)]
    (samples,) = soft_samples([(("x",), found)], DistilOptions(weight=0.4, nbest=5))
    assert [sentence.tags for sentence, _ in samples] == [("A",), ("B",)]
    assert [weight for _, weight in samples] == pytest.approx([0.25, 0.15])
    (hard,) = soft_samples([(("x",), found)], DistilOptions(weight=0.4, nbest=1))
    assert [weight for _, weight in hard] == [0.4]


@pytest.fixture(scope="module")
def models() -> list[sapo.Tagger]:
    rng = np.random.default_rng(3)
    some = []
    for _ in range(2):
        noisy = [(tokens, [tag if rng.random() > 0.3 else "ADJ" for tag in tags]) for tokens, tags in pairs(TEXTS[:30])]
        some.append(sapo.train(noisy, **QUICK))
    return some


def test_an_ensemble_averages_exact_probabilities(models: list[sapo.Tagger]) -> None:
    texts = TEXTS[40:50]
    for tokens, found in zip(texts, Ensemble(tuple(models)).label(texts, 4), strict=True):
        assert len(found) == 4
        chances = [one.probability for one in found]
        assert chances == sorted(chances, reverse=True)
        for one in found:
            mean = sum(model.probability(tokens, one.tags) for model in models) / 2
            assert one.probability == pytest.approx(mean, rel=1e-5)
        listed = {tuple(tagging.tags) for model in models for tagging in model.nbest(tokens, 5)}
        best = max(listed, key=lambda tags: sum(model.probability(tokens, tags) for model in models))
        assert found[0].tags == best


def test_one_model_teaches_its_n_best_or_its_best_tagging(models: list[sapo.Tagger]) -> None:
    teacher = open_teacher(models[0])
    (found,) = teacher.label(TEXTS[:1], 3)
    assert [(list(one.tags), one.probability) for one in found] == [
        (one.tags, pytest.approx(one.probability)) for one in models[0].nbest(TEXTS[0], 3)
    ]
    (alone,) = teacher.label(TEXTS[:1], 1)
    assert alone == [Candidate(tuple(models[0].tag(TEXTS[0])))]


def test_models_come_as_files_and_separated_by_commas(models: list[sapo.Tagger], tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.sapo" for i in range(2)]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    for several in (paths, ",".join(map(str, paths)), models, [models[0], str(paths[1])]):
        teacher = open_teacher(several)
        assert isinstance(teacher, Ensemble)
        assert len(teacher.taggers) == 2
    with pytest.raises(DataError, match=r"none\.sapo: no such file"):
        open_teacher(f"{paths[0]},{tmp_path}/none.sapo")


def answers(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_both_forms_of_a_jsonl_teacher_are_read(tmp_path: Path) -> None:
    path = tmp_path / "labeled.jsonl"
    path.write_text(
        answers(
            {"tokens": ["Anna", "met"], "tags": ["NAME", "VERB"]},
            {"tokens": []},
            {
                "tokens": ["Ben"],
                "candidates": [{"tags": ["VERB"], "probability": 0.1}, {"tags": ["NAME"], "probability": 0.8}],
            },
            {"tokens": ["Ben"], "tags": ["VERB"], "nbest": [{"tags": ["NAME"], "probability": 0, "p_k": 1}]},
        ).replace('{"tokens": []}', '{"tokens": [], "tags": []}')
    )
    assert list(read_answers(path)) == [
        (("Anna", "met"), [Candidate(("NAME", "VERB"))]),
        (("Ben",), [Candidate(("NAME",), 0.8), Candidate(("VERB",), 0.1)]),
        (("Ben",), [Candidate(("NAME",))]),  # its probability was rounded to 0
    ]


def test_a_student_learns_from_a_jsonl_file(tmp_path: Path) -> None:
    path = tmp_path / "labeled.jsonl"
    path.write_text(answers(*({"tokens": tokens, "tags": tags} for tokens, tags in pairs(TEXTS[:80]))))
    assert distil(path, **QUICK).tag_many(TEXTS[80:]) == perfect(TEXTS[80:])
    with pytest.raises(OptionError, match="leave the texts out"):
        distil(path, TEXTS[:3], **QUICK)


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"text": "Anna sings."}, "has no 'tokens'; text must be split first"),
        ({"tokens": ["a"]}, "has neither 'tags' nor 'candidates'; known here: tokens"),
        ({"tokens": ["a", "b"], "tags": ["X"]}, "the teacher gave 1 tags for 2 tokens; give one for each"),
        ({"tokens": ["a"], "tags": []}, "the teacher gave no tags"),
        ({"tokens": ["a"], "tags": "X"}, "tags: expected a list of tokens, found the string 'X'"),
        ({"tokens": ["a"], "tags": [3]}, "expected tags, or pairs of tags and a probability, found 3"),
        ({"tokens": ["a"], "candidates": {"tags": ["X"]}}, "'candidates' must be a list of objects"),
        ({"tokens": ["a"], "candidates": [["X"]]}, "'candidates' must be a list of objects"),
        ({"tokens": ["a"], "candidates": [{"tags": ["X"]}]}, "a probability must be a number from 0 to 1, found None"),
        ({"tokens": ["a"], "candidates": [{"tags": ["X"], "probability": "high"}]}, "from 0 to 1, found 'high'"),
        ({"tokens": ["a"], "candidates": [{"tags": ["X"], "probability": math.nan}]}, "from 0 to 1, found nan"),
        ({"tokens": ["a"], "candidates": [{"tags": ["X"], "probability": True}]}, "from 0 to 1, found True"),
        ({"tokens": ["a"], "candidates": [{"tags": ["X"], "probability": -0.1}]}, "from 0 to 1, found -0.1"),
        (
            {"tokens": ["a"], "candidates": [{"tags": [tag], "probability": 0.6} for tag in "XY"]},
            "the probabilities of the candidates sum to 1.2; the sum must be at most 1",
        ),
        ([1], "expected an object"),
    ],
)
def test_a_mistake_in_a_jsonl_teacher_has_its_line(tmp_path: Path, record: object, complaint: str) -> None:
    path = tmp_path / "labeled.jsonl"
    path.write_text(answers({"tokens": ["a"], "tags": ["X"]}, record))
    with pytest.raises(DataError) as caught:
        distil(path, **QUICK)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("change", "error", "complaint"),
    [
        ({"teacher": 3}, OptionError, "teacher must be a model, a function"),
        ({"teacher": "no-such.sapo"}, DataError, "no-such.sapo: no such file"),
        ({"teacher": __file__}, ModelError, "is no teacher; give a model of sapo, a JSONL file"),
        ({"teacher": Path(__file__).parent}, ModelError, "is a directory without a config.json"),
        ({"texts": []}, OptionError, "texts: there are no sentences"),
        ({"texts": [["a"], "a b"]}, OptionError, None),
        ({"texts": [["a"], ["b", 3]]}, DataError, "texts: sentence 2: expected tokens as strings, found 3"),
        (
            {"train": [(["a"], ["NAMES"])]},
            DataError,
            "teacher: sentence 1: the label 'NAME' is not in the training data",
        ),
        ({"weight": 0}, OptionError, "weight must be a number above 0"),
        ({"weight": math.nan}, OptionError, "weight must be a number above 0"),
        ({"nbest": 0}, OptionError, "nbest must be a whole number from 1 to 100, not 0"),
        ({"tokens": 0}, OptionError, "tokens must be a whole number, 1 or more, not 0"),
        ({"sample_weight": [1.0]}, OptionError, "leave them out"),
        ({"teacher": lambda texts: [["NAME"]] * 7}, DataError, "teacher: sentence 1: the teacher gave 1 tags for 5"),
        ({"teacher": lambda texts: []}, DataError, "teacher: gave 0 answers for 3 sentences; give one for each"),
        ({"teacher": lambda texts: [*perfect(texts), []]}, DataError, "teacher: gave more than 3 answers for 3"),
    ],
)
def test_a_mistake_is_one_line(change: dict[str, Any], error: type[Exception], complaint: str | None) -> None:
    given = {"teacher": perfect, "texts": TEXTS[:3], **QUICK, **change}
    with pytest.raises(sapo.SapoError) as caught:
        distil(given.pop("teacher"), given.pop("texts"), **given)
    assert "\n" not in str(caught.value)
    if complaint is not None:
        assert complaint in str(caught.value)
        assert isinstance(caught.value, error)


def test_labels_of_a_model_are_checked_before_it_labels(models: list[sapo.Tagger]) -> None:
    with pytest.raises(DataError, match="teacher: the label 'ADJ' is not in the training data"):
        distil(models[0], TEXTS[:3], train=[(["Anna"], ["NAME"])], **QUICK)


def test_running_text_is_refused_unless_it_is_to_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "news.txt"
    path.write_text("Anna met Ben yesterday. They were happy.\n" * 5)
    with pytest.raises(DataError, match="seems to be running text"):
        distil(Function(lambda texts: [["X"] * len(tokens) for tokens in texts]), path, **QUICK)
    seen = list[list[str]]()

    def teacher(sentences: list[list[str]]) -> list[list[str]]:
        seen.extend(sentences)
        return [["X"] * len(tokens) for tokens in sentences]

    distil(teacher, path, text_format="text", **QUICK)
    assert seen[:2] == [["Anna", "met", "Ben", "yesterday", "."], ["They", "were", "happy", "."]]


def test_sentences_are_drawn_at_random_and_stay_in_order() -> None:
    texts = [tuple(tokens) for tokens in TEXTS]
    drawn = draw_sentences(texts, 100, 0)
    assert sum(map(len, drawn)) == 100
    assert drawn == draw_sentences(texts, 100, 0) != draw_sentences(texts, 100, 1)
    assert [texts.index(one) for one in drawn] == sorted(texts.index(one) for one in drawn)
    assert len(draw_sentences(texts, 1, 0)) == 1
    assert draw_sentences(texts, 10**6, 0) == texts


PROGRAM = """
import json, sys
for line in sys.stdin:
    tags = ["X" if token.istitle() else "Y" for token in json.loads(line)["tokens"]]
    print(json.dumps({"candidates": [{"tags": tags, "probability": 1}]}))
"""


def test_a_program_teaches(tmp_path: Path) -> None:
    script = tmp_path / "teacher.py"
    script.write_text(PROGRAM)
    teacher = Command.parse(f'"{sys.executable}" "{script}"')
    student = distil(teacher, TEXTS[:40], **QUICK)
    assert student.tag(["Anna", "met", "Ben"]) == ["X", "Y", "X"]


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("import sys; sys.exit(3)", "wrote 0 lines for 3 sentences and ended with code 3; write one for each"),
        ("import sys; sys.stdin.read(); print('hello\\n' * 3)", ":1: not JSON"),
        ('import sys; sys.stdin.read(); print(\'{"tags": ["X"]}\\n\' * 3)', ":1: the teacher gave 1 tags for 5 tokens"),
    ],
)
def test_a_program_that_fails_is_one_line(program: str, complaint: str) -> None:
    with pytest.raises(DataError) as caught:
        list(Command((sys.executable, "-c", program)).label(TEXTS[:3], 5))
    assert complaint in str(caught.value)


def test_a_program_that_is_not_there_is_one_line() -> None:
    with pytest.raises(OptionError, match="no-such-program: cannot be run"):
        list(Command.parse("no-such-program | tee").label(TEXTS[:3], 5))
    for text in ("", "'"):
        with pytest.raises(OptionError, match="teacher_command must be a program with arguments"):
            Command.parse(text)


def test_the_student_reads_files_as_the_gold_data_and_cuts_text_alike(tmp_path: Path) -> None:
    gold, dev = tmp_path / "gold.txt", tmp_path / "dev.txt"
    for path, texts in ((gold, TEXTS[:20]), (dev, TEXTS[20:30])):
        rows = ("".join(f"{a} pos {b}\n" for a, b in zip(*pair, strict=True)) for pair in pairs(texts))
        path.write_text("\n".join(rows))
    student = distil(perfect, TEXTS[30:60], train=gold, dev=dev, **QUICK)
    assert student.columns == ("word",)
    assert student.evaluate(dev).main == ("accuracy", 1.0)


def test_a_tiny_token_classifier_teaches(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *TAGS]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=64
    )
    labels = sorted(set(TAGS.values()))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    network = transformers.BertForTokenClassification(config)
    network.save_pretrained(tmp_path / "network")
    fast.save_pretrained(tmp_path / "network")
    teacher = open_teacher(tmp_path / "network")
    assert teacher.labels == tuple(labels)
    texts = [TEXTS[0], TEXTS[1] * 30, ["\u200b", "Anna"]]
    found = list(teacher.label(texts, 3))
    with torch.inference_mode():
        chances = network.eval()(**fast(TEXTS[0], is_split_into_words=True, return_tensors="pt")).logits.softmax(-1)[
            0, 1:-1
        ]
    assert found[0][0].tags == tuple(labels[i] for i in chances.argmax(-1).tolist())
    assert found[0][0].probability == pytest.approx(chances.max(-1).values.prod().item(), rel=1e-3)
    assert [[len(one.tags) for one in some] for some in found] == [[5] * 3, [150] * 3, [2] * 3]
    assert distil(tmp_path / "network", TEXTS[:10], **QUICK).tag(TEXTS[0])

    (tmp_path / "network" / "model.safetensors").rename(tmp_path / "network" / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"has no model\.safetensors"):
        open_teacher(tmp_path / "network")
    (tmp_path / "network" / "config.json").write_text('{"architectures": ["BertModel"]}')
    with pytest.raises(ModelError, match="is not a token classifier, but BertModel; fine-tune it first"):
        open_teacher(tmp_path / "network")


def test_a_token_classifier_without_transformers_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["BertForTokenClassification"]}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(OptionError, match="a token classifier needs transformers: pip install"):
        open_teacher(tmp_path)


def test_candidates_are_sorted_and_may_come_as_arrays() -> None:
    assert check_candidates(np.array(["A", "B"]), 2, "x") == [Candidate(("A", "B"))]
    assert check_candidates([(["A"], np.float32(0.25)), (("B",), 0.75)], 1, "x")[0] == Candidate(("B",), 0.75)
