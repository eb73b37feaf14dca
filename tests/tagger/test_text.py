"""Raw text in, tags and spans with offsets out."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.files import read_blocks
from sapo.text.splitter import Splitter
from sapo.text.tokens import Rules

TEXT = "Anna sings in Oslo. Dr. Lee isn't here!\n\nNothing"


@pytest.fixture(scope="module")
def entities() -> sapo.Tagger:
    return sapo.train(sample_path("train"), template="ner", columns=COLUMNS, label="entity", epochs=5)


@pytest.fixture(scope="module")
def chunker() -> sapo.Tagger:
    return sapo.train(sample_path("train"), template="chunking", columns=COLUMNS, label="chunk", epochs=2)


def test_tokens_spans_and_sentences_are_where_their_offsets_say(entities: sapo.Tagger) -> None:
    found = entities.tag_text(TEXT)
    assert found.text == TEXT
    assert [sentence.text for sentence in found.sentences] == ["Anna sings in Oslo.", "Dr. Lee isn't here!", "Nothing"]
    for piece in (*found.sentences, *found.tokens, *found.spans):
        assert TEXT[piece.start : piece.end] == piece.text
    assert found.sentences[1].words == ["Dr.", "Lee", "is", "n't", "here", "!"]
    assert {("Lee", "PER"), ("Oslo", "LOC")} <= {(span.text, span.type) for span in found.spans}


def test_the_tags_are_those_of_the_tokens(entities: sapo.Tagger) -> None:
    for sentence in entities.tag_text(TEXT).sentences:
        assert sentence.tags == entities.tag(sentence.words)
        assert not sentence.taggings
        assert {token.probability for token in sentence.tokens} == {None}
        assert all(span.probability is None for span in sentence.spans)


def test_probabilities_and_taggings_come_where_asked_for(entities: sapo.Tagger) -> None:
    (found,) = entities.tag_texts([TEXT], probabilities=True, nbest=2)
    for sentence in found.sentences:
        shares = entities.marginals(sentence.words)
        for token, share in zip(sentence.tokens, shares, strict=True):
            assert token.probability == pytest.approx(share[token.tag])
        assert [span.probability for span in sentence.spans] == [
            pytest.approx(span.probability) for span in entities.spans(sentence.words)
        ]
        assert list(sentence.taggings) == entities.nbest(sentence.words, 2)


def test_spans_have_the_same_types_with_and_without_probabilities_where_the_letter_comes_last() -> None:
    data = [(["in", "New", "York"], ["O", "LOC-B", "LOC-I"]), (["at", "home"], ["O", "O"])] * 3
    tagger = sapo.train(data, template="ner", epochs=5, seed=1)
    plain, with_shares = (tagger.tag_text("in New York", probabilities=shares).spans for shares in (False, True))
    assert [(span.text, span.type) for span in plain] == [("New York", "LOC")]
    assert [(span.start, span.type) for span in plain] == [(span.start, span.type) for span in with_shares]


def test_many_texts_are_tagged_as_each_of_them(entities: sapo.Tagger) -> None:
    texts = [TEXT, "", " \n", "Oslo"]
    assert entities.tag_texts(iter(texts)) == [entities.tag_text(text) for text in texts]
    assert entities.tag_text("").sentences == ()


def test_a_function_of_the_users_own_cuts_text(entities: sapo.Tagger) -> None:
    def cut(text: str) -> list[list[tuple[int, int]]]:
        return [[(0, 4)], [], [(5, len(text))]]

    assert [sentence.words for sentence in entities.tag_text("Anna sings", cut=cut).sentences] == [["Anna"], ["sings"]]


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda text: text.split(), "must return a list of sentences"),
        (lambda text: [[(0, 4), (3, 5)]], "token 3:5 is empty, begins before 4"),
        (lambda text: [[(0, 99)]], "ends after 10"),
        (lambda text: [[(2, 2)]], "token 2:2 is empty"),
        (lambda text: None, "must return a list of sentences"),
    ],
)
def test_a_function_that_cuts_wrongly_is_told(entities: sapo.Tagger, cut: object, message: str) -> None:
    with pytest.raises(sapo.SapoError, match=message):
        entities.tag_text("Anna sings", cut=cut)  # type: ignore[arg-type]


def test_mistakes_are_told_with_the_way_out(entities: sapo.Tagger, chunker: sapo.Tagger) -> None:
    with pytest.raises(sapo.SapoError, match=r"also needs pos of each word.*--add pos=MODEL.*sapo\.Pipeline"):
        chunker.tag_text("Anna sings")
    with pytest.raises(sapo.SapoError, match="for lists of tokens use tag"):
        entities.tag_text(["Anna", "sings"])  # type: ignore[arg-type]
    with pytest.raises(sapo.SapoError, match="not a text; use tag_text"):
        entities.tag_texts("Anna sings")
    with pytest.raises(sapo.SapoError, match="text 2: expected a string"):
        entities.tag_texts(["Anna", 3])  # type: ignore[list-item]
    with pytest.raises(sapo.SapoError, match="n must be"):
        entities.tag_text("Anna", nbest=-1)
    features = sapo.train([([{"a": 1.0}], ["X"]), ([{"b": 1.0}], ["Y"])], epochs=1)
    with pytest.raises(sapo.SapoError, match="ready-made features and cannot tag text"):
        features.tag_text("a")


def test_a_model_file_keeps_how_text_is_cut() -> None:
    sentences = [(["a", "well", "-", "known", "dog"], ["D", "A", "H", "A", "N"])] * 4
    tagger = sapo.train(sentences, template="pos", epochs=1)
    assert tagger.model.text_rules.marks["a-a"] == "alone"
    loaded = sapo.Tagger(model_from_bytes(model_bytes(tagger.model)))
    assert loaded.model.text_rules == tagger.model.text_rules
    assert loaded.tag_text("an old-time cat").sentences[0].words == ["an", "old", "-", "time", "cat"]


def test_a_model_of_characters_cuts_characters() -> None:
    tagger = sapo.train([(list("今天很好。"), list("BEBES"))] * 3, template="pos", epochs=1)
    assert [sentence.words for sentence in tagger.tag_text("很好。今天iPad").sentences] == [
        ["很", "好", "。"],
        ["今", "天", "i", "P", "a", "d"],
    ]


def test_text_of_conllu_says_what_stood_together(tmp_path: Path) -> None:
    rows = [("We", "PRON"), ("can", "AUX"), ("not", "PART"), ("go", "VERB"), (".", "PUNCT")]
    lines = [f"{at}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for at, (word, tag) in enumerate(rows, 1)]
    (tmp_path / "a.conllu").write_text(("# text = We cannot go.\n" + "".join(lines) + "\n") * 3)
    tagger = sapo.train(tmp_path / "a.conllu", epochs=1)
    assert tagger.tag_text("I cannot.").sentences[0].words == ["I", "can", "not", "."]


def test_text_of_jsonl_is_cut_as_it_was_in_training(tmp_path: Path) -> None:
    line = '{"text": "A non-EU state isn\'t in.", "spans": [{"start": 2, "end": 8, "label": "X"}]}\n'
    (tmp_path / "a.jsonl").write_text(line * 3)
    assert sapo.train(tmp_path / "a.jsonl", epochs=1).model.text_rules == Rules()


@settings(max_examples=30)
@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_unicode_is_tagged(entities: sapo.Tagger, texts: list[str]) -> None:
    for text, found in zip(texts, entities.tag_texts(texts, probabilities=True), strict=True):
        assert [(token.start, token.end) for token in found.tokens] == Splitter(entities.model.text_rules).tokens(text)
        assert all(text[piece.start : piece.end] == piece.text for piece in (*found.tokens, *found.spans))


def test_annotations_are_cut_as_the_model_was_trained(tmp_path: Path) -> None:
    sentences = [(["a", "well", "-", "known", "dog"], ["O", "B-X", "O", "O", "O"])] * 4
    tagger = sapo.train(sentences, template="ner", epochs=5)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a well-known dog", "label": []}\n')
    (block,) = read_blocks(tagger, path, format="doccano")
    assert block.strings("word") == ["a", "well", "-", "known", "dog"]
