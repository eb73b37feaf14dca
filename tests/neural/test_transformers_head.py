"""The example for transformers: with a stand-in for the encoder everywhere, with a real one where it is installed."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

PATH = Path(__file__).parents[2] / "examples" / "transformers_head.py"
PAIRS = [(("sleeping", "cats"), [1, 0]), (("cats", "and", "dogs"), [0, 2, 0]), (("dogs",), [0])]


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("transformers_head", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class StandIn(torch.nn.Module):
    """Called and answering like an encoder of transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(2000, 8)

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        return SimpleNamespace(last_hidden_state=self.table(input_ids) * attention_mask.unsqueeze(2))


def test_a_word_is_tagged_by_its_first_piece(example: Any) -> None:
    ids, mask, first = example.pieces_of(example.toy_tokenizer(), [words for words, _ in PAIRS])
    assert ids.shape == (3, 4)
    assert mask.sum(1).tolist() == [4, 4, 2]  # a mark of the start; 'sleeping' has two pieces
    assert first.nonzero().tolist() == [[0, 1], [0, 3], [1, 1], [1, 2], [1, 3], [2, 1]]


def test_a_batch_is_its_sentences_one_by_one(example: Any) -> None:
    torch.manual_seed(0)
    model = example.SapoTagger(StandIn(), 8, 3, n=2)
    tokenizer = example.toy_tokenizer()
    together = model.tag(*example.pieces_of(tokenizer, [words for words, _ in PAIRS]))
    alone = [model.tag(*example.pieces_of(tokenizer, [words]))[0] for words, _ in PAIRS]
    assert together == alone
    assert [len(tags) for tags in together] == [2, 3, 1]


def test_the_head_learns_with_a_stand_in(example: Any) -> None:
    torch.manual_seed(0)
    model = example.SapoTagger(StandIn(), 8, 3, n=2)
    losses = example.fine_tune(model, example.toy_tokenizer(), PAIRS, epochs=60, rate=1e-3)
    assert losses[-1] < losses[0] / 3
    found = model.tag(*example.pieces_of(example.toy_tokenizer(), [words for words, _ in PAIRS]))
    assert found == [tags for _, tags in PAIRS]


def test_the_head_learns_with_an_encoder_of_transformers(example: Any) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    encoder, hidden, tokenizer = example.load(None)
    model = example.SapoTagger(encoder, hidden, 3)
    losses = example.fine_tune(model, tokenizer, PAIRS, epochs=15, rate=3e-4)
    assert losses[-1] < losses[0] / 2
