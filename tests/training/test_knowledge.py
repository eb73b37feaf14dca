"""Knowledge of words: the model that learns with clusters is the one that learns from a column of clusters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapo
from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.errors import SapoError
from sapo.features.clusters import PREFIXES, WINDOW, Clusters
from sapo.features.knowledge import Knowledge
from sapo.features.template import parse_templates, template_text
from sapo.tagger.prune import pruned
from sapo.training.unlabeled import clusters_of

PAIRS = [
    (list(one.columns["word"]), list(one.tags))
    for one in read(sample_path("train"), columns=COLUMNS, label="chunk")
    if one.tags
][:150]
WORDS = sorted({word.lower() for words, _ in PAIRS for word in words})
PATHS = {word: format(place % 37, "06b") for place, word in enumerate(WORDS) if place % 5}
CLUSTERS = Clusters(PATHS)
SETTINGS: dict[str, Any] = {"epochs": 3, "rate": 0.2, "strength": 0.3, "calibrate": False}
NEW = [["Unseen", "words", "and", "The", "Bank", "of", "1999"], ["rain", "."]]


def with_column(words: list[str]) -> list[tuple[str, str]]:
    return [(word, CLUSTERS.find(word) or "") for word in words]


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return sapo.train(PAIRS, clusters=PATHS, template="ner", **SETTINGS)


def test_it_is_the_same_as_a_column_of_clusters(tagger: sapo.Tagger, tmp_path: Path) -> None:
    lines = [f"cluster[{at}]" for at in WINDOW]
    lines += [f"prefix(cluster[{at}], {length})" for length in PREFIXES for at in WINDOW]
    (tmp_path / "template").write_text(template_text("ner")[0] + "\n".join(lines))
    pairs = [(with_column(words), tags) for words, tags in PAIRS]
    twin = sapo.train(pairs, columns=["word", "cluster"], template=tmp_path / "template", **SETTINGS)
    assert twin.columns == ("word", "cluster")
    assert tagger.columns == ("word",)
    for words in [*NEW, *(words for words, _ in PAIRS[:20])]:
        own, other = tagger.nbest(words, 3), twin.nbest(with_column(words), 3)
        assert [(one.tags, one.score) for one in own] == [(one.tags, one.score) for one in other]


def test_a_saved_model_needs_no_second_file(tagger: sapo.Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "m.sapo")
    loaded = sapo.Tagger.load(tmp_path / "m.sapo")
    assert loaded.columns == ("word",)
    assert [loaded.tag(words) for words in NEW] == [tagger.tag(words) for words in NEW]
    names = loaded.model.encoder.feature_names(range(loaded.model.encoder.features))
    assert any(name.startswith("cluster[0] = ") for name in names)


def test_a_file_and_words_with_bits_are_the_same(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "clusters.txt"
    path.write_text("".join(f"{bits}\t{word}\t1\n" for word, bits in PATHS.items()))
    for given in (path, str(path), [path]):
        model = sapo.train(PAIRS, clusters=given, template="ner", **SETTINGS)
        assert np.array_equal(model.model.parameters.rows.arrays.values, tagger.model.parameters.rows.arrays.values)


def test_streamed_sentences_have_them_too(tagger: sapo.Tagger, tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("\n".join("".join(f"{w} {t}\n" for w, t in zip(*pair, strict=True)) for pair in PAIRS))
    streamed = {"stream": tmp_path / "cache", "columns": ["word", "label"], "template": "ner", **SETTINGS}
    model = sapo.train(path, clusters=PATHS, **streamed)
    assert model.model.encoder.features == tagger.model.encoder.features
    assert model.columns == ("word",)
    again = sapo.train(path, clusters=PATHS, **streamed)
    assert [again.tag(words) for words in NEW] == [model.tag(words) for words in NEW]
    with pytest.raises(SapoError, match="knowledge"):
        sapo.train(path, clusters={"rain": "0"}, **streamed)


def test_a_model_that_learns_more_looks_up_new_words(tagger: sapo.Tagger) -> None:
    trainer = sapo.Trainer(tagger)
    new = next(word for word in PATHS if word.isalpha())
    trainer.update([([new.upper(), "zzz"], ["B-NP", "I-NP"])] * 3)
    assert trainer.tagger.tag([new.upper(), "zzz"]) == ["B-NP", "I-NP"]
    assert trainer.tagger.columns == ("word",)


def test_a_pruned_model_keeps_them(tagger: sapo.Tagger) -> None:
    assert sapo.Tagger(pruned(tagger.model, 1e-9)).tag(NEW[0]) == tagger.tag(NEW[0])


def test_several_files_are_several_columns(tmp_path: Path) -> None:
    model = sapo.train(PAIRS, clusters=[PATHS, {"the": "x"}], template="ner", **SETTINGS)
    assert {"cluster", "cluster2"} <= set(model.model.encoder.strings)  # type: ignore[attr-defined]


def test_a_column_of_the_data_keeps_its_name() -> None:
    pairs = [([(word, "c") for word in words], tags) for words, tags in PAIRS]
    model = sapo.train(pairs, columns=["word", "cluster"], clusters=PATHS, template="ner", **SETTINGS)
    assert "cluster2" in model.model.encoder.strings  # type: ignore[attr-defined]


KNOWLEDGE = Knowledge("word", {"cluster": CLUSTERS})


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("cluster(word[0], 6)", "prefix(cluster[0], 6)"),
        ("cluster(word[-1])", "cluster[-1]"),
        ("cluster[1] & lower(word)", "cluster[1] & lower(word[0])"),
        ("label[-1] & cluster(word, 4)", "label[-1] & prefix(cluster[0], 4)"),
    ],
)
def test_templates_can_use_them(line: str, shown: str) -> None:
    templates = parse_templates(line, ["word", "label"], knowledge=KNOWLEDGE)
    assert str(templates.templates[0]) == shown
    assert templates.read_columns == ("word",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cluster(lower(word), 6)", "cluster is known of the words as they are, not of 'lower(word[0])'"),
        ("cluster(pos, 6)", "cluster is known of the words as they are, not of 'pos[0]'"),
        ("cluster(word, 0)", "0 is not between 1 and 100"),
        ("clusters(word, 2)", "unknown function 'clusters'; did you mean 'cluster'?"),
    ],
)
def test_a_wrong_use_is_an_error(line: str, message: str) -> None:
    with pytest.raises(SapoError) as caught:
        parse_templates(line, ["word", "pos", "label"], knowledge=KNOWLEDGE)
    assert message in str(caught.value)


def test_a_template_with_lines_of_its_own_gets_no_others() -> None:
    assert KNOWLEDGE.complete("word[0]\ncluster(word, 4)") == "word[0]\ncluster(word, 4)"
    assert len(KNOWLEDGE.complete("word[0]").splitlines()) == 1 + len(WINDOW) * (1 + len(PREFIXES))
    crfpp = parse_templates(KNOWLEDGE.complete("U01:%x[0,0]\nB\n"), ["word", "label"], knowledge=KNOWLEDGE)
    assert {"word", "cluster"} == set(crfpp.columns)
    assert crfpp.transitions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": 3}, "clusters must be a file, words with their clusters, or a list of these, not 3"),
        ({"clusters": "no such file"}, "no such file"),
        ({"clusters": PATHS, "learner": "bilstm-sapo"}, "clusters: bilstm-sapo does not use them"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SapoError) as caught:
        sapo.train(PAIRS, **options)
    assert message in str(caught.value)


def test_ready_made_features_have_no_words() -> None:
    with pytest.raises(SapoError, match="no words to look up in clusters"):
        sapo.train([([{"w": "rain"}], ["NN"])], clusters=PATHS)


LISTS = {"city": ["New York", "Oslo"], "firm": ["Coca-Cola", "Oslo Bank"]}
CITIES = [(["He", "left", "New", "York", "for", "Oslo"], ["O", "O", "B-LOC", "I-LOC", "O", "B-LOC"])]
CITIES += [
    (["The", "Oslo", "Bank", "sued", "Coca", "-", "Cola"], ["O", "B-ORG", "I-ORG", "O", *["B-ORG"], *["I-ORG"] * 2])
]
CITIES += [([f"w{i}", "met", f"P{i}"], ["O", "O", "B-PER"]) for i in range(20)]
COLUMNS_OF_CITIES = {
    "city": [["O", "O", "B", "I", "O", "B"], ["O", "B", "O", "O", "O", "O", "O"]],
    "firm": [["O"] * 6, ["O", "B", "I", "O", "B", "I", "I"]],
}


def test_names_are_the_same_as_columns_of_them(tmp_path: Path) -> None:
    tagger = sapo.train(CITIES, names=LISTS, template="ner", **SETTINGS)
    lines = [f"{kind}[{at}]" for kind in LISTS for at in (-1, 0, 1)]
    (tmp_path / "template").write_text(template_text("ner")[0] + "\n".join(lines))
    columns = [[COLUMNS_OF_CITIES[kind][i] if i < 2 else ["O"] * 3 for kind in LISTS] for i in range(len(CITIES))]
    pairs = [(list(zip(words, *columns[i], strict=True)), tags) for i, (words, tags) in enumerate(CITIES)]
    twin = sapo.train(pairs, columns=["word", *LISTS], template=tmp_path / "template", **SETTINGS)
    for (words, _), (tokens, _) in zip(CITIES, pairs, strict=True):
        own, other = tagger.nbest(words, 3), twin.nbest(tokens, 3)
        assert [(one.tags, one.score) for one in own] == [(one.tags, one.score) for one in other]


def test_a_saved_model_knows_the_names(tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("New York\nOslo\n")
    tagger = sapo.train(CITIES, names={"city": tmp_path / "cities.txt"}, clusters=PATHS, template="ner", **SETTINGS)
    tagger.save(tmp_path / "m.sapo")
    loaded = sapo.Tagger.load(tmp_path / "m.sapo")
    for words, _ in CITIES:
        for one, other in zip(loaded.nbest(words, 2), tagger.nbest(words, 2), strict=True):
            assert one.tags == other.tags
            assert one.score == pytest.approx(other.score, rel=1e-6)  # features are in another order


def test_capitals_count_in_a_list_if_its_kind_says_so(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Will\n")
    sentence = block_from_sentences([Sentence({"word": ("Will", "will")}, None)], "text", labeled=False)
    sources: list[Any] = [["Will"], tmp_path / "names.txt"]
    for names in sources:
        for kind, found in (("who", b"BB"), ("who:case", b"BO")):
            tagger = sapo.train(CITIES, names={kind: names}, template="ner", **SETTINGS)
            knowledge = tagger.model.encoder.templates.knowledge
            data, starts, ends = knowledge.fields_of(sentence, "who")
            assert b"".join(data[a:b].tobytes() for a, b in zip(starts, ends, strict=True)) == found


def test_a_list_that_was_made_from_the_training_data_is_refused() -> None:
    train = [([f"w{i}", "met", f"P{i}"], ["O", "O", "B-PER"]) for i in range(60)]
    dev = [([f"w{i}", "met", f"P{i}"], ["O", "O", "B-PER"]) for i in range(60, 120)]
    names = {"person": [words[2] for words, _ in train]}
    with pytest.raises(SapoError, match="100 % of the spans of the training data are in the list 'person'"):
        sapo.train(train, names=names, **SETTINGS)
    with pytest.raises(SapoError, match="it seems to be made from them"):
        sapo.train(train, dev=dev, names=names, **SETTINGS)
    everybody = {"person": [words[2] for words, _ in train + dev]}
    assert sapo.train(train, dev=dev, names=everybody, **SETTINGS).tag(["w", "met", "P100"]) == ["O", "O", "B-PER"]
    some = {"person": names["person"][:40]}
    assert sapo.train(train, names=some, **SETTINGS).columns == ("word",)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Oslo"], "names must be a dictionary of kinds and files or lists"),
        ({"a b": ["Oslo"]}, "a kind must be a word of letters, digits and _"),
        ({"city:cases": ["Oslo"]}, "such as person, or person:case if capitals count, not 'city:cases'"),
        ({"city": ["Oslo"], "city:case": ["Bergen"]}, "there is a column 'city' already"),
        ({"label": ["Oslo"]}, "a kind must be a word of letters, digits and _"),
        ({"word": ["Oslo"]}, "there is a column 'word' already; choose another kind, such as word_names"),
        ({"city": 3}, "city must be a file or a list of names, not 3"),
        ({"city": []}, "no names"),
    ],
)
def test_wrong_names_are_errors(names: Any, message: str) -> None:
    with pytest.raises(SapoError) as caught:
        sapo.train(CITIES, names=names, **SETTINGS)
    assert message in str(caught.value)


def test_clusters_are_made_from_text_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(words) for words, _ in PAIRS))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text(text.read_text())
    lines: list[str] = []
    first = clusters_of([text], lines.append, lines.append)
    (kept,) = (tmp_path / "cache" / "sapo").glob("clusters-*.txt.gz")
    again = clusters_of([text], lines.append, lines.append)
    said = [line for line in lines if line.startswith("word clusters of")]
    assert said == [
        f"word clusters of {text}: {len(first):,} words in {len(first) // 10} clusters",
        f"word clusters of {text}: {len(first):,} words, made in an earlier run",
    ]
    assert [first.find(word) for word in WORDS] == [again.find(word) for word in WORDS]
    assert sapo.train(PAIRS, unlabeled=text, template="ner", **SETTINGS).columns == ("word",)
    kept.write_bytes(b"damaged")
    assert len(clusters_of([tmp_path / "more"], lines.append, lines.append)) == len(first)
    assert len(Clusters.read(kept)) == len(first)


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"words": "word", "columns": []},
        {"words": "word", "columns": {"cluster": "no kind"}},
        {"words": 3, "columns": {}},
        {"words": "word", "columns": {"label": "clusters"}},
        {"words": "cluster", "columns": {"cluster": "clusters"}},
        {"words": "word", "columns": {"cluster": "names"}},
        {"words": "word", "columns": {}, "vectors": 3},
    ],
)
def test_a_damaged_header_is_refused(header: Any) -> None:
    arrays = {**KNOWLEDGE.arrays(), **Knowledge("word", {"label": CLUSTERS}).arrays()}
    with pytest.raises((ValueError, KeyError, TypeError)):
        Knowledge.from_arrays(header, arrays)


def test_unlabeled_text_follows_the_encoding(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = [f"die {color} {thing} schläft .\n" for color in ("graue", "grüne") for thing in ("Bär", "Kuh")] * 40
    text, data = tmp_path / "raw.txt", tmp_path / "train.txt"
    text.write_bytes("".join(lines).encode("latin-1"))
    data.write_bytes("die O\nBär B-X\n\n".encode("latin-1"))
    for _ in range(2):  # the second time from the cache
        tagger = sapo.train(data, unlabeled=text, encoding="latin-1", template="ner", epochs=2)
        (clusters,) = tagger.model.encoder.templates.knowledge.columns.values()
        assert clusters.find("schläft") is not None
