"""A model is a component of a real spaCy pipeline: entities, tags, probabilities, saving and loading."""

from pathlib import Path

import pytest

import sapo
from sapo.errors import DataError, ModelError

spacy = pytest.importorskip("spacy")

NER = [
    (["Maria", "Lind", "lives", "in", "Oslo", "."], ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]),
    (["Jan", "Berg", "works", "in", "Rome", "."], ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]),
    (["They", "live", "at", "home", "."], ["O", "O", "O", "O", "O"]),
]
TEXT = "Maria Lind lives in Oslo. Jan Berg works in Rome."


@pytest.fixture(scope="module")
def ner(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("spacy") / "ner.sapo")
    sapo.train(NER, template="ner").save(path)
    return path


def pipeline(model: str | None, **config: object) -> "spacy.Language":
    nlp = spacy.blank("en")
    nlp.add_pipe("sapo", config={"model": model, **config})
    return nlp


def test_entities_have_types_and_probabilities(ner: str) -> None:
    doc = pipeline(ner)(TEXT)
    assert [(span.text, span.label_) for span in doc.ents] == [
        ("Maria Lind", "PER"),
        ("Oslo", "LOC"),
        ("Jan Berg", "PER"),
        ("Rome", "LOC"),
    ]
    assert all(0.5 < span._.probability <= 1 for span in doc.ents)


def test_a_pipe_gives_what_single_calls_give(ner: str) -> None:
    nlp = pipeline(ner)
    texts = [TEXT, "", "They live at home.", TEXT + " " + TEXT]
    shown = [[(span.text, span.label_, span._.probability) for span in doc.ents] for doc in nlp.pipe(texts)]
    assert shown == [[(span.text, span.label_, span._.probability) for span in nlp(text).ents] for text in texts]


def test_probabilities_can_be_left_out(ner: str) -> None:
    assert [span._.probability for span in pipeline(ner, probabilities=False)(TEXT).ents] == [None] * 4


def test_entities_that_are_there_stay(ner: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "CITY", "pattern": "Oslo"}])
    nlp.add_pipe("sapo", config={"model": ner})
    assert [(span.text, span.label_) for span in nlp(TEXT).ents][:3] == [
        ("Maria Lind", "PER"),
        ("Oslo", "CITY"),
        ("Jan Berg", "PER"),
    ]


def test_sentences_of_the_pipeline_are_used(ner: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("sapo", config={"model": ner})
    assert len(nlp(TEXT).ents) == 4


def test_tags_of_words_are_set_and_are_the_column_of_the_next_model(tmp_path: Path) -> None:
    pairs = [(["a", "dog", "runs"], ["DT", "NN", "VB"]), (["the", "cat", "sleeps"], ["DT", "NN", "VB"])]
    sapo.train(pairs, template="pos").save(tmp_path / "pos.sapo")
    chunks = [
        ([("a", "DT"), ("dog", "NN"), ("runs", "VB")], ["B-NP", "I-NP", "B-VP"]),
        ([("the", "DT"), ("cat", "NN"), ("sleeps", "VB")], ["B-NP", "I-NP", "B-VP"]),
    ]
    sapo.train(chunks, template="chunking").save(tmp_path / "chunk.sapo")
    nlp = spacy.blank("en")
    nlp.add_pipe("sapo", name="pos", config={"model": str(tmp_path / "pos.sapo")})
    nlp.add_pipe("sapo", name="chunk", config={"model": str(tmp_path / "chunk.sapo")})
    doc = nlp("the dog sleeps")
    assert [token.tag_ for token in doc] == ["DT", "NN", "VB"]
    assert all(0 < token._.probability <= 1 for token in doc)
    assert [(span.text, span.label_) for span in doc.ents] == [("the dog", "NP"), ("sleeps", "VP")]
    alone = pipeline(str(tmp_path / "chunk.sapo"))
    with pytest.raises(DataError, match=r"token\.tag_ is empty; add a component"):
        alone("the dog sleeps")


def test_universal_tags_go_to_pos(tmp_path: Path) -> None:
    sapo.train([(["a", "dog"], ["DET", "NOUN"])], template="pos").save(tmp_path / "upos.sapo")
    assert [token.pos_ for token in pipeline(str(tmp_path / "upos.sapo"))("a dog")] == ["DET", "NOUN"]


def test_a_pipeline_survives_a_directory_and_bytes(ner: str, tmp_path: Path) -> None:
    nlp = pipeline(ner)
    nlp.config["components"]["sapo"]["model"] = None
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline", config={"components": {"sapo": {"model": None}}})
    assert [span.text for span in again(TEXT).ents] == [span.text for span in nlp(TEXT).ents]
    other = pipeline(None).from_bytes(nlp.to_bytes())
    assert [span.text for span in other(TEXT).ents] == [span.text for span in nlp(TEXT).ents]


def test_a_component_without_a_model_says_so() -> None:
    with pytest.raises(ModelError, match="has no model"):
        pipeline(None)(TEXT)


def test_blanks_are_not_given_to_the_model(ner: str) -> None:
    doc = pipeline(ner)("Maria  Lind lives in Oslo.\n\n \n")
    assert [(span.text, span.label_) for span in doc.ents] == [("Maria  Lind", "PER"), ("Oslo", "LOC")]
    assert not pipeline(ner)(" \n ").ents


def test_a_pipeline_knows_its_labels_and_can_be_evaluated(ner: str) -> None:
    from spacy.training import Example

    nlp = pipeline(ner)
    assert "B-LOC" in nlp.pipe_labels["sapo"]
    gold = [(one.start_char, one.end_char, one.label_) for one in nlp(TEXT).ents]
    assert nlp.evaluate([Example.from_dict(nlp.make_doc(TEXT), {"entities": gold})])["ents_f"] == 1.0
