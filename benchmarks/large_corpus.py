"""Make a large labeled corpus: real text, tagged by a model, and repeated with changed words.

    SAPO_DATA=DIRECTORY python benchmarks/large_corpus.py OUT.txt [--tokens 100000000] [--seed 0]

The English and biomedical text of `unlabeled` is tagged with the parts of speech of UD English EWT by a model that is
trained here. Then the text is written again and again, each time in another order of sentences and with other rare
words, so that the vocabulary grows as in real text: with N tokens there are about as many different words as N to the
power of HEAPS (Heaps' law). A changed word keeps its case, its length and its last letters, so that its tag still suits
it. The script prints how the vocabulary grew.
"""

import argparse
import gzip
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sapo
from sapo.corpus.blocks import LABEL
from sapo.corpus.formats import read_blocks
from sapo.features.strings import StringTable

HEAPS = 0.57  # of English text it is between 0.4 and 0.7
FREQUENT = 2000  # words that never change
ENDING = 3  # letters of a word that stay
FILES = ("english.txt.gz", "biomedical.txt.gz")
AT_ONCE = 2000  # sentences
VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnprstvwz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = Path(os.environ["SAPO_DATA"])
    words, tags, ids, pairs, offsets = tagged_text(data, options.tokens)
    print(f"{len(offsets) - 1:,} sentences, {int(offsets[-1]):,} tokens, {len(words):,} words", flush=True)
    known: set[str] = set(words)
    with options.out.open("wb") as stream:
        written = 0
        for copy in range(1, math.ceil(options.tokens / int(offsets[-1])) + 1):
            rng = np.random.default_rng([options.seed, copy])
            forms = words if copy == 1 else changed(words, ids, rng, copy)
            lines = [f"{forms[word]} {tags[tag]}\n".encode() for word, tag in pairs]
            order = rng.permutation(len(offsets) - 1)
            for some in np.array_split(order, max(1, len(order) // AT_ONCE)):
                if written >= options.tokens:
                    break
                sentences = [ids[offsets[i] : offsets[i + 1]].tolist() for i in some.tolist()]
                stream.write(b"\n".join(b"".join(map(lines.__getitem__, sentence)) for sentence in sentences) + b"\n")
                written += sum(map(len, sentences))
            known.update(forms)
            growth = math.log(len(known) / len(words)) / math.log(copy) if copy > 1 else HEAPS
            print(f"{written:,} tokens, {len(known):,} words (exponent {growth:.2f})", flush=True)


def tagged_text(data: Path, most: int) -> tuple[list[str], list[str], np.ndarray, list[tuple[int, int]], np.ndarray]:
    """Return the words, the tags, the text as numbers of pairs of a word and a tag, the pairs, and where it is cut."""
    words, tags = StringTable(), StringTable()
    word_ids, tag_ids, sizes = [], [], [np.zeros(1, np.int64)]
    with tempfile.TemporaryDirectory() as directory:
        model, text, tagged = (str(Path(directory) / name) for name in ("model", "words.txt", "tagged.txt"))
        train = str(data / "ud-ewt" / "train.conllu.gz")
        sapo.train(train, label="upos", template="pos", rate=0.2, strength=0.3, epochs=8).save(model)
        write_words(data / "unlabelled", Path(text), most)
        subprocess.run(
            [sys.executable, "-m", "sapo", "tag", model, text, "-o", tagged, "--format", "columns"], check=True
        )
        for block in read_blocks(tagged, format="columns"):
            word_ids.append(words.add_fields(*block.column("word")))
            tag_ids.append(tags.add_fields(*block.column(LABEL)))
            sizes.append(np.diff(block.offsets))
    both = np.concatenate(word_ids).astype(np.int64) * len(tags) + np.concatenate(tag_ids)
    codes, ids = np.unique(both, return_inverse=True)
    pairs = [(code // len(tags), code % len(tags)) for code in codes.tolist()]
    return words.strings(), tags.strings(), ids.astype(np.int32), pairs, np.cumsum(np.concatenate(sizes))


def write_words(directory: Path, path: Path, most: int) -> None:
    """Write the text with a word in each line, and an empty line after each sentence."""
    read = 0
    with path.open("wb") as out:
        for name in FILES:
            with gzip.open(directory / name, "rb") as stream:
                for line in stream:
                    if read >= most:
                        return
                    read += line.count(b" ") + 1
                    out.write(line.replace(b" ", b"\n") + b"\n")


def changed(words: list[str], ids: np.ndarray, rng: np.random.Generator, copy: int) -> list[str]:
    """Return the words of a copy: so many of the rare ones are new that the vocabulary grows by Heaps' law."""
    share = copy**HEAPS - (copy - 1) ** HEAPS
    wanted = rng.random(len(words)) < share * len(words) / max(1, len(words) - FREQUENT)
    forms = list(words)
    for number in np.flatnonzero(wanted).tolist():
        if number >= FREQUENT:  # the first words of a text are its frequent ones
            forms[number] = new_form(words[number], rng)
    return forms


def new_form(word: str, rng: np.random.Generator) -> str:
    """Return a word of the same length, case and ending; short ones, and those without letters, get a digit or two."""
    stem = max(0, len(word) - ENDING)
    letters = [i for i in range(stem) if word[i].isalpha() and word[i].isascii()]
    if len(letters) < 2:
        return f"{word}{int(rng.integers(10, 1000))}"
    made = list(word)
    for i in letters:
        pool = VOWELS if word[i].lower() in VOWELS else CONSONANTS
        letter = pool[int(rng.integers(len(pool)))]
        made[i] = letter.upper() if word[i].isupper() else letter
    return "".join(made)


if __name__ == "__main__":
    main()
