"""Templates and vocabularies in, the arrays that kernels take out."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sapo.encode.new_words import NewWords
from sapo.encode.template import Template, TemplateSet, View
from sapo.encode.view_values import ViewValues
from sapo.errors import SapoError
from sapo.kernels.features import Templates, Values
from sapo.kernels.types import Ints, Longs

KEY_BITS = 63
ALL = slice(0, None)


class Layout:
    """The templates as arrays for the kernels.

    `view_bits` is how many bits the values of each view get. Without it they get what they need now, and a direct table
    has as many slots as there are values; with it, there is room for all values of that many bits.
    """

    def __init__(
        self, templates: TemplateSet, views: tuple[ViewValues, ...], view_bits: Sequence[int] | None = None
    ) -> None:
        self.number = number = {view.view: i for i, view in enumerate(views)}
        atoms = list(dict.fromkeys(atom for template in templates.templates for atom in template.atoms))
        reach = max((abs(atom.offset) for atom in atoms), default=0)
        self.reserved = 1 + 2 * reach  # 0 is no value, then the positions outside of the sentence
        self.templates = templates.templates
        self.node_templates = sum(not template.edge for template in templates.templates)
        self.tables, table_of = tables_of(templates)
        self.node_tables = sum(not template.edge for template in self.tables)
        self.views = views
        self.atom_view = np.array([number[atom.view] for atom in atoms], np.int32)
        self.atom_offset = np.array([atom.offset for atom in atoms], np.int32)
        self.roomy = view_bits is not None
        self.view_bits = list(self.bits_for(len(view.table) for view in views) if view_bits is None else view_bits)
        self.atom_bits = np.array([self.view_bits[number[atom.view]] for atom in atoms], np.int32)
        place = {atom: i for i, atom in enumerate(atoms)}
        sizes = [len(template.atoms) for template in templates.templates]
        self.template_atoms = np.array([place[atom] for t in templates.templates for atom in t.atoms], np.int32)
        self.template_offsets = np.cumsum([0, *sizes]).astype(np.int32)
        self.template_table = np.array(table_of, np.int32)
        self.template_shift = np.full(len(sizes), -1, np.int32)
        self.many_view: list[int | None] = []
        for k, template in enumerate(templates.templates):
            many = [i for i, atom in enumerate(template.atoms) if atom.view.many]
            self.many_view.append(number[template.atoms[many[0]].view] if many else None)
            if many:
                right = template.atoms[many[0] + 1 :]
                self.template_shift[k] = sum(self.view_bits[number[atom.view]] for atom in right)
            bits = sum(self.view_bits[number[atom.view]] for atom in template.atoms)
            if bits > KEY_BITS:
                raise SapoError(
                    f"template '{template}' joins too many different values ({bits} bits of {KEY_BITS}); "
                    "leave one of its parts out"
                )

    def arrays(self, templates: slice = ALL) -> Templates:
        """Some of the templates as kernels take them."""
        return Templates(
            self.template_offsets[templates.start : None if templates.stop is None else templates.stop + 1],
            self.template_table[templates],
            self.template_shift[templates],
            self.template_atoms,
            self.atom_view,
            self.atom_offset,
            self.atom_bits,
        )

    def bits_for(self, sizes: Iterable[int]) -> list[int]:
        """Return how many bits the values of each view take, if this is how many values it has."""
        return [(self.reserved + size).bit_length() for size in sizes]

    def key_bits(self, table: int) -> int:
        """Return how many bits the keys of a table have."""
        return sum(self.view_bits[self.number[atom.view]] for atom in self.tables[table].atoms)

    def direct_size(self, table: int) -> int | None:
        """Return the size of the table of a template with at most one atom; None for hashed tables."""
        atoms = self.tables[table].atoms
        if len(atoms) > 1:
            return None
        if not atoms:
            return 1
        view = self.number[atoms[0].view]
        return 1 << self.view_bits[view] if self.roomy else self.reserved + len(self.views[view].table)

    def knows(self, table: int, keys: Longs) -> bool:
        """Return whether all keys of a table are joined from values that the views have."""
        rest = keys
        for atom in reversed(self.tables[table].atoms):
            view = self.number[atom.view]
            bits = self.view_bits[view]
            values = rest & ((1 << bits) - 1)
            if not (len(values) == 0 or 0 < values.min() <= values.max() < self.reserved + len(self.views[view].table)):
                return False
            rest = rest >> bits
        return not rest.any()

    def feature_name(self, table: int, key: int) -> str:
        """Return a feature as people read it; raise SapoError if its key cannot be right."""
        template = self.tables[table]
        values = []
        for atom in reversed(template.atoms):
            index = self.number[atom.view]
            bits = self.view_bits[index]
            values.append(self._value_name(index, key & ((1 << bits) - 1)))
            key >>= bits
        if key:
            raise damaged()
        return f"{template} = {' & '.join(reversed(values))}" if values else str(template)

    def _value_name(self, view: int, value: int) -> str:
        if not 0 < value < self.reserved + len(self.views[view].table):
            raise damaged()
        if value >= self.reserved:
            return self.views[view].table[value - self.reserved]
        distance = (value + 1) // 2
        return f"<{distance} before the start>" if value % 2 else f"<{distance} past the end>"


def damaged() -> SapoError:
    """Return the error about a model whose arrays do not fit together."""
    return SapoError("the model names a value that its vocabulary does not have: it was changed or damaged")


def view_values(layout: Layout, ids: Mapping[str, Ints], tokens: int, new_words: Mapping[str, NewWords]) -> Values:
    """Return the value of each view at each token, and the sets of values of many-valued views."""
    values = np.zeros((len(layout.views), tokens), np.int32)
    all_offsets, all_members = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    sets = members_before = 0
    distinct: dict[str, tuple[Ints, Longs]] = {}  # the words that occur here, and which of them each token is
    for number, view in enumerate(layout.views):
        column = ids[view.view.column]
        if view.offsets is None or view.members is None:
            # a word that is new (past the table) or unknown (-1) has no value
            seen = (column >= 0) & (column < len(view.table))
            values[number] = np.where(seen, column + layout.reserved, 0)
            continue
        if view.view.column not in distinct:
            distinct[view.view.column] = np.unique(column, return_inverse=True)
        words, place = distinct[view.view.column]
        offsets, members = _select(number, view, words, new_words.get(view.view.column))
        if view.view.many:
            values[number] = -1 - (sets + place)
            all_offsets.append(members_before + offsets[1:])
            all_members.append(members + np.int32(layout.reserved))
            sets += len(words)
            members_before += len(members)
        else:
            value = np.zeros(len(words), np.int32)
            full = np.diff(offsets) > 0
            value[full] = members[offsets[:-1][full]] + layout.reserved
            values[number] = value[place]
    return Values(values, np.concatenate(all_offsets), np.concatenate(all_members))


def _select(number: int, view: ViewValues, words: Ints, new_words: NewWords | None) -> tuple[Longs, Ints]:
    """Return offsets and members of the given words; those past the known ones are in `new_words`."""
    assert view.offsets is not None
    assert view.members is not None
    count = len(view.offsets) - 1
    known, new = words[words < count], words[words >= count]
    sizes = view.offsets[known + 1] - view.offsets[known]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    places = np.arange(offsets[-1]) + np.repeat(view.offsets[known] - offsets[:-1], sizes)
    members = view.members[places]
    if len(new) and new_words is not None:
        new_offsets, new_members = new_words.select(number, view, new - np.int32(count))
        offsets = np.concatenate([offsets, offsets[-1] + new_offsets[1:]])
        members = np.concatenate([members, new_members])
    return offsets, members


def most_rows(layout: Layout, templates: slice, values: Values) -> int:
    """Return an upper bound on the number of features of a block."""
    tokens = values.values.shape[1]
    return sum(tokens + many_keys(view, values) for view in layout.many_view[templates])


def many_keys(view: int | None, values: Values) -> int:
    """Return how many keys the many-valued atom of a template makes, over all tokens."""
    return 0 if view is None else int(np.diff(values.set_offsets)[-1 - values.values[view]].sum())


def views_of(templates: TemplateSet) -> tuple[View, ...]:
    """Return the distinct views of all templates, in their order."""
    return tuple(dict.fromkeys(atom.view for template in templates.templates for atom in template.atoms))


def tables_of(templates: TemplateSet) -> tuple[list[Template], list[int]]:
    """Return a template for each table, and for each template its table.

    A template has a table of its own, unless it shares one with those of its bag that read the same views.
    """
    found: dict[object, int] = {}
    first: list[Template] = []
    numbers = []
    for template in templates.templates:
        views = tuple(atom.view for atom in template.atoms)
        key = template if template.bag is None else (template.bag, template.edge, views)
        if key not in found:
            found[key] = len(found)
            first.append(template)
        numbers.append(found[key])
    return first, numbers
