"""The UD pipeline: files, multiword tokens, scores, drawings, and a pipeline trained on the small sample treebank."""

import itertools
import xml.etree.ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sapo.cli.drawing import draw_svg, draw_text
from sapo.cli.main import app
from sapo.corpus.sample import sample_files
from sapo.corpus.treebank import (
    UDDocument,
    UDSentence,
    UDToken,
    UDWord,
    find_cycle,
    plain_sentence,
    raw_text,
    read_treebank,
)
from sapo.errors import DataError, ModelError
from sapo.evaluate.conll18 import METRICS, score, table
from sapo.tagger.arrayfile import load_arrays
from sapo.text.multiword import MultiwordRules, learn_multiword
from sapo.training.ud import UD

TREEBANK = sample_files()["treebank.conllu"]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ud") / "treebank.conllu"
    path.write_text(TREEBANK, "utf-8")
    return path


@pytest.fixture(scope="module")
def gold(treebank: Path) -> list[UDSentence]:
    return list(read_treebank(treebank))


@pytest.fixture(scope="module")
def model(treebank: Path) -> Path:
    path = treebank.with_name("model.sapo")
    UD.train(treebank, epochs=5).save(path)
    return path


def test_a_treebank_is_written_as_it_was_read(gold: list[UDSentence]) -> None:
    assert UDDocument(gold).to_conllu() == TREEBANK


def test_the_text_is_that_of_the_treebank(gold: list[UDSentence]) -> None:
    lines = [line.removeprefix("# text = ") for line in TREEBANK.splitlines() if line.startswith("# text")]
    assert [sentence.text for sentence in gold] == lines
    assert raw_text(gold) == " ".join(lines[:6]) + "\n\n" + " ".join(lines[6:]) + "\n"


def test_blanks_are_those_of_the_text_where_misc_does_not_say(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(TREEBANK.replace("SpaceAfter=No", "_"), "utf-8")
    assert UDDocument(read_treebank(path)).to_conllu().count("SpaceAfter=No") > 0
    assert [one.text for one in read_treebank(path)] == [
        line.removeprefix("# text = ") for line in TREEBANK.splitlines() if line.startswith("# text")
    ]
    path.write_text(TREEBANK.replace("SpaceAfter=No", "_").replace("# text = ", "# text = Other "), "utf-8")
    assert all(token.space_after for one in read_treebank(path) for token in one.tokens)


def test_empty_nodes_are_skipped(tmp_path: Path) -> None:
    row = "{}\tGo\tgo\tVERB\t_\t_\t{}\t{}\t_\t_\n"
    path = tmp_path / "a.conllu"
    path.write_text(row.format("1", 0, "root") + row.format("1.1", "_", "_") + row.format("2", 1, "conj") + "\n")
    (sentence,) = read_treebank(path)
    assert [word.head for word in sentence.words] == [0, 1]
    assert "1.1" not in sentence.to_conllu()


BAD = {
    "circle": ("1 a 2,2 b 1,3 c 0", "the heads go in a circle (1 -> 2 -> 1)"),
    "two roots": ("1 a 0,2 b 0", "words 1 and 2 both have the head 0"),
    "no root": ("1 a 2,2 b 1", "the heads go in a circle"),
    "far": ("1 a 0,2 b 7", "the head of word 2 is 7, but there are 2 words"),
    "missing": ("1 a 0,2 b _", "word 2 ('b') has no head"),
    "none": ("1 a _,2 b _", "no word of this treebank has a HEAD"),
    "letters": ("1 a x", "HEAD must be the ID of a word"),
    "multiword": ("1-2 ab 0,1 a 0,2 b 1", "has a HEAD; its words have heads"),
    "range": ("1-3 ab _,1 a 0,2 b 1", "does not stand before the words 1 to 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_in_a_treebank_is_one_line_and_exit_code_2(case: str, tmp_path: Path) -> None:
    rows, message = BAD[case]
    lines = ["{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_".format(*row.split(" ")) for row in rows.split(",")]
    path = tmp_path / "bad.conllu"
    path.write_text("\n".join(lines) + "\n\n")
    with pytest.raises(DataError) as error:
        UD.train(path, epochs=1)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}:")
    assert "\n" not in str(error.value)
    assert isinstance(CliRunner().invoke(app, ["ud", "train", str(path)]).exception, DataError)  # `main` exits with 2


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_a_cycle_is_found_if_and_only_if_a_word_is_above_itself(heads: list[int]) -> None:
    heads = [min(head, len(heads)) for head in heads]

    def above(word: int) -> set[int]:
        found: set[int] = set()
        while word and (word := heads[word - 1]) not in found:
            found.add(word)
        return found

    cycle = find_cycle(heads)
    assert bool(cycle) == any(word in above(word) for word in range(1, len(heads) + 1))
    assert all(heads[a - 1] == b for a, b in itertools.pairwise(cycle))


def test_multiword_tokens_are_split_as_they_were_and_by_endings(gold: list[UDSentence]) -> None:
    rules = learn_multiword(
        (token.form, [word.form for word in one.words[token.first : token.last]])
        for one in gold
        for token in one.tokens
    )
    assert rules.split("don't") == ["do", "n't"]
    assert rules.split("Don't") == ["Do", "n't"]
    assert rules.split("Kim's") == ["Kim", "'s"]  # by the ending
    assert rules.split("dog") == ["dog"]
    assert MultiwordRules.from_json(rules.as_json()) == rules


def test_words_of_a_multiword_token_may_differ_from_its_characters() -> None:
    rules = learn_multiword([("zum", ["zu", "dem"])])
    assert rules.split("Zum") == ["Zu", "dem"]
    assert rules.split("ZUM") == ["ZU", "DEM"]
    assert rules.split("vom") == ["vom"]  # one token makes no rule


def test_damaged_rules_are_an_error() -> None:
    for value in (None, {}, {"known": {"a": "b  c"}, "endings": {}}, {"known": {}, "endings": {"s": ["x", " s"]}}):
        with pytest.raises(ModelError):
            MultiwordRules.from_json(value)


def test_a_treebank_against_itself_is_perfect(gold: list[UDSentence]) -> None:
    scores = score(gold, gold)
    assert tuple(scores) == METRICS
    assert all(one.f1 == one.precision == one.recall == 1.0 for one in scores.values())
    assert table(scores).count("100.00") >= 3 * len(METRICS)


def changed(sentence: UDSentence, word: int, **values: object) -> UDSentence:
    words = list(sentence.words)
    words[word] = replace(words[word], **values)  # type: ignore[arg-type]
    return replace(sentence, words=tuple(words))


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"upos": "X"}, {"UPOS", "AllTags", "MLAS"}),
        ({"xpos": "X"}, {"XPOS", "AllTags"}),
        ({"feats": "Number=Plur"}, {"UFeats", "AllTags", "MLAS"}),
        ({"feats": "Number=Sing|Own=Yes"}, set()),  # a feature that is not universal
        ({"lemma": "X"}, {"Lemmas", "BLEX"}),
        ({"head": 4}, {"UAS", "LAS", "CLAS", "MLAS", "BLEX"}),
        ({"deprel": "obj"}, {"LAS", "CLAS", "MLAS", "BLEX"}),
        ({"deprel": "nsubj:own"}, set()),  # a subtype
    ],
)
def test_one_wrong_value_lowers_the_scores_that_look_at_it(
    gold: list[UDSentence], values: dict[str, object], wrong: set[str]
) -> None:
    scores = score(gold, [changed(gold[0], 1, **values), *gold[1:]])
    assert {name for name, one in scores.items() if one.f1 < 1} == wrong


