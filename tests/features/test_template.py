"""The template language: what it can say, that it can be written and read again, and how it complains."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapo.errors import SapoError
from sapo.features.template import Atom, Template, TemplateSet, parse_templates
from sapo.features.words import WORD_FUNCTIONS, ColumnView

COLUMNS = ("word", "pos", "label")


def parse(text: str, columns: tuple[str, ...] = COLUMNS) -> TemplateSet:
    return parse_templates(text, columns, "some.txt")


def one(line: str) -> Template:
    (template,) = parse(line).templates
    return template


def atom(column: str, offset: int = 0, *functions: tuple[str, int | None]) -> Atom:
    return Atom(ColumnView(column, functions), offset)


@pytest.mark.parametrize(
    ("line", "atoms"),
    [
        ("word[0]", [atom("word")]),
        ("word", [atom("word")]),
        ("  word [ +2 ]  # a remark", [atom("word", 2)]),
        ("word[-1] & word[0]", [atom("word", -1), atom("word")]),
        ("word[-1]&pos[0]&pos[50]", [atom("word", -1), atom("pos"), atom("pos", 50)]),
        ("suffix(word, 3)", [atom("word", 0, ("suffix", 3))]),
        ("shape(word[1]) & pos[1]", [atom("word", 1, ("shape", None)), atom("pos", 1)]),
        ("suffix(lower(word), 2)", [atom("word", 0, ("lower", None), ("suffix", 2))]),
        ("substrings(word[-50], 100)", [atom("word", -50, ("substrings", 100))]),
        ("c0 & c1[-2]", [atom("word"), atom("pos", -2)]),
        ("bias", []),
    ],
)
def test_a_line_says_what_its_atoms_are(line: str, atoms: list[Atom]) -> None:
    assert one(line) == Template(tuple(atoms))


def test_the_example_of_the_documentation_parses() -> None:
    text = """
    # one template a line; a line makes one feature at each token
    word[0]
    word[-1] & word[0]
    suffix(word, 3)
    shape(word[1]) & pos[1]
    suffix(lower(word), 2)
    label[-1]
    bias
    """
    parsed = parse(text)
    assert parsed.transitions
    assert list(map(str, parsed.templates)) == [
        "word[0]",
        "word[-1] & word[0]",
        "suffix(word[0], 3)",
        "shape(word[1]) & pos[1]",
        "suffix(lower(word[0]), 2)",
        "bias",
    ]


def test_without_label_there_are_no_transitions() -> None:
    assert not parse("word").transitions
    assert parse("word\n label [ -1 ] ").transitions


def test_the_same_line_twice_is_one_template() -> None:
    assert len(parse("word\nword[0]\nc0[0]").templates) == 1


def test_only_the_columns_that_are_looked_at_are_needed() -> None:
    assert parse("pos[1]").columns == ("pos",)
    assert parse("pos\nword").columns == ("word", "pos")
    assert parse("bias").columns == ()


def test_a_column_called_c1_is_found_by_its_name_first() -> None:
    (template,) = parse("c1", ("c1", "tail", "label")).templates
    assert template.atoms == (atom("c1"),)


PLAIN = [name for name, function in WORD_FUNCTIONS.items() if not function.many]
MANY = [name for name, function in WORD_FUNCTIONS.items() if function.many]


@st.composite
def functions(draw: st.DrawFn, names: list[str]) -> tuple[str, int | str | None]:
    name = draw(st.sampled_from(names))
    function = WORD_FUNCTIONS[name]
    if function.regex:
        return name, draw(st.sampled_from(["^.?", r"\d*$", r"\p\\\""]))
    return name, draw(st.integers(1, 100)) if function.number else None


@st.composite
def atoms(draw: st.DrawFn, *, many: bool) -> Atom:
    inner = draw(st.lists(functions(PLAIN), max_size=3))
    outer = [draw(functions(MANY))] if many else []
    return atom(draw(st.sampled_from(["word", "pos"])), draw(st.integers(-50, 50)), *inner, *outer)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    size = draw(st.integers(0, 4))
    many_at = draw(st.integers(0, 8))
    return Template(tuple(draw(atoms(many=i == many_at)) for i in range(size)))


@settings(deadline=None, max_examples=100)
@given(st.lists(templates(), min_size=1, max_size=6, unique=True), st.booleans())
def test_templates_that_are_written_out_are_read_as_the_same(written: list[Template], transitions: bool) -> None:
    text = "\n".join([*map(str, written), *["label[-1]"] * transitions])
    parsed = parse(text)
    assert parsed.templates == tuple(written)
    assert parsed.transitions == transitions
    assert parse(parsed.text) == parsed


@settings(deadline=None, max_examples=100)
@given(templates(), st.data())
def test_blanks_between_the_parts_of_a_line_mean_nothing(template: Template, data: st.DataObject) -> None:
    blanks = st.sampled_from(["", " ", "\t", "   "])
    loose = "".join(
        data.draw(blanks) + character + data.draw(blanks) if character in "[](),&" else character
        for character in str(template)
    )
    assert one(loose) == template


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("word[0", "expected ']', found 'the end'"),
        ("word[]", "expected a number, found ']'"),
        ("word[a]", "expected a number, found 'a'"),
        ("word[1.5]", "unexpected '.'"),
        ("word[51]", "51 is not between -50 and 50"),
        ("word[-51]", "-51 is not between -50 and 50"),
        ("word[0]]", "expected '&' or the end, found ']'"),
        ("word pos", "expected '&' or the end, found 'pos'"),
        ("word &", "expected a column or a function, found 'the end'"),
        ("& word", "expected a column or a function, found '&'"),
        ("word && pos", "expected a column or a function, found '&'"),
        ("3", "expected a column or a function, found '3'"),
        ("word = pos", "unexpected '='"),
        ("Ω", "unexpected 'Ω'"),
        ("suffix(word)", "expected ',', found ')'"),
        ("suffix(word, x)", "expected a number, found 'x'"),
        ("suffix(word, 0)", "0 is not between 1 and 100"),
        ("suffix(word, -1)", "-1 is not between 1 and 100"),
        ("suffix(word, 101)", "101 is not between 1 and 100"),
        ("suffix(word, 3", "expected ')', found 'the end'"),
        ("suffix word", "uses the column 'suffix', which is not there"),
        ("lower(word, 3)", "expected ')', found ','"),
        ("lower()", "expected a column or a function, found ')'"),
        ("lower(word & pos)", "expected ')', found '&'"),
        ("sufix(word, 3)", "unknown function 'sufix'; did you mean 'suffix'?"),
        ("word[" + "9" * 5000 + "]", "9999999999 is not between -50 and 50"),
        ("suffix(word, " + "9" * 5000 + ")", "9999999999 is not between 1 and 100"),
        ("c" + "9" * 5000, "which is not there; the columns are word, pos"),
        ("frequency(word)", "unknown function 'frequency'; known: lower,"),
        ("substrings(classes(word), 2)", "'classes(word[0])' gives many values and cannot be used inside substrings"),
        ("classes(word) & substrings(word[-1], 2)", "joins two many-valued functions; keep one of them"),
        ("lemma[0]", "uses the column 'lemma', which is not there; the columns are word, pos"),
        ("word & c7", "uses the column 'c7', which is not there; the columns are word, pos"),
        ("c2", "uses the label itself"),
        ("label", "expected '['"),
        ("label[-2]", "only label[-1] can be looked at, not label[-2]"),
        ("label[-1] & word & label[-1]", "label[-1] stands twice"),
        ("label[-1] & label[-1]", "label[-1] stands twice"),
        ("lower(label)", "label[-1] cannot be used inside a function"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_file_and_line(line: str, complaint: str) -> None:
    with pytest.raises(SapoError) as told:
        parse(f"# a remark\nword[0]\n\n{line}\npos[0]\n")
    message = str(told.value)
    assert message.startswith("some.txt:4: ")
    assert complaint in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "\n\n", "# word[0]\n", "label[-1]\n"])
def test_a_file_without_a_template_is_refused(text: str) -> None:
    with pytest.raises(SapoError, match=r"^some\.txt: contains no template; write one per line, such as "):
        parse(text)


def test_functions_nested_without_end_are_refused() -> None:
    with pytest.raises(SapoError, match=r"^some\.txt:2: functions nested more than 10 deep$"):
        parse("word\n" + "lower(" * 1000 + "word" + ")" * 1000)
    assert parse("lower(" * 10 + "word" + ")" * 10).templates


def test_a_remark_about_crfpp_does_not_make_a_crfpp_file() -> None:
    assert one("# the same as U00:%x[0,0]\nword[0]") == Template((atom("word"),))


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(
        st.text(max_size=30),
        st.text(alphabet="wordpslabe[]()&,+-0123456789 #%xUB:/\n\t", max_size=40),
        st.lists(
            st.sampled_from(["word", "pos", "suffix", "(", ")", "[", "]", ",", "&", "-1", "2", "label", "\n", "#"]),
            max_size=14,
        ).map("".join),
    )
)
def test_any_text_is_either_understood_or_refused_in_one_line(text: str) -> None:
    try:
        parsed = parse(text)
    except SapoError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
    else:
        assert parsed.templates
