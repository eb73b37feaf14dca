"""The names of hashed features that occur in some sentences: a hash cannot be undone, but these can be hashed again."""

from collections.abc import Iterable, Iterator, Mapping

from sapo.corpus.blocks import Block
from sapo.encode.hashed import HashedEncoder
from sapo.encode.template import Atom, Template


class NamedHashes:
    """Names of the hashed features of a block; features of the same hash have all their names."""

    def __init__(self, encoder: HashedEncoder, block: Block) -> None:
        self.encoder = encoder
        self.columns = {name: block.strings(name) for name in encoder.columns}
        self.sentences = list(zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True))
        corpus = encoder.session().encode(block)
        count = encoder.node_templates
        templates = encoder.templates.templates
        self.nodes = self._named(corpus.rows.tolist(), templates[:count])
        self.edges = self._named(corpus.edge_rows.tolist(), templates[count:])

    def feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return the names of features; those of other sentences have only their number."""
        return [self.nodes.get(row, name) for row, name in zip(rows, self.encoder.feature_names(rows), strict=True)]

    def edge_feature_names(self, rows: Iterable[int]) -> list[str]:
        """Return the names of edge features."""
        return [
            self.edges.get(row, name) for row, name in zip(rows, self.encoder.edge_feature_names(rows), strict=True)
        ]

    def _named(self, rows: list[int], templates: Iterable[Template]) -> Mapping[int, str]:
        """Return the names of rows, which come in the order of tokens, and at each token of templates."""
        found: dict[int, dict[str, None]] = {}
        for row, name in zip(rows, self._names(list(templates)), strict=True):
            found.setdefault(row, {})[name] = None
        return {row: " or ".join(names) for row, names in found.items()}

    def _names(self, templates: list[Template]) -> Iterator[str]:
        for begin, end in self.sentences:
            for token in range(begin, end):
                for template in templates:
                    joined = [""]
                    for atom in template.atoms:
                        values = self._values(atom, token, begin, end)
                        joined = [f"{left} & {value}" if left else value for left in joined for value in values]
                    for value in joined:
                        yield f"{template} = {value}" if template.atoms else str(template)

    def _values(self, atom: Atom, token: int, begin: int, end: int) -> list[str]:
        place = token + atom.offset
        if place < begin:
            return [f"<{begin - place} before the start>"]
        if place >= end:
            return [f"<{place - end + 1} past the end>"]
        return atom.view.apply(self.columns[atom.view.column][place])