def test_mlas_looks_at_function_words_and_las_counts_all_words(gold: list[UDSentence]) -> None:
    scores = score(gold[:1], [changed(gold[0], 0, upos="X"), *gold[1:1]])  # the determiner of the subject
    assert (scores["MLAS"].right, scores["MLAS"].gold) == (1, 2)  # nsubj and root; punctuation is no content
    wrong = score(gold[:1], [changed(gold[0], 0, deprel="dep")])
    assert (wrong["LAS"].right, wrong["LAS"].gold) == (3, 4)


def test_words_inside_multiword_tokens_are_aligned_by_their_forms() -> None:
    def one(*words: str) -> UDSentence:
        return UDSentence((UDToken("abc", 0, len(words)), UDToken("d", len(words), len(words) + 1)), (
            *(UDWord(word, head=len(words) + 1, deprel="dep") for word in words), UDWord("d", head=0, deprel="root"),
        ))  # fmt: skip

    scores = score([one("a", "b", "c")], [one("A", "x", "c")])
    assert (scores["Words"].right, scores["Words"].system, scores["Words"].gold) == (3, 4, 4)
    assert scores["UAS"].right == 3
    scores = score([one("a", "b", "c")], [plain_sentence(["abc", "d"])])
    assert (scores["Tokens"].right, scores["Words"].right) == (2, 1)


OFFICIAL = {
    "Tokens": (69, 67, 65),
    "Sentences": (7, 12, 4),
    "Words": (71, 71, 65),
    "UPOS": (71, 71, 34),
    "XPOS": (71, 71, 33),
    "UFeats": (71, 71, 37),
    "AllTags": (71, 71, 26),
    "Lemmas": (71, 71, 52),
    "UAS": (71, 71, 38),
    "LAS": (71, 71, 30),
    "CLAS": (61, 38, 20),
    "MLAS": (61, 38, 16),
    "BLEX": (61, 38, 20),
}  # system, gold and right, as conll18_ud_eval.py counts them


