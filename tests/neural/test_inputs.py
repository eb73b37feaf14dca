"""What a network reads: numbers of words, spellings, characters, columns and features."""

import numpy as np

from sapo.corpus.blocks import Sentence, block_from_sentences
from sapo.neural.inputs import Inputs, Vocabulary, read_all


def block(*sentences: list[tuple[str, str]]) -> object:
    return block_from_sentences(
        Sentence({"word": tuple(word for word, _ in one), "pos": tuple(pos for _, pos in one)}) for one in sentences
    )


TRAINING = block([("The", "DT"), ("cat", "NN")], [("the", "DT"), ("27", "CD")])


def read(*sentences: list[tuple[str, str]]) -> Inputs:
    vocabulary = Vocabulary.of_blocks([TRAINING], ["pos", "word"], vectors=["Dog"])
    return vocabulary.session().read(block(*sentences))


def test_words_are_known_by_their_small_letters_and_with_any_digits() -> None:
    inputs = read([("THE", "DT"), ("31", "CD"), ("dog", "NN"), ("emu", "NN")])
    assert inputs.words.tolist() == [1, 3, 4, 0]
    assert inputs.capitals.tolist() == [2, 4, 0, 0]


def test_what_was_never_seen_is_number_0() -> None:
    inputs = read([("cat", "XX"), ("tux", "NN")])
    assert inputs.columns[:, 0].tolist() == [0, 2]
    first, second = (
        inputs.chars[a:b].tolist() for a, b in zip(inputs.char_offsets, inputs.char_offsets[1:], strict=False)
    )
    assert all(first)
    assert second[1:] == [0, 0]


def test_blocks_that_are_read_together_are_those_read_one_by_one() -> None:
    vocabulary = Vocabulary.of_blocks([TRAINING], ["word", "pos"])
    other = block([("a", "DT")], [], [("cat", "NN")])
    together = read_all(vocabulary, [TRAINING, other])
    assert together.offsets.tolist() == [0, 2, 4, 5, 5, 6]
    alone = [vocabulary.session().read(one) for one in (TRAINING, other)]
    np.testing.assert_array_equal(together.words, np.concatenate([one.words for one in alone]))
    spelled = [
        together.chars[together.char_offsets[form] : together.char_offsets[form + 1]].tolist()
        for form in together.forms.tolist()
    ]
    assert spelled[1] == spelled[5]
    assert len(spelled[4]) == 1


def test_a_reader_that_remembers_little_reads_the_same() -> None:
    vocabulary = Vocabulary.of_blocks([TRAINING], ["word", "pos"])
    forgetful, reader = vocabulary.session(1), vocabulary.session()
    for _ in range(3):
        mine, other = forgetful.read(TRAINING), reader.read(TRAINING)
        np.testing.assert_array_equal(mine.words, other.words)
        np.testing.assert_array_equal(mine.forms, other.forms)
