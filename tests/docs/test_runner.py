"""The runner of the pages notices what is wrong."""

from pathlib import Path

import pytest

from doc_pages import Page, comparable, read_blocks


def block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


def outputs(text: str, room: Path) -> list[tuple[list[str], list[str]]]:
    return [(comparable(printed), comparable(shown)) for _, printed, shown in Page(text, room).run()]


def test_an_output_that_differs_is_seen(tmp_path: Path) -> None:
    page = block("python", "word = 'cat'\nprint(word, 0.5)") + "It prints\n\n"
    assert outputs(page + block("text", "cat 0.4"), tmp_path) == [(["cat #"], ["cat #"])]
    ((printed, shown),) = outputs(page + block("text", "dog 0.5"), tmp_path)
    assert printed != shown


def test_blocks_share_variables_and_files(tmp_path: Path) -> None:
    page = block("sh", "echo cat > a.txt") + block("python", "text = open('a.txt').read()") + block("sh", "cat a.txt")
    page += block("python", "print(text)") + block("text", "cat")
    assert outputs(page, tmp_path) == [(["cat"], ["cat"])]


@pytest.mark.parametrize("command", ["false", "sapo tag no-such-model.sapo x.txt", "sapo no-such-command"])
def test_a_command_that_fails_is_an_error(command: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        outputs(block("sh", command), tmp_path)


def test_a_code_that_a_page_announces_is_not_an_error(tmp_path: Path) -> None:
    assert outputs("<!-- exits: 1 -->\n" + block("sh", "false"), tmp_path) == []


def test_what_is_not_to_be_run_is_not(tmp_path: Path) -> None:
    text = "<!-- not run: downloads -->\n" + block("sh", "touch a.txt")
    assert outputs(text, tmp_path) == []
    assert not (tmp_path / "a.txt").exists()
    assert read_blocks(text)[0].comments == {"not run": "downloads"}


def test_hidden_commands_run_first(tmp_path: Path) -> None:
    page = block("sh", "cat a.txt") + block("text", "cat") + "<!-- before: echo cat > a.txt -->\n"
    assert outputs(page, tmp_path) == [(["cat"], ["cat"])]
