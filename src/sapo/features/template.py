"""Find the template files that come with the package, and parse template files.

    # one template per line; a line makes one feature at each token
    word[0]                     the current word; `word` alone means the same
    word[-1] & word[0]          two values joined
    suffix(word, 3)             a function of a value
    shape(word[1]) & pos[1]
    suffix(lower(word), 2)
    label[-1]                   the label before: the transitions between labels
    label[-1] & pos[0]          an edge feature: a transition together with a value
    bias                        a feature that every token has
    cluster(word[0], 6)         the first bits of the word's cluster, if training was given clusters
    match(word[0], ".?.?$")     what a regular expression finds (features/regex.py)

Columns have names (`word`, `pos`, ...) or numbers (`c0`, `c1`, ...). A line such as `U01:%x[-1,0]` makes the whole file
a CRF++ template: `U05:%x[-1,0]/%x[0,0]` is `c0[-1] & c0[0]`, `B` stands for label[-1], and `B01:%x[0,1]` for
label[-1] & c1[0]. It is a pattern file of Wapiti if a line begins with `u`, `b` or `*`, or has one of the other macros:
`%X[0,0]` is ascii_lower(c0), `%m[0,0,"^."]` match(c0, "^."), `%t[0,0,"^."]` test(c0, "^."), and a line with `*` makes
both a feature and an edge feature.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sapo.corpus.blocks import LABEL
from sapo.errors import DataError, OptionError, SapoError, check_limit, choice, did_you_mean
from sapo.features.knowledge import NOTHING, Knowledge
from sapo.features.regex import compiled_regex
from sapo.features.words import WORD_FUNCTIONS, ColumnView

PRESETS = ("chunking", "chunking-best", "pos", "pos-paper", "pos-best", "ner", "bioner", "bioner-best")
FARTHEST = 50  # positions between an atom and the current token
LONGEST = 100  # letters of a prefix, suffix or substring
DEEPEST = 10  # nested functions
SHOWN = 200  # characters of a line in a message
_MACRO = re.compile(r'%([xXmMtT])\s*\[\s*([+-]?\d{1,9})\s*,\s*(\d{1,9})\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]', re.ASCII)
_WAPITI = re.compile(r"^(?:[ub*]|[^#\n]*%[XmMtT]\s*\[)", re.MULTILINE)


def template_text(name_or_path: str | Path) -> tuple[str, str]:
    """Return the text of a preset or of a template file, and its name for messages.

    A preset with columns, such as `ner+pos+chunk`, has the lines of the preset and three of each column: the value of
    the token and those of its neighbors.

    >>> template_text("ner+cluster")[0].splitlines()[-3:]
    ['cluster[-1]', 'cluster[0]', 'cluster[1]']
    """
    name = str(name_or_path)
    preset, *columns = name.split("+")
    if not Path(name).is_file() or name in PRESETS:
        preset = choice(preset, PRESETS)
        if preset in PRESETS:
            text = (files(__package__) / "presets" / f"{preset}.txt").read_text("utf-8")
            lines = [f"{column}[{place}]\n" for column in columns for place in (-1, 0, 1)]
            return "".join([text, *lines]), f"preset {'+'.join([preset, *columns])}"
    path = Path(name)
    if not path.is_file():
        raise OptionError(f"no template '{name}': neither a file nor a preset{did_you_mean(name, PRESETS)}")
    check_limit("template", path.stat().st_size, name, "bytes of templates")
    try:
        return path.read_text("utf-8-sig"), name
    except UnicodeDecodeError:
        raise DataError(f"{name}: not a template file (not UTF-8)") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror})") from None


@dataclass(frozen=True, slots=True)
class Atom:
    """A view of the token at some distance from the current one."""

    view: ColumnView
    offset: int

    def __str__(self) -> str:
        return self.view.show(self.offset)


@dataclass(frozen=True, slots=True)
class Template:
    """Atoms whose values are joined; an edge feature also joins them with the label before.

    Templates of the same `bag` share their features, as in CRF++.
    """

    atoms: tuple[Atom, ...]
    bag: str | None = None
    edge: bool = False

    def __str__(self) -> str:
        atoms = [*(["label[-1]"] if self.edge else []), *map(str, self.atoms)]
        return " & ".join(atoms) or "bias"


@dataclass(frozen=True, slots=True)
class TemplateSet:
    """The templates of a file."""

    templates: tuple[Template, ...]  # those of edge features come last
    transitions: bool  # whether weights for pairs of labels are learned
    text: str  # as it was written
    file_columns: tuple[str, ...]  # all columns of the file it was written for
    knowledge: Knowledge = NOTHING  # the columns that are made from the words

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the templates use, in the order of the file, and then those of knowledge."""
        used = {atom.view.column for template in self.templates for atom in template.atoms}
        return tuple(column for column in (*self.file_columns, *self.knowledge.columns) if column in used)

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns that a text must have: those that are used, and the words if knowledge is made from them."""
        made = self.knowledge.columns
        needed = {self.knowledge.words if column in made else column for column in self.columns}
        if self.knowledge.vectors is not None:
            needed.add(self.knowledge.words)
        return tuple(column for column in self.file_columns if column in needed)


def parse_templates(
    text: str, columns: Sequence[str], source: str = "template", knowledge: Knowledge = NOTHING
) -> TemplateSet:
    """Return the templates of a text, for data with these columns; `source` is the template's name, for messages.

    >>> parse_templates("word[-1] & word\\nlabel[-1]", ["word", "pos", "label"]).templates[0].atoms[0].offset
    -1
    """
    check_limit("template", len(text), source, "characters of templates")
    for number, line in enumerate(text.splitlines(), 1):
        check_limit("template_line", len(line), f"{source}:{number}", "characters in a line")
    if re.search(r"^[^#\n]*%[A-Za-z]\s*\[", text, re.MULTILINE):
        return _parse_macro_lines(text, columns, source, knowledge)
    templates: list[Template] = []
    transitions = False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        place = f"{source}:{number}"
        if re.fullmatch(r"label\s*\[\s*-1\s*\]", line):
            transitions = True
        elif line == "bias":
            templates.append(Template(()))
        else:
            templates.append(_Line(line, place, columns, knowledge).template())
    return _checked(templates, transitions, text, source, columns, knowledge)


def _short(line: str) -> str:
    """Return a line for a message."""
    return line if len(line) <= SHOWN else line[:SHOWN] + "..."


def _checked(
    templates: list[Template],
    transitions: bool,
    text: str,
    source: str,
    columns: Sequence[str],
    knowledge: Knowledge,
) -> TemplateSet:
    if not templates:
        raise DataError(f"{source}: contains no template; write one per line, such as word[-1] & word[0]")
    check_limit("templates", len(templates), source, "templates")
    distinct = sorted(dict.fromkeys(templates), key=lambda template: template.edge)
    return TemplateSet(tuple(distinct), transitions, text, tuple(columns), knowledge)


class _Line:
    """A recursive-descent parser of one line."""

    _end = re.compile(r"\s*\Z")
    _token = re.compile(r'\s*(?:([A-Za-z_]\w*)|([+-]?\d+)|([\[\](),&])|"((?:[^"\\]|\\.)*)")', re.ASCII)

    def __init__(self, line: str, place: str, columns: Sequence[str], knowledge: Knowledge) -> None:
        self.line, self.place, self.at, self.depth = line, place, 0, 0
        self.knowledge, self.columns = knowledge, (*columns, *knowledge.columns)
        self.kind, self.value = "", ""
        self.advance()

    def advance(self) -> None:
        if self._end.match(self.line, self.at):
            self.kind, self.value = "end", "the end"
            return
        match = self._token.match(self.line, self.at)
        if match is None:
            raise self.error(f"unexpected {self.line[self.at :].lstrip()[0]!r}")
        self.at = match.end()
        self.kind = ("name", "number", "mark", "string")[(match.lastindex or 1) - 1]
        self.value = match.group(match.lastindex or 1)

    def error(self, what: str) -> SapoError:
        return DataError(
            f"{self.place}: {what} in '{_short(self.line)}'; write for example suffix(word[-1], 3) & pos[0]"
        )

    def take(self, mark: str) -> None:
        if self.value != mark or self.kind != "mark":
            raise self.error(f"expected '{mark}', found {self.value!r}")
        self.advance()

    def number(self, low: int, high: int) -> int:
        if self.kind != "number":
            raise self.error(f"expected a number, found {self.value!r}")
        number = int(self.value) if len(self.value) < 10 else high + 1
        if not low <= number <= high:
            raise self.error(f"{self.value[:10]} is not between {low} and {high}")
        self.advance()
        return number

    def regex(self) -> str:
        if self.kind != "string":
            raise self.error(f'expected a regular expression such as "^.", found {self.value!r}')
        try:
            compiled_regex(self.value)
        except DataError as error:
            raise self.error(str(error)) from None
        text = self.value
        self.advance()
        return text

    def template(self) -> Template:
        atoms: list[Atom] = []
        labels = self.part(atoms)
        while self.value == "&":
            self.advance()
            labels += self.part(atoms)
        if self.kind != "end":
            raise self.error(f"expected '&' or the end, found {self.value!r}")
        if labels > 1 or (labels and not atoms):
            raise self.error("label[-1] stands twice")
        template = Template(tuple(atoms), edge=labels > 0)
        if sum(atom.view.many for atom in atoms) > 1:
            raise DataError(f"{self.place}: '{template}' joins two many-valued functions; keep one of them")
        return template

    def part(self, atoms: list[Atom]) -> int:
        """Read one atom into the list, or label[-1]; return the number of labels read."""
        if (self.kind, self.value) != ("name", LABEL):
            atoms.append(self.atom())
            return 0
        self.advance()
        self.take("[")
        if self.value != "-1":
            raise self.error(f"only label[-1] can be looked at, not label[{self.value}]")
        self.advance()
        self.take("]")
        return 1

    def atom(self) -> Atom:
        if self.kind != "name":
            raise self.error(f"expected a column or a function, found {self.value!r}")
        name = self.value
        self.advance()
        if self.value == "(":
            return self.call(name)
        if name == LABEL:
            raise self.error("label[-1] cannot be used inside a function")
        offset = 0
        if self.value == "[":
            self.advance()
            offset = self.number(-FARTHEST, FARTHEST)
            self.take("]")
        return Atom(ColumnView(_column(name, self.columns, f"{self.place}: '{_short(self.line)}'")), offset)

    def call(self, name: str) -> Atom:
        self.depth += 1
        if self.depth > DEEPEST:
            raise DataError(f"{self.place}: functions nested more than {DEEPEST} deep")
        function = WORD_FUNCTIONS.get(name)
        if function is None and name not in self.knowledge.columns:
            hint = did_you_mean(name, [*WORD_FUNCTIONS, *self.knowledge.columns])
            raise self.error(f"unknown function '{name}'{hint}")
        self.take("(")
        inner = self.atom()
        if function is None:
            return self.knowledge_of(name, inner)
        if inner.view.many:
            raise self.error(f"'{inner}' gives many values and cannot be used inside {name}")
        argument: int | str | None = None
        if function.number or function.regex:
            self.take(",")
            argument = self.number(1, LONGEST) if function.number else self.regex()
        self.take(")")
        self.depth -= 1
        view = inner.view
        return Atom(ColumnView(view.column, (*view.functions, (name, argument))), inner.offset)

    def knowledge_of(self, name: str, inner: Atom) -> Atom:
        """Read the rest of `cluster(word[0], 6)`, which is `prefix(cluster[0], 6)`."""
        if inner.view != ColumnView(self.knowledge.words):
            raise self.error(f"{name} is known of the words as they are, not of '{inner}'")
        prefix: tuple[tuple[str, int | str | None], ...] = ()
        if self.value == ",":
            self.advance()
            prefix = (("prefix", self.number(1, LONGEST)),)
        self.take(")")
        self.depth -= 1
        return Atom(ColumnView(name, prefix), inner.offset)


@dataclass(frozen=True, slots=True)
class MacroLine:
    """A line of a CRF++ template or of a pattern file of Wapiti."""

    literals: tuple[str, ...]  # the text before, between and after the macros
    atoms: tuple[Atom, ...]
    templates: tuple[Template, ...]  # of a feature, an edge feature, or both
    transitions: bool  # whether it gives weights to pairs of labels


def is_wapiti(text: str) -> bool:
    """Return whether a file with macros has patterns of Wapiti, not templates of CRF++."""
    return _WAPITI.search(text) is not None


def parse_macros(line: str, columns: Sequence[str], place: str, *, wapiti: bool) -> MacroLine:
    """Parse a line with macros.

    >>> line = parse_macros("U05:%x[-1,0]/%x[0,0]", ["word", "label"], "template:1", wapiti=False)
    >>> line.literals, str(line.templates[0]), line.transitions
    (('U05:', '/', ''), 'word[-1] & word[0]', False)
    """
    found = list(_MACRO.finditer(line))
    kinds = "u*b" if wapiti else "UB"
    ends = [0, *(macro.end() for macro in found)]
    starts = [*(macro.start() for macro in found), len(line)]
    literals = tuple(line[end:start] for end, start in zip(ends, starts, strict=True))
    for literal in literals:
        if wrong := re.search(r"%\S*|(?<!\w)[xXmMtT]\[[+-]?\d.*", literal):
            known = '%x[row,column], %X[..], %m[row,column,"regex"] or %t[..]' if wapiti else "%x[row,column]"
            raise DataError(f"{place}: expected {known}, found '{wrong[0]:.40}' in '{_short(line)}'")
    if line[0] not in kinds:
        raise DataError(f"{place}: expected a line that begins with {', '.join(kinds)}, found '{_short(line)}'")
    atoms = tuple(_macro_atom(macro, columns, f"{place}: '{_short(line)}'") for macro in found)
    node, edge = line[0] in "Uu*", line[0] in "Bb*"
    bag = "%".join(literals)
    kept = [] if not node else [Template(atoms, bag)]
    kept += [Template(atoms, bag, edge=True)] if edge and atoms else []
    return MacroLine(literals, atoms, tuple(kept), edge and not atoms)


def _macro_atom(macro: re.Match[str], columns: Sequence[str], place: str) -> Atom:
    kind, row, column, regex = macro.groups()
    if abs(int(row)) > FARTHEST:
        raise DataError(f"{place} has row {row}, which is not between -{FARTHEST} and {FARTHEST}")
    if (regex is None) != (kind in "xX"):
        way = "takes no regular expression" if kind in "xX" else 'needs a regular expression, as in %m[0,0,"^."]'
        raise DataError(f"{place}: %{kind} {way}")
    functions: tuple[tuple[str, int | str | None], ...] = ()
    if regex is not None:
        try:
            compiled_regex(regex)
        except DataError as error:
            raise DataError(f"{place}: {error}") from None
        functions = (("test" if kind in "tT" else "match", regex),)
    if kind in "XM":
        functions = (*functions, ("ascii_lower", None))
    return Atom(ColumnView(_column(f"c{int(column)}", columns, place), functions), int(row))


def _parse_macro_lines(text: str, columns: Sequence[str], source: str, knowledge: Knowledge) -> TemplateSet:
    """Parse a CRF++ template or a pattern file of Wapiti."""
    templates: list[Template] = []
    transitions, wapiti = False, is_wapiti(text)
    for number, line in enumerate(text.splitlines(), 1):
        line = (line.split("#", 1)[0] if wapiti else line).strip()
        if not line or line.startswith("#"):
            continue
        if knowledge.in_line(line):
            templates.append(_Line(line, f"{source}:{number}", columns, knowledge).template())
            continue
        if wapiti:
            line = line[0].lower() + line[1:]
        parsed = parse_macros(line, columns, f"{source}:{number}", wapiti=wapiti)
        templates += parsed.templates
        transitions |= parsed.transitions
    return _checked(templates, transitions, text, source, columns, knowledge)


def _column(name: str, columns: Sequence[str], place: str) -> str:
    """Return the name of a column, which may be given by its number as c0, c1, ..."""
    if re.fullmatch(r"c\d{1,9}", name) and name not in columns and int(name[1:]) < len(columns):
        name = columns[int(name[1:])]
    if name == LABEL:
        raise DataError(f"{place} uses the label itself, which is not known when tagging")
    if name not in columns:
        have = ", ".join(column for column in columns if column != LABEL)
        raise DataError(f"{place} uses the column '{name}', which is not there; the columns are {have}")
    return name
