"""Say what a conversion leaves out: lines, columns and keys that the new file does not have."""

from collections.abc import Sequence

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.conllu_places import COLUMNS

LINES = {
    "columns": "comments and -DOCSTART- lines",
    "conllu": "comments, multiword tokens and empty nodes",
    "crfsuite": "comments",
}


class LeftOut:
    """What is left out of the blocks so far. Columns that the user dropped by naming others in `keep` do not count."""

    def __init__(self, source: str, target: str, *, label: str, keep: Sequence[str] | None, text: bool) -> None:
        self.source, self.target, self.label, self.keep, self.text = source, target, label, keep, text
        self.lines = 0
        self.names: dict[str, None] = {}  # columns and keys, in the order of the file

    def look_at(self, block: Block) -> None:
        """Add what is left out of one more block."""
        origin = block.origin
        if origin is not None and (self.source, self.target) != ("conllu", "conllu"):
            self.lines += origin.other_lines()
        columns = [name for name in block.columns if name not in ("id", "word", LABEL)]
        if self.keep is None:
            self.names.update(dict.fromkeys(name for name in columns if not self._has_room_for(name)))
        if origin is not None:
            kept = {"text"} if self.target == "conllu" else set()  # as a comment
            self.names.update(dict.fromkeys(key for key in origin.other_keys(self.label) if key not in kept))

    def _has_room_for(self, column: str) -> bool:
        if self.source == "conllu":  # the words alone are written
            return self.target == "conllu"
        if self.target == "conllu":
            return column in (*COLUMNS, "pos")
        return not self.text

    def told(self) -> tuple[str, ...]:
        """Return it in words: how many lines, and the names of columns and keys.

        >>> LeftOut("columns", "jsonl", label="tags", keep=None, text=False).told()
        ()
        """
        lines = [f"{self.lines:,} line{'s' * (self.lines > 1)} ({LINES[self.source]})"] if self.lines else []
        names = [", ".join(self.names)] if self.names else []
        return (*lines, *names)
