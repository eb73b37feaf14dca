"""Make the golden models that do not exist yet, and what they answer: python tests/shared/golden_models.py

A golden model is never made anew: it stands for all files that people have saved in its format. Every later version
must read it, and answer as it did then.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sapo
from sapo.tagger.file import save_model
from sapo.tagger.model import Model

HERE = Path(__file__).parent.parent / "golden"
CHUNKS = [
    ([("The", "DT"), (noun, "NN"), (verb, "VBZ"), (".", ".")], ["B-NP", "I-NP", "B-VP", "O"])
    for noun in ("cat", "dog", "emu", "fox")
    for verb in ("sleeps", "sings", "hops")
]
WORDS = [([word for word, _ in tokens], [tag for _, tag in tokens]) for tokens, _ in CHUNKS]
READY = [([{"word": word, "length": len(word)} for word in words], tags) for words, tags in WORDS]
MANY = [([f"w{i}", "and", f"w{i % 7}"], [f"L{i}", "C", f"L{i % 7}"]) for i in range(110)] * 2
EDGES = "word[0]\nsuffix(word, 2)\nsubstrings(word, 2)\nword[-1] & pos[0]\nlabel[-1]\nlabel[-1] & pos[0]\nbias\n"
FIXED: dict[str, Any] = {"epochs": 3, "rate": 0.1, "strength": 1.0, "tolerance": 0.0}
SMALL: dict[str, Any] = {"word_size": 4, "column_size": 3, "hidden": 4, "char_size": 3, "feature_size": 3}


def chunker(**more: Any) -> Model:
    """Return a model with all that a linear model may have: edge features, constraints, bias, a temperature."""
    (HERE / "edges.txt").write_text(EDGES)
    try:
        model = sapo.train(CHUNKS, template=HERE / "edges.txt", **{**FIXED, **more}).model
    finally:
        (HERE / "edges.txt").unlink()
    return dataclasses.replace(model.with_bias("O", -0.5), temperature=1.5)


def network(path: Path) -> None:
    """Save a network that reads words, columns, characters and features."""
    more = {**SMALL, "chars": "cnn", "features": True}
    save_model(sapo.train(CHUNKS, template="chunking", learner="bilstm-sapo", epochs=2, rate=0.02, **more).model, path)


MODELS: dict[str, Callable[[Path], None]] = {
    "templates-2.sapo": lambda path: save_model(chunker(), path),
    "templates-half-2.sapo": lambda path: save_model(chunker(), path, half=True),
    "features-2.sapo": lambda path: save_model(sapo.train(READY, **FIXED).model, path),
    "many-labels-2.sapo": lambda path: save_model(sapo.train(MANY, template="pos", **FIXED).model, path),
    "network-2.sapo": network,
}


def questions(tagger: sapo.Tagger) -> list[list[Any]]:
    """Return the sentences that a model of this kind can tag."""
    if not tagger.columns:
        return [READY[0][0], [{"word": "A", "length": 1}, {"word": "new", "length": 3}]]
    if len(tagger.columns) > 1:
        return [CHUNKS[0][0], [("A", "DT"), ("new", "JJ"), ("hen", "NN"), ("sings", "VBZ")]]
    return [MANY[5][0], ["w3", "and", "unknown"]]


def answers(tagger: sapo.Tagger) -> list[dict[str, Any]]:
    """Return what a model says: tags, the three best taggings, and the probabilities of tags."""
    found = []
    for sentence in questions(tagger):
        best = [[list(one.tags), round(one.score, 3)] for one in tagger.nbest(sentence, 3)]
        marginals = [round(max(token.values()), 3) for token in tagger.marginals(sentence)]
        found.append({"tags": tagger.tag(sentence), "nbest": best, "marginals": marginals})
    return found


if __name__ == "__main__":
    known = json.loads((HERE / "answers.json").read_bytes()) if (HERE / "answers.json").exists() else {}
    for name, make in MODELS.items():
        if not (HERE / name).exists():
            make(HERE / name)
            known[name] = answers(sapo.Tagger.load(HERE / name))
            print(f"made {name}, {(HERE / name).stat().st_size:,} bytes")
    (HERE / "answers.json").write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
