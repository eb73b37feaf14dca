"""Blocks that are converted in, what of them the new file does not have out, in words."""

import re
from collections.abc import Sequence

from sapo.corpus.blocks import LABEL, Block
from sapo.corpus.conllu import COLUMNS
from sapo.corpus.scanner import Scanned

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
        scanned: Scanned | None = block.extra.get("scanned")
        if scanned is not None and (self.source, self.target) != ("conllu", "conllu"):
            self.lines += len(re.findall(rb"(?m)^.*\S", scanned.data.tobytes())) - len(scanned.line_starts)
        columns = [name for name in block.columns if name not in ("id", "word", LABEL)]
        if self.keep is None:
            self.names.update(dict.fromkeys(name for name in columns if not self._has_room_for(name)))
        for record, sentence in block.extra.get("records", ()):
            known = {"tokens", *sentence.columns, self.label}
            if self.target == "conllu":
                known.add("text")  # as a comment
            if sentence.offsets is not None:
                known |= {"spans", "entities"}  # as tags
            self.names.update(dict.fromkeys(key for key in record if key not in known))

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
