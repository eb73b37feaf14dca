"""SapoLayer on top of an encoder of Hugging Face's transformers: fine-tune it as a tagger.

    pip install '.[neural]' transformers
    python examples/transformers_head.py                       # a tiny encoder with random weights, nothing is loaded
    python examples/transformers_head.py --encoder DIRECTORY   # one that you have, with its tokenizer

DIRECTORY is what `AutoModel.save_pretrained` and `AutoTokenizer.save_pretrained` wrote; where there is a network, the
name of a model does as well. It must have a fast tokenizer, which tells the word of each piece. The data are some
sentences of the sample that comes with sapo; put your own in their place. For a real model train for more epochs, with
a rate of about 3e-5, and the last layer with one a hundred times as large, as here.
"""

import argparse
import itertools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

import sapo
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.neural import Ranked, SapoLayer, SoftmaxLayer

Pieces = tuple[Tensor, Tensor, Tensor]  # input_ids, attention_mask, and which pieces begin a word


class SapoTagger(nn.Module):
    """Any encoder that is called as encoder(input_ids, attention_mask) and answers with `last_hidden_state`.

    A word is tagged by its first piece. The other pieces, and those that mark the ends of a sentence, are left out
    before the last layer sees them: transitions are from word to word.
    """

    def __init__(self, encoder: nn.Module, hidden: int, labels: int, n: int = 5) -> None:
        super().__init__()
        self.encoder = encoder
        self.linear = nn.Linear(hidden, labels)
        self.layer = SapoLayer(labels, n=n, reduction="mean")
        self.tokens = SoftmaxLayer(
            labels, reduction="mean"
        )  # a little of its loss holds the scores up: docs/how-to/neural.md

    def emissions(self, input_ids: Tensor, attention_mask: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """[B, words, L], and the mask of the words."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        words = first.sum(1)
        mask = torch.arange(int(words.max()), device=words.device) < words.unsqueeze(1)
        emissions = hidden.new_zeros((*mask.shape, self.linear.out_features))
        emissions[mask] = self.linear(hidden[first])  # both run through the words in the same order
        return emissions, mask

    def forward(self, input_ids: Tensor, attention_mask: Tensor, first: Tensor, tags: Tensor) -> Tensor:
        """The loss; tags int64[B, words]."""
        emissions, mask = self.emissions(input_ids, attention_mask, first)
        return self.layer(emissions, tags, mask) + 0.1 * self.tokens(emissions, tags, mask)

    @torch.no_grad()
    def tag(self, input_ids: Tensor, attention_mask: Tensor, first: Tensor) -> list[list[int]]:
        """The tags of each sentence."""
        self.eval()
        return self.layer.decode(*self.emissions(input_ids, attention_mask, first))

    @torch.no_grad()
    def nbest(self, input_ids: Tensor, attention_mask: Tensor, first: Tensor, n: int = 5) -> list[list[Ranked]]:
        """The n best taggings of each sentence, with their probabilities."""
        self.eval()
        return self.layer.nbest(*self.emissions(input_ids, attention_mask, first), n)


def pieces_of(tokenizer: Any, sentences: Sequence[Sequence[str]]) -> Pieces:
    """By a fast tokenizer of transformers."""
    found = tokenizer([list(words) for words in sentences], is_split_into_words=True, padding=True, return_tensors="pt")
    first = torch.zeros_like(found["input_ids"], dtype=torch.bool)
    for row in range(len(sentences)):
        seen = -1
        for place, word in enumerate(found.word_ids(row)):
            if word is not None and word != seen:
                first[row, place], seen = True, word
        if int(first[row].sum()) != len(sentences[row]):
            raise SystemExit(f"sentence {row}: the tokenizer leaves a word without a piece: {' '.join(sentences[row])}")
    return found["input_ids"], found["attention_mask"], first


def toy_tokenizer(vocabulary: int = 2000) -> Any:
    """Stands in where nothing may be loaded: a word is cut into pieces of four letters, numbered by their bytes."""

    def number(piece: str) -> int:
        return 2 + int.from_bytes(piece.encode(), "big") % (vocabulary - 2)

    def call(sentences: Sequence[Sequence[str]], **_: Any) -> Any:
        rows = [
            [(1, None), *((number(word[i : i + 4]), w) for w, word in enumerate(words) for i in range(0, len(word), 4))]
            for words in sentences
        ]
        longest = max(map(len, rows))
        padded = [[*row, *[(0, None)] * (longest - len(row))] for row in rows]
        ids = torch.tensor([[piece for piece, _ in row] for row in padded])
        found = Answer(input_ids=ids, attention_mask=(ids > 0).long())
        found.words = [[word for _, word in row] for row in padded]
        return found

    return call


class Answer(dict[str, Any]):
    """What a tokenizer of transformers gives back."""

    words: list[list[int | None]]

    def word_ids(self, row: int) -> list[int | None]:
        return self.words[row]


def load(path: str | None) -> tuple[nn.Module, int, Any]:
    """An encoder, its width and its tokenizer."""
    from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

    if path is not None:
        encoder = AutoModel.from_pretrained(path)
        return encoder, encoder.config.hidden_size, AutoTokenizer.from_pretrained(path)
    size = SimpleNamespace(vocabulary=2000, hidden=64)
    config = BertConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.hidden,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
    )
    return BertModel(config, add_pooling_layer=False), size.hidden, toy_tokenizer(size.vocabulary)


def fine_tune(
    model: SapoTagger, tokenizer: Any, pairs: Sequence[tuple[Sequence[str], list[int]]], *, epochs: int, rate: float
) -> list[float]:
    """The mean loss of each pass."""
    last = [*model.linear.parameters(), *model.layer.parameters()]
    adam = torch.optim.AdamW([{"params": model.encoder.parameters()}, {"params": last, "lr": 100 * rate}], lr=rate)
    losses = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for begin in range(0, len(pairs), 8):
            batch = pairs[begin : begin + 8]
            tags = nn.utils.rnn.pad_sequence([torch.tensor(tags) for _, tags in batch], batch_first=True)
            loss = model(*pieces_of(tokenizer, [words for words, _ in batch]), tags)
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            total += loss.item() * len(batch)
        losses.append(total / len(pairs))
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description="SapoLayer on top of an encoder of transformers")
    parser.add_argument("--encoder", help="the directory of a model; without it a tiny one with random weights")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rate", type=float, help="of the encoder; default: 3e-5, and 3e-4 without --encoder")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    sentences = list(itertools.islice(sapo.read(sample_path("train"), columns=COLUMNS, label="chunk"), 200))
    labels = sorted({tag for sentence in sentences for tag in sentence.tags or ()})
    pairs = [(sentence.words, [labels.index(tag) for tag in sentence.tags or ()]) for sentence in sentences]
    encoder, hidden, tokenizer = load(chosen.encoder)
    model = SapoTagger(encoder, hidden, len(labels))
    rate = chosen.rate or (3e-5 if chosen.encoder else 3e-4)
    for epoch, loss in enumerate(fine_tune(model, tokenizer, pairs, epochs=chosen.epochs, rate=rate), 1):
        print(f"pass {epoch}: loss {loss:.3f}")
    found = model.tag(*pieces_of(tokenizer, [words for words, _ in pairs]))
    right = sum(a == b for tags, (_, gold) in zip(found, pairs, strict=True) for a, b in zip(tags, gold, strict=True))
    print(f"accuracy on the training sentences: {100 * right / sum(len(gold) for _, gold in pairs):.1f} %")
    words = pairs[0][0]
    for one in model.nbest(*pieces_of(tokenizer, [words]), 3)[0]:
        print(f"{one.p_k:.3f}", *(f"{word}/{labels[tag]}" for word, tag in zip(words, one.tags, strict=True)))


if __name__ == "__main__":
    main()
