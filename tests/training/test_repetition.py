"""Two passes: the second sees what the first one tagged the same words nearby."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapo
from sapo.corpus.formats import read_blocks
from sapo.errors import DataError, ModelError, OptionError
from sapo.features.repetition import WINDOW, TaggedSentence, repeated_columns, repeated_tags
from sapo.tagger import decoding
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.training.repetition import cut_parts

WORDS = st.lists(st.tuples(st.sampled_from(["a", "b", ""]), st.sampled_from(["O", "B-X", "I-X"])), max_size=4)
TEXTS = st.lists(st.tuples(WORDS, st.booleans()), max_size=60)


def as_sentences(text):
    return [TaggedSentence([w for w, _ in pairs], [t for _, t in pairs], new) for pairs, new in text]


def literal(sentences):
    """Look at every other sentence for every word."""
    numbers = list(itertools.accumulate(sentence.starts_document for sentence in sentences))
    found = []
    for at, sentence in enumerate(sentences):
        row = []
        for word in sentence.words:
            tags = [
                tag
                for other, one in enumerate(sentences)
                if other != at and abs(other - at) <= WINDOW and numbers[other] == numbers[at]
                for own, tag in zip(one.words, one.tags, strict=True)
                if own == word != ""
            ]
            best = max(set(tags), key=lambda tag: (tag != "O", tags.count(tag), tag), default="")
            row.append(best + "~" * (len(set(tags)) > 1))
        found.append(row)
    return found


@given(TEXTS)
def test_the_sliding_window_equals_looking_at_every_sentence(text):
    sentences = as_sentences(text)
    assert list(repeated_tags(sentences)) == literal(sentences)


def test_the_window_has_twenty_sentences_on_each_side():
    sentences = [TaggedSentence(["x"], ["B-X"]), *[TaggedSentence(["y"], ["O"])] * (WINDOW - 1)]
    for more, expected in ((0, "B-X"), (1, "")):
        found = list(repeated_tags([*sentences, *[TaggedSentence(["y"], ["O"])] * more, TaggedSentence(["x"], ["O"])]))
        assert found[-1] == [expected]


def test_names_with_endings_begin_alike():
    given = [TaggedSentence(["Oulussa", "olut"], ["B-LOC", "O"]), TaggedSentence(["Oulun", "oluet"], ["O", "O"])]
    assert list(repeated_columns(given)) == [(["", ""], ["O", ""]), (["", ""], ["B-LOC", ""])]


def corpus(names=40, seed=0):
    """Documents of three sentences: the first two say what a name is, the third does not."""
    rng = np.random.default_rng(seed)
    pairs = []
    for number in range(names):
        name, kind = f"N{seed}x{number}", ["PER", "LOC"][int(rng.integers(2))]
        cue = "Mr" if kind == "PER" else "in"
        pairs.append(([cue, name, "."], ["O", f"B-{kind}", "O"]))
        pairs.append((["and", cue, name], ["O", "O", f"B-{kind}"]))
        pairs.append((["so", name, "it", "is"], ["O", f"B-{kind}", "O", "O"]))
    return pairs


def write(path, pairs, document=3, mark="-DOCSTART- O\n\n"):
    sentences = ["".join(f"{w} {t}\n" for w, t in zip(*pair, strict=True)) + "\n" for pair in pairs]
    path.write_text("".join(mark * (at % document == 0) + one for at, one in enumerate(sentences)))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = write(tmp_path_factory.mktemp("repetition") / "train.txt", corpus())
    options = {"template": "ner", "epochs": 8, "rate": 0.2, "strength": 0.3, "calibrate": False}
    return {mode: sapo.train(path, repetition=mode, **options) for mode in ("on", "off")}


def test_the_second_pass_learns_what_one_pass_cannot_know(trained, tmp_path):
    path = write(tmp_path / "test.txt", corpus(seed=1))
    one, two = (trained[mode].evaluate(path).main[1] for mode in ("off", "on"))
    assert two > 0.95 > 0.85 > one


def test_files_and_sentences_of_python_are_tagged_alike(trained, tmp_path):
    pairs = corpus(300, seed=2)  # more than a batch
    path = write(tmp_path / "test.txt", pairs, document=10**6)
    words = [tokens for tokens, _ in pairs]
    blocks = read_blocks(path)
    tags = [name for _, a in decoding.tag_blocks(trained["on"], blocks) for name in a.names()]
    assert tags == [tag for own in trained["on"].tag_many(words) for tag in own]


def test_threads_do_not_change_the_result(trained, tmp_path):
    path = write(tmp_path / "test.txt", corpus(300, seed=2))
    found = [
        [
            name
            for _, a in decoding.tag_blocks(trained["on"], read_blocks(path), decoding.Output(threads=n))
            for name in a.names()
        ]
        for n in (1, 3)
    ]
    assert found[0] == found[1]


def test_single_sentences_have_no_neighbors(trained):
    tagger = trained["on"]
    assert tagger.columns == ("word",)
    alone = tagger.tag(["Mr", "Nnew", "."])
    both = tagger.tag_many([["Mr", "Nnew", "."], ["so", "Nnew", "it"]])
    assert both[1][1] == "B-PER"
    assert tagger.nbest(["Mr", "Nnew", "."], 2)[0].tags == alone
    assert abs(sum(tagger.marginals(["so", "Nnew"])[1].values()) - 1) < 1e-6


@pytest.mark.parametrize("mark", ["-DOCSTART- O\n\n", "# newdoc id = x\n"])
def test_documents_of_columns_do_not_leak_into_each_other(trained, tmp_path, mark):
    cue, bare = (["Mr", "Nnew", "."], ["O", "O", "O"]), (["so", "Nnew", "it"], ["O", "O", "O"])
    values = {}
    for name, document in (("one", 2), ("two", 1)):
        path = write(tmp_path / f"{name}.txt", [cue, bare], document, mark)
        (block,) = decoding.with_repetition(trained["on"].model, read_blocks(path))
        data, starts, ends = block.made["repeated"]
        values[name] = [data[a:b].tobytes().decode() for a, b in zip(starts, ends, strict=True)]
    assert values["one"][4] == "B-PER"
    assert set(values["two"]) == {""}


def test_documents_of_jsonl_do_not_leak_into_each_other(trained, tmp_path):
    for names, expected in ((("a", "a"), "B-PER"), (("a", "b"), "")):
        sentences = (["Mr", "Nnew", "."], ["so", "Nnew", "it"])
        path = tmp_path / "test.jsonl"
        path.write_text(
            "".join(
                json.dumps({"document": n, "tokens": s, "tags": ["O"] * len(s)}) + "\n"
                for n, s in zip(names, sentences, strict=True)
            )
        )
        (block,) = decoding.with_repetition(trained["on"].model, read_blocks(path))
        data, starts, ends = block.made["repeated"]
        assert data[starts[4] : ends[4]].tobytes().decode() == expected


def test_a_mark_at_the_end_of_a_block_begins_the_next_document(tmp_path):
    path = write(tmp_path / "long.txt", [(["word"] * 50, ["O"] * 50)] * 5000, document=7)
    before, starts = None, []
    for block in read_blocks(path):
        starts += block.document_starts(before).tolist()
        before = block
    assert starts == [at % 7 == 0 for at in range(5000)]


def test_texts_are_documents(trained):
    tagger = trained["on"]
    texts = ["Mr Nnew .", "so Nnew it"]
    apart = [[token.tag for token in text.tokens] for text in tagger.tag_texts(texts)]
    assert apart == [[token.tag for token in tagger.tag_text(text).tokens] for text in texts]


def test_a_model_file_keeps_both_passes(trained):
    tagger = trained["on"]
    model = model_from_bytes(model_bytes(tagger.model))
    words = [tokens for tokens, _ in corpus(seed=3)]
    assert model.first is not None
    assert sapo.Tagger(model).tag_many(words) == tagger.tag_many(words)
    assert model_bytes(model) == model_bytes(model_from_bytes(model_bytes(model)))


def test_a_file_without_its_first_pass_is_refused(trained):
    from sapo.tagger.arrayfile import pack_arrays
    from sapo.tagger.file import _parts

    header, arrays = _parts(trained["on"].model, False)
    for broken in (
        {k: v for k, v in header.items() if k != "first"},
        {**header, "first": 3},
        {**header, "first": header},
    ):
        with pytest.raises(ModelError):
            model_from_bytes(pack_arrays(broken, arrays))


def test_training_tags_of_the_column_are_held_out(tmp_path, monkeypatch):
    """Each sentence is tagged by a model that has not learned it, and gold tags never reach the column."""
    from sapo.training import repetition

    pairs = [([f"w{at}"], [["O", "B-X"][at % 2]]) for at in range(50)]
    learned, tagged = [], []
    real = repetition.subset

    def subset(corpus, sentences):
        learned.append(set(sentences.tolist())) if len(sentences) > 25 else tagged.append(set(sentences.tolist()))
        return real(corpus, sentences)

    monkeypatch.setattr(repetition, "subset", subset)
    sapo.train(pairs, repetition="on", template="ner", epochs=2, rate=0.2, strength=0.3, calibrate=False)
    assert len(learned) == len(tagged) == repetition.PARTS
    assert all(one | other == set(range(50)) and not one & other for one, other in zip(learned, tagged, strict=True))
    assert set().union(*tagged) == set(range(50))


def test_parts_are_whole_documents(tmp_path):
    path = write(tmp_path / "train.txt", corpus())
    parts = cut_parts(list(read_blocks(path)), 5)
    assert [int(part[0]) % 3 for part in parts] == [0] * 5
    assert np.concatenate(parts).tolist() == list(range(120))


def test_auto_chooses_what_gains_on_held_out_sentences(tmp_path, caplog):
    options = {"template": "ner", "epochs": 5, "rate": 0.2, "strength": 0.3, "calibrate": False}
    path = write(tmp_path / "train.txt", corpus(200))
    assert sapo.train(path, repetition="auto", **options).model.first is not None
    apart = write(tmp_path / "apart.txt", corpus(200), document=1)
    assert sapo.train(apart, repetition="auto", **options).model.first is None


def test_an_update_sees_neighbors_too(trained):
    trainer = sapo.Trainer(sapo.Tagger(model_from_bytes(model_bytes(trained["on"].model))))
    trainer.update([(["Mr", "Nnew", "."], ["O", "B-PER", "O"]), (["but", "Nnew"], ["O", "B-PER"])])
    assert trainer.tagger.tag_many([["Mr", "Nnew", "."], ["but", "Nnew"]])[1] == ["O", "B-PER"]
    assert trainer.snapshot().model.first is not None


def test_what_cannot_be_is_refused(tmp_path):
    pairs = corpus(4)
    with pytest.raises(OptionError, match="repetition must be one of auto, on, off"):
        sapo.train(pairs, repetition="maybe")
    with pytest.raises(OptionError, match="without checkpoint and stream"):
        sapo.train(write(tmp_path / "t.txt", pairs), repetition="on", stream=tmp_path / "cache")
    with pytest.raises(OptionError, match="choose a linear learner"):
        sapo.train(pairs, repetition="on", learner="bilstm-crf")
    with pytest.raises(DataError, match="at least 5 sentences"):
        sapo.train(pairs[:3], repetition="on", template="ner")
    with pytest.raises(DataError, match="needs words"):
        sapo.train([([["a"]], ["X"])] * 8, repetition="on")
