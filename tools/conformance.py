"""Write models with inputs and expected outputs, for any reader of model files: python tools/conformance.py DIRECTORY

Each NAME.json belongs to NAME.sapo. It has `sentences` (tokens, and what Python says of them: tags, the three best
taggings, marginals, spans) and `texts` (sentences, each with tokens, tags and probabilities). A reader agrees if
tags and tokens are the same, and probabilities differ by at most 1e-5. The models are small, and trained on the sample
and on sentences of this file; docs/reference/model-file.md describes what is in them.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sapo
from sapo.corpus.formats import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.tagger.file import save_model
from sapo.tagger.model import Model

FEW = 12  # sentences of each model
N = 3
# words of several scripts, with digits, marks, accents and characters beyond 16 bits
WORDS = [
    *("The", "İstanbul", "ΟΔΟΣ", "straße", "ǅungla", "x²", "Ⅷ", "½"),
    *("1,000.5", "---", "café", "naïve", "東京", "𝒳yz", "🦊", "ﬁne"),  # noqa: RUF001
    *("IL-2", "McDonald's", "²", "À́", "a.b", "٣٤", "über-x"),
]
STRANGE = [(WORDS[i : i + 6], [("B-X", "I-X", "O")[(i + j) % 3] for j in range(6)]) for i in range(len(WORDS) - 5)]
NOT_SEEN = ["A", *(word[::-1] for word in WORDS), "Zürich", "٤", "\U0001d4b4", "never", "Ünder", "CAPS", "x-1"]
TEXTS = (
    (
        "Mr. Smith didn't pay $5.50 (or 3,000?) in the U.S. He left!! See http://www.example.org/a?b=1, or mail "
        "me@x.org.\n\n"
        "Next paragraph... \"Quoted.\" She said: 'no'—really? O'Neil's 7pm e-mail; don't've."
    ),
    (
        "Ça va? L\u2019été 2024… “Oui.” ¿Qué? Σας. 東京都。大阪\uff01 🦊🦊 x\u0301y "
        "\x1c a_b __init__ -5 +3 ½. 1990s 'tis.\fPage"
    ),
    "",
    "   \n \n ",
)
CRFPP = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nU02:%x[-1,0]\nU02:%x[1,0]\nB\nB01:%x[0,1]\n"
EVERYTHING = (
    "word[0]\nlower(word[-1])\nnormalized(word)\nshape(word) & word[1]\nshort_shape(word[0])\n"
    "prefix(word, 2) & suffix(word, 2)\n"
    "substrings(word, 3)\nclasses(word)\nclasses(word[-2]) & shape(word) & word[1]\n"
    "word[-2] & word[-1] & word[0] & word[1]\n"
    "suffix(lower(word), 3)\nshort_shape(lower(word[2]))\nlabel[-1]\nlabel[-1] & shape(word)\nbias\n"
)
FIXED: dict[str, Any] = {"epochs": 3, "rate": 0.1, "strength": 1.0, "tolerance": 0.0}


def _sample(label: str, template: Any, **more: Any) -> Model:
    return sapo.train(sample_path("train"), columns=COLUMNS, label=label, template=template, **{**FIXED, **more}).model


def _written(directory: Path, text: str) -> Path:
    path = directory / "template.txt"
    path.write_text(text, "utf-8")
    return path


def _calibrated(model: Model) -> Model:
    return dataclasses.replace(model.with_bias(model.outer_labels[0], 0.7), temperature=2.3)


def _with_names(directory: Path) -> Model:
    names = directory / "names.txt"
    names.write_text("The Island Ferry\nMonday\nNew-York\nO\u2019Neil\ndon't\n東京\nÇa\n", "utf-8")
    return _sample("entity", "ner", names={"place": names})


def _many_labels(directory: Path) -> Model:
    pairs = [([f"w{i}", "and", f"w{i % 7}"], [f"L{i}", "C", f"L{i % 7}"]) for i in range(110)] * 2
    return sapo.train(pairs, template="pos", **FIXED).model


MODELS: Mapping[str, Callable[[Path], Model]] = {
    "pos": lambda directory: _sample("pos", "pos"),
    "chunking": lambda directory: _sample("chunk", "chunking"),
    "entities": lambda directory: _sample("entity", "ner", scheme="bioes"),
    "calibrated": lambda directory: _calibrated(_sample("entity", "bioner")),
    "best": lambda directory: _sample("entity", "bioner-best", epochs=1),
    "everything": lambda directory: sapo.train(STRANGE * 3, template=_written(directory, EVERYTHING), **FIXED).model,
    "crfpp": lambda directory: _sample("chunk", _written(directory, CRFPP)),
    "names": _with_names,
    "many-labels": _many_labels,
}


def questions(tagger: sapo.Tagger) -> list[list[Any]]:
    """Return sentences for a model: of the sample, of strange words, of one token, and of none."""
    columns = tagger.columns
    found: list[list[Any]] = []
    for sentence in list(read(sample_path("test"), columns=COLUMNS, label="entity"))[:FEW]:
        rows = list(zip(*(sentence.columns.get(name, sentence.words) for name in columns), strict=True))
        found.append([row[0] for row in rows] if len(columns) == 1 else [list(row) for row in rows])
    strange = [word if len(columns) == 1 else [word, *["NN"] * (len(columns) - 1)] for word in (*WORDS, *NOT_SEEN)]
    return [*found, strange, strange[7:20], strange[40:41], []]


def expected(tagger: sapo.Tagger) -> dict[str, Any]:
    """Return what a reader of the model should answer."""
    sentences = []
    for tokens in questions(tagger):
        best = [{"tags": one.tags, "probability": one.probability, "p_k": one.p_k} for one in tagger.nbest(tokens, N)]
        one = {"tokens": tokens, "tags": tagger.tag(tokens), "nbest": best}
        marginals = [[row[label] for label in tagger.labels] for row in tagger.marginals(tokens)]
        one["marginals"] = [[round(value, 7) for value in row] for row in marginals]
        if any(label.startswith("B-") for label in tagger.labels):
            one["spans"] = [span._asdict() for span in tagger.spans(tokens)]
        sentences.append(one)
    texts = []
    for text in TEXTS if tagger.columns == ("word",) else ():
        found = tagger.tag_text(text, probabilities=True).sentences
        parts = [[[token.text, token.tag, token.probability] for token in sentence.tokens] for sentence in found]
        spans = [[[span.text, span.type, span.probability] for span in sentence.spans] for sentence in found]
        texts.append({"text": text, "sentences": parts, "spans": spans})
    return {"labels": list(tagger.labels), "sentences": sentences, "texts": texts}


def write(name: str, directory: Path) -> None:
    """Write NAME.sapo and NAME.json."""
    save_model(MODELS[name](directory), directory / f"{name}.sapo")
    found = expected(sapo.Tagger.load(directory / f"{name}.sapo"))
    (directory / f"{name}.json").write_text(json.dumps(found, ensure_ascii=False, indent=None), "utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in MODELS:
        write(each, target)
        print(target / f"{each}.json")