def remade(sentences: list[UDSentence], split: str) -> UDSentence:
    """Join sentences, make each multiword token one word, cut the token `split` in two; each word hangs on the next."""
    forms = [
        form
        for one in sentences
        for t in one.tokens
        for form in ((t.form[:1], t.form[1:]) if t.form == split else (t.form,))
    ]
    tokens = tuple(UDToken(form, at, at + 1) for at, form in enumerate(forms))
    heads = [*range(2, len(forms) + 1), 0]
    words = (
        UDWord(form, form, "NOUN", "NN", "_", head, "nsubj" if head else "root")
        for form, head in zip(forms, heads, strict=True)
    )
    return UDSentence(tokens, tuple(words))


def test_scores_are_those_of_the_official_script(gold: list[UDSentence]) -> None:
    system = [remade(gold[:2], "cat"), remade(gold[2:5], "dogs"), *gold[5:9], remade(gold[9:], "n't")]
    found = {name: (one.system, one.gold, one.right) for name, one in score(gold, system).items()}
    assert found == OFFICIAL


SEGMENTS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=8, max_size=8)


def segmented(segments: list[tuple[int, bool]], text: str = "abababab") -> UDSentence:
    tokens, words, at = [], [], 0
    for size, multiword in segments:
        if form := text[at : at + size]:
            parts = list(form) if multiword else [form]
            tokens.append(UDToken(form, len(words), len(words) + len(parts)))
            words += [UDWord(part) for part in parts]
            at += size
    return UDSentence(tuple(tokens), tuple(words))


@given(SEGMENTS, SEGMENTS)
def test_gold_and_system_can_be_exchanged_and_equal_tokens_are_found(
    one: list[tuple[int, bool]], other: list[tuple[int, bool]]
) -> None:
    a, b = segmented(one), segmented(other)
    there, back = score([a], [b]), score([b], [a])
    for name in ("Tokens", "Sentences", "Words"):
        assert there[name].right == back[name].right <= min(there[name].gold, there[name].system)
        assert (there[name].system, there[name].gold) == (back[name].gold, back[name].system)

    def single(sentence: UDSentence) -> set[tuple[int, int]]:
        ends = list(itertools.accumulate(len(token.form) for token in sentence.tokens))
        return {(end - len(t.form), end) for t, end in zip(sentence.tokens, ends, strict=True) if t.last - t.first == 1}

    assert there["Words"].right >= len(single(a) & single(b))
    if all(token.last - token.first == 1 for sentence in (a, b) for token in sentence.tokens):
        assert there["Words"].right == len(single(a) & single(b)) == there["Tokens"].right


def test_other_tokens_and_sentences_are_counted(gold: list[UDSentence]) -> None:
    words = gold[0].text.split()  # the full stop stays with the word
    scores = score(gold[:1], [plain_sentence(words)])
    assert (scores["Tokens"].right, scores["Tokens"].system, scores["Tokens"].gold) == (2, 3, 4)
    assert scores["Sentences"].f1 == 1
    with pytest.raises(DataError, match="the texts differ after 3 characters"):
        score(gold[:1], [plain_sentence(["The", "cat"])])


def test_a_tree_is_drawn_as_text_and_svg(gold: list[UDSentence]) -> None:
    drawn = draw_text(gold[1]).splitlines()
    assert drawn == [
        "   ┌─ A    det    DET",
        "┌─ cat     nsubj  NOUN",
        "sees       root   VERB",
        "│  ┌─ the  det    DET",
        "├─ dog     obj    NOUN",
        "└─ .       punct  PUNCT",
    ]
    for sentence in gold:
        root = xml.etree.ElementTree.fromstring(draw_svg(changed(sentence, 0, form="<&\x1b>")))
        assert sum(part.tag.endswith("path") for part in root) == len(sentence.words)
        assert all(word.form in draw_text(sentence) for word in sentence.words)


def test_a_pipeline_learns_a_small_treebank(model: Path, gold: list[UDSentence]) -> None:
    ud = UD.load(model)
    scores = score(gold, ud(raw_text(gold)))
    assert scores["Tokens"].f1 == scores["Words"].f1 == scores["Sentences"].f1 == 1
    assert all(scores[name].f1 > 0.9 for name in ("UPOS", "XPOS", "UFeats", "Lemmas", "LAS"))


