"""Blocks that are converted in, what of them the new file does not have out, in words."""

from collections.abc import Sequence

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.conllu import COLUMNS

LINES = {
    "columns": "comments and -DOCSTART- lines",
    "conllu": "comments, multiword tokens and empty nodes",
}


class LeftOut:
    """Counts as blocks go by. What `keep` leaves out is asked for and no loss."""

    def __init__(self, source: str, target: str, *, label: str, keep: Sequence[str] | None, text: bool) -> None:
        self.source, self.target, self.label, self.keep, self.text = source, target, label, keep, text
        self.lines = 0
        self.names: dict[str, None] = {}  # columns and keys, in the order of the file

    def look_at(self, block: Block) -> None:
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
        """
        >>> LeftOut("columns", "jsonl", label="tags", keep=None, text=False).told()
        ()
        """
        lines = [f"{self.lines:,} line{'s' * (self.lines > 1)} ({LINES[self.source]})"] if self.lines else []
        names = [", ".join(self.names)] if self.names else []
        return (*lines, *names)
