"""CoNLL-U: lines that get lost, doubled or broken on the way."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sapo.corpus.annotations import Annotation, RankedTagging
from sapo.corpus.blocks import Sentence
from sapo.corpus.conllu import write, write_sentence
from sapo.corpus.conversion import Source, Target, convert
from sapo.corpus.formats import read, read_blocks
from sapo.errors import SapoError

MakeFile = Callable[[bytes | str, str], Path]
TagWithGold = Callable[..., bytes]


def row(number: str, word: str, feats: str = "_") -> str:
    return f"{number}\t{word}\t_\tX\t_\t{feats}\t_\t_\t_\t_\n"


TWO = "# text = a\n" + row("1", "a") + "\n# text = b\n" + row("1", "b") + "\n"


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace("\n", "\r\n"),
        TWO.replace("\n\n", "\n \n"),
        TWO.replace("\n\n", "\n\t\n"),
    ],
    ids=["CRLF", "blank", "TAB"],
)
def test_a_sentence_keeps_its_own_lines_only_however_its_empty_line_is_written(make_file: MakeFile, text: str) -> None:
    # whole.find(b"\n\n") finds no end of the sentence, so every later line becomes a note of the first sentence
    first, second = read(make_file(text, "a.conllu"))
    assert first.notes == ((0, "# text = a"),)
    assert second.notes == ((0, "# text = b"),)


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_a_comment_is_one_line_whatever_it_holds(make_file: MakeFile, character: str) -> None:
    # str.splitlines breaks at these, the scanner does not
    text = f"# text = a{character}b\n" + row("1", "a") + "\n"
    source, target = make_file(text, "a.conllu"), make_file("", "b.conllu")
    convert(Source(source), Target(target))
    assert target.read_bytes() == source.read_bytes()


def test_an_empty_node_behind_the_last_word_stays_with_its_sentence_in_n_best_output(make_file: MakeFile) -> None:
    # a sentence must not end at its last word and lets the next sentence begin there
    first = row("1", "a") + row("1.1", "x") + "\n"
    second = "# text = b\n" + row("1", "b") + "\n"
    (block,) = read_blocks(make_file(first + second, "a.conllu"))
    one = RankedTagging(np.zeros(1, np.int32), 1.0, 1.0)
    head = "# tagging = 1\n# probability = 1.000000\n# p_k = 1.000000\n# top_n_mass = 1.000000\n"
    assert (
        b"".join(write(block, Annotation(None, ["X"], taggings=[[one], [one]]))).decode()
        == head + first + head + second
    )


@pytest.mark.parametrize("feats", ["Number=Sing|Case=Nom", "Foo|Number=Sing", "Foo", "case=Nom|Abc=1|Number=Sing"])
def test_tagging_with_the_own_value_leaves_even_unusual_feats_alone(
    make_file: MakeFile, tag_with_gold: TagWithGold, feats: str
) -> None:
    # the pairs are sorted anew and what is no pair is dropped, though the value did not change
    text = row("1", "a", feats) + "\n"
    assert tag_with_gold(make_file(text, "a.conllu"), label="Number").decode() == text


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "\n", "a\rb", ""])
def test_a_word_or_tag_that_cannot_stand_in_conllu_is_refused(word: str) -> None:
    # column files refuse them; here the line breaks in two, or the empty word becomes '_'
    for sentence in (Sentence({"word": (word,)}, ("X",)), Sentence({"word": ("a",)}, (word,))):
        with pytest.raises(SapoError):
            write_sentence(sentence)


def test_running_text_with_a_line_break_gives_readable_conllu(make_file: MakeFile) -> None:
    source, target = make_file('{"text": "a\\nb", "spans": []}', "a.jsonl"), make_file("", "a.conllu")
    convert(Source(source), Target(target))
    assert [sentence.words for sentence in read(target)] == [("a", "b")]


@pytest.mark.parametrize("tag", ["A|B", "A|Case=Nom", "|"])
def test_a_tag_that_would_break_feats_is_refused_or_survives(make_file: MakeFile, tag: str) -> None:
    source, target = make_file(f"a {tag}\n", "a.txt"), make_file("", "a.conllu")
    try:
        convert(Source(source), Target(target, into="Chunk"))
    except SapoError:
        return
    assert [sentence.tags for sentence in read(target, label="Chunk")] == [(tag,)]


@pytest.mark.parametrize("into", ["number", "a b", "X=Y", "-1", "word", "id"])
def test_a_place_that_cannot_hold_a_label_is_told_before_anything_is_written(make_file: MakeFile, into: str) -> None:
    # reading refuses these labels, except word and id; writing puts 'number=X' into FEATS or loses the tag
    source = make_file("a X\n", "a.txt")
    with pytest.raises(SapoError):
        convert(Source(source), Target(source.with_name("a.conllu"), into=into))