def test_sentences_without_end_marks_are_found(gold: list[UDSentence]) -> None:
    def headline(sentence: UDSentence) -> UDSentence:
        last = len(sentence.words) - 1
        return replace(sentence, tokens=sentence.tokens[:-1], words=(*sentence.words[:last],))

    cut = [headline(one) for one in gold if one.words[-1].form == "." and len(one.tokens) > 1]
    plain = [plain_sentence([token.form for token in one.tokens]) for one in cut]
    finder = UD.train([attached(one) for one in plain], epochs=10)
    assert score(plain, list(finder.cut(raw_text(plain))))["Sentences"].f1 > 0.9


def attached(sentence: UDSentence) -> UDSentence:
    """Return the sentence with a tree: each word but the first depends on the first."""
    words = (replace(word, upos="X", head=min(at, 1), deprel="dep") for at, word in enumerate(sentence.words))
    return replace(sentence, words=tuple(words))


def test_sentences_of_one_token_are_enough(tmp_path: Path) -> None:
    ud = UD.train([attached(plain_sentence([word])) for word in ("Go", "Stop", "Wait")] * 3, epochs=2)
    ud.save(tmp_path / "m.sapo")
    assert len(UD.load(tmp_path / "m.sapo")("Stop Go")) == 2


def test_offsets_are_those_of_the_text(model: Path) -> None:
    text = "The  dogs don't\nsleep.Tom reads."
    ud = UD.load(model)
    tokens = [token for sentence in ud(text) for token in sentence.tokens]
    assert [text[token.start : token.end] for token in tokens] == [token.form for token in tokens]
    assert "".join(token.form for token in tokens) == "".join(text.split())
    assert "2\tdogs" in ud(text).to_conllu()
    assert "3-4\tdon't" in ud(text).to_conllu()
    assert all(sentence.heads for sentence in ud(text))
    assert ud("") == [] == ud(" \n ")


def test_training_is_repeatable(treebank: Path, model: Path, tmp_path: Path) -> None:
    UD.train(treebank, epochs=5).save(tmp_path / "again.sapo")
    assert (tmp_path / "again.sapo").read_bytes() == model.read_bytes()


def test_taggers_learn_with_knowledge_and_the_parser_with_clusters(treebank: Path, tmp_path: Path) -> None:
    clusters = {"dogs": "0110", "cats": "0111", "sees": "1001"}
    ud = UD.train(treebank, epochs=2, clusters=clusters, names={"person": ["Tom", "Anna"]})
    ud.save(tmp_path / "m.sapo")
    for found in (ud, UD.load(tmp_path / "m.sapo")):
        for tagger in (found.steps.upos, found.steps.morphology):
            assert {"cluster", "person"} <= set(tagger.model.encoder.templates.knowledge.columns)
        known = found.steps.parser.encoder.clusters
        assert known is not None
        assert known.find_all(["dogs", "horses"]) == ["0110", None]
        assert found("Tom sees cats.")[0].heads


def test_a_damaged_or_other_file_is_a_model_error(model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sapo"
    data = bytearray(model.read_bytes())
    data[-5] ^= 1
    broken.write_bytes(data)
    with pytest.raises(ModelError, match="checksum"):
        UD.load(broken)
    import sapo

    sapo.train([(["a"], ["X"])], template="pos", epochs=1).save(broken)
    with pytest.raises(ModelError, match="another model of sapo"):
        UD.load(broken)
    with pytest.raises(ModelError):
        sapo.Tagger.load(model)
    ud = UD.load(model)
    steps = replace(ud.steps, sentences=ud.steps.upos)  # another tagger in its place
    with pytest.raises(ValueError, match="tagger of sentences"):
        UD(steps)
    header, arrays = load_arrays(model, "a pipeline")
    with pytest.raises(ModelError, match="do not fit together"):
        UD.of_parts("x.sapo", header, {**arrays, "sentences": arrays["upos"]})


def test_the_commands_train_tag_score_and_draw(treebank: Path, tmp_path: Path) -> None:
    def run(*words: str | Path, given: str = "") -> str:
        result = CliRunner().invoke(app, ["ud", *map(str, words)], input=given, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    model, out = tmp_path / "m.sapo", tmp_path / "out.conllu"
    run("train", treebank, "-o", model, "--dev", treebank, "-e", "2", "-q")
    run("tag", model, treebank, "--input", "conllu", "-o", out, "-q")
    assert "LAS" in run("eval", out, treebank)
    assert run("eval", model, treebank, "-q").count("\nLAS") == 2
    assert run("tag", model, "--input", "horizontal", "-q", given="Tom sleeps .\n\n").count("\n") == 5
    assert "─ Tom" in run("tag", model, "--tree", "text", "-q", given="Tom sleeps.")
    assert run("draw", treebank, "--sentence", "2", "--tree", "svg").startswith("<svg")
    assert run("draw", treebank).count("root") == 12
