"""The BioNLP corpora in, the same with the columns word, pos, chunk and label out.

JNLPBA has words and entities only; the paper's features look at parts of speech and chunks, too.
"""

from pathlib import Path

from sapo.errors import SapoError

FILES = ("train.txt", "test.txt")


def tagged_corpora(source: Path, cache: Path) -> tuple[Path, Path]:
    """The training and the test file with all columns, which are kept in `cache`; `source` is SAPO_DATA."""
    for name in FILES:
        if not (cache / name).is_file():
            raise SapoError(
                f"{cache / name}: no such file; bioner needs {source / 'jnlpba'} with four columns, "
                "word, pos, chunk and label"
            )
    train, test = (cache / name for name in FILES)
    return train, test
