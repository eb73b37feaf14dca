"""A small model, its file, and a way to change what is in the file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.features.building import build_encoder
from sapo.features.strings import StringTable
from sapo.features.template import parse_templates
from sapo.search.lattice import Parameters
from sapo.tagger.arrayfile import load_arrays, save_arrays
from sapo.tagger.file import save_model
from sapo.tagger.model import Model

TEMPLATE = "word[-1]\nword[0] & word[1]\nsuffix(word, 2)\nsubstrings(word, 2)\nlabel[-1]\n"


@pytest.fixture(scope="session")
def model() -> Model:
    """Two sentences, four templates, weights that are no round numbers."""
    sentences = [
        Sentence({"word": ("the", "old", "hen", "sings")}, ("D", "A", "N", "V")),
        Sentence({"word": ("größte", "Müh")}, ("A", "N")),
    ]
    labels = StringTable()
    encoder, _ = build_encoder([block_from_sentences(sentences)], parse_templates(TEMPLATE, ("word", "label")), labels)
    rng = np.random.default_rng(1)
    count = len(labels)
    return Model(
        tuple(labels.strings()),
        encoder,
        Parameters.plain(
            rng.normal(size=(encoder.features, count)).astype(np.float32),
            rng.normal(size=(count, count)).astype(np.float32),
        ),
        {"format": "columns", "columns": ["word", "label"]},
        {},
    )


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    save_model(model, tmp_path / "small.sapo")
    return tmp_path / "small.sapo"


@pytest.fixture
def change(path: Path) -> Callable[..., Path]:
    """Write the file again with other parts and a checksum that fits them."""

    def make(arrays: Mapping[str, Any] | None = None, **header: Any) -> Path:
        old_header, old_arrays = load_arrays(path, "a file")
        changed = path.with_name("changed.sapo")
        new_arrays = {name: array for name, array in {**old_arrays, **(arrays or {})}.items() if array is not None}
        save_arrays(changed, {**old_header, **header}, new_arrays)
        return changed

    return make
