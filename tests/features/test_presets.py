"""The template files that come with the package, and those of the user."""

from pathlib import Path

import pytest

from sapo.errors import SapoError
from sapo.features.template import PRESETS, parse_templates, template_text


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_parses_and_learns_transitions(name: str) -> None:
    text, source = template_text(name)
    parsed = parse_templates(text, ("word", "pos", "chunk", "label"), source)
    assert parsed.transitions
    assert len(parsed.templates) > 10
    assert source == f"preset {name}"


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("pos", ("word",)),
        ("pos-paper", ("word",)),
        ("pos-best", ("word",)),
        ("ner", ("word",)),
        ("ner+pos", ("word", "pos")),
        ("chunking", ("word", "pos")),
        ("chunking-best", ("word", "pos")),
        ("bioner", ("word", "pos", "chunk")),
        ("bioner-best", ("word", "pos", "chunk")),
    ],
)
def test_a_preset_needs_only_the_columns_of_its_task(name: str, columns: tuple[str, ...]) -> None:
    assert parse_templates(template_text(name)[0], (*columns, "label")).columns == columns


def test_columns_can_be_added_to_a_preset() -> None:
    text, source = template_text("pos-best+pos+c2")
    plain, added = (
        parse_templates(some, ("word", "pos", "mine", "label")) for some in (template_text("pos-best")[0], text)
    )
    assert source == "preset pos-best+pos+c2"
    new = added.templates[len(plain.templates) :]
    assert [str(template) for template in new] == [f"{column}[{at}]" for column in ("pos", "mine") for at in (-1, 0, 1)]
    assert added.transitions
    with pytest.raises(SapoError, match=r"^preset ner\+pso:\d+: 'pso\[-1\]' uses the column 'pso', which is not there"):
        parse_templates(template_text("ner+pso")[0], ("word", "pos", "label"), template_text("ner+pso")[1])
    with pytest.raises(SapoError, match=r"no template 'mine.txt\+pos': neither a file nor a preset"):
        template_text("mine.txt+pos")


def test_a_file_whose_name_has_a_plus_is_a_template_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ner+pos").write_text("word[0]\n")
    assert template_text("ner+pos")[0] == "word[0]\n"


def test_a_preset_complains_with_its_name_about_a_missing_column() -> None:
    text, source = template_text("chunking")
    with pytest.raises(SapoError, match=r"^preset chunking:\d+: 'pos\[-2\]' uses the column 'pos', which is not there"):
        parse_templates(text, ("word", "label"), source)


def test_a_template_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text("word[0]  # größer\n", encoding)
        assert template_text(path) == ("word[0]  # größer\n", str(path))


def test_an_unknown_name_is_told_with_the_closest_preset(tmp_path: Path) -> None:
    with pytest.raises(SapoError, match=r"'chunkin': neither a file nor a preset; did you mean 'chunking'\?"):
        template_text("chunkin")
    with pytest.raises(SapoError, match="neither a file nor a preset"):
        template_text(tmp_path)


def test_what_is_no_template_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(b"word[0] # gr\xf6\xdfer")
    with pytest.raises(SapoError, match=r"mine\.txt: not a template file \(not UTF-8\)"):
        template_text(path)
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(SapoError, match=r"mine\.txt: 1,048,577 bytes of templates are more than 1,048,576"):
        template_text(path)
