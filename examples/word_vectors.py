"""Word vectors from text of your own, for `sapo train --vectors FILE`: skip-grams of word2vec, by gensim.

    pip install '.[neural]' gensim
    python examples/word_vectors.py train.txt more.conllu -o vectors.txt
    sapo train train.txt --learner bilstm-sapo --vectors vectors.txt -o model.sapo

All formats that sapo reads will do; tags are not looked at, so text without tags helps as much. Words are written as
the networks of sapo look them up: in small letters, every digit a 0. A name that ends in .bin gives word2vec's binary
form. With PYTHONHASHSEED=0 the same text gives the same vectors.
"""

import argparse
from pathlib import Path

from gensim.models import Word2Vec

import sapo.corpus
from sapo.neural.inputs import plain_word


def sentences_of(paths: list[str]) -> list[list[str]]:
    return [[plain_word(word) for word in sentence.words] for path in paths for sentence in sapo.corpus.read(path)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", metavar="TEXT")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--size", type=int, default=50, help="numbers in a vector")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    model = Word2Vec(
        sentences_of(given.texts),
        vector_size=given.size,
        sg=1,
        window=5,
        min_count=2,
        epochs=given.passes,
        seed=given.seed,
        workers=1,  # with more, no two runs give the same
    )
    model.wv.save_word2vec_format(given.output, binary=Path(given.output).suffix == ".bin")
    print(f"{len(model.wv):,} vectors in {given.output}")


if __name__ == "__main__":
    main()
