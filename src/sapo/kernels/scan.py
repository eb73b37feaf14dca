"""Bytes of a column or CoNLL-U file in; where its fields and sentences stand, out."""

from sapo.kernels._jit import kernel
from sapo.kernels.types import Bytes, Ints

TAB, NEWLINE, RETURN, BLANK, HASH, EQUALS, DASH, DOT = 9, 10, 13, 32, 35, 61, 45, 46
DOCSTART = (45, 68, 79, 67, 83, 84, 65, 82, 84, 45)  # -DOCSTART-


@kernel
def scan_lines(
    data: Bytes,  # [size] a whole number of sentences, or the rest of the file if final
    tabs: bool,  # fields are separated by single TABs, otherwise by runs of blanks
    conllu: bool,  # '#' always begins a comment; lines with an ID such as 3-4 or 8.1 are no words
    final: bool,  # the file ends here
    starts: Ints,  # [lines, columns] out: first byte of each field of each token
    ends: Ints,  # [lines, columns] out: one past its last byte
    line_starts: Ints,  # [lines] out: first byte of each token's line
    line_ends: Ints,  # [lines] out: one past its last byte, line ending left out
    sentence_ends: Ints,  # [lines] out: number of tokens up to the end of each sentence
) -> tuple[int, int, int, int, int, int]:
    """Return tokens, sentences, bytes used, lines used, and fields and start of the first uneven line.

    Bytes after the last sentence end are left for the next call unless `final`. The fields are 0 where all
    lines are even.
    """
    size = len(data)
    columns = starts.shape[1]
    token = sentence = used = used_lines = lines = 0
    begin = 0  # first token of the current sentence
    a = 0
    while a < size:
        b = a
        while b < size and data[b] != NEWLINE:
            b += 1
        if b == size and not final:
            break
        following = b + 1 if b < size else b
        if b > a and data[b - 1] == RETURN:
            b -= 1
        lines += 1

        if tabs:
            fields = _split_at_tabs(data, a, b, token, starts, ends)
        else:
            fields = _split_at_blanks(data, a, b, token, starts, ends)
        word = False
        breaks = False
        if fields == 0:
            breaks = True
        elif data[a] == HASH and (conllu or (token == begin and _is_comment(fields, token, starts, ends, data))):
            pass
        elif _is_docstart(data, a, b):
            breaks = True
        elif conllu and _is_loose(data, starts[token, 0], ends[token, 0]):
            pass
        elif fields != columns:
            return token, sentence, used, lines, fields, a
        else:
            word = True

        if word:
            line_starts[token] = a
            line_ends[token] = b
            token += 1
        a = following
        if breaks:
            if token > begin:
                sentence_ends[sentence] = token
                sentence += 1
                begin = token
            used = a
            used_lines = lines
    if final:
        if token > begin:
            sentence_ends[sentence] = token
            sentence += 1
        return token, sentence, size, lines, 0, 0
    return begin, sentence, used, used_lines, 0, 0


@kernel
def _split_at_tabs(data: Bytes, a: int, b: int, token: int, starts: Ints, ends: Ints) -> int:
    """Split a line at single TABs and return its fields; those beyond the expected ones are only counted."""
    i = a
    while i < b and (data[i] == BLANK or data[i] == TAB):
        i += 1
    if i == b:
        return 0
    fields = 0
    i = a
    for j in range(a, b + 1):
        if j == b or data[j] == TAB:
            if fields < starts.shape[1]:
                starts[token, fields] = i
                ends[token, fields] = j
            fields += 1
            i = j + 1
    return fields


@kernel
def _split_at_blanks(data: Bytes, a: int, b: int, token: int, starts: Ints, ends: Ints) -> int:
    """Split a line at runs of blanks, as `_split_at_tabs` does at TABs."""
    fields = 0
    i = a
    while i < b:
        while i < b and (data[i] == BLANK or data[i] == TAB):
            i += 1
        if i == b:
            break
        j = i
        while j < b and data[j] != BLANK and data[j] != TAB:
            j += 1
        if fields < starts.shape[1]:
            starts[token, fields] = i
            ends[token, fields] = j
        fields += 1
        i = j
    return fields


@kernel
def _is_comment(fields: int, token: int, starts: Ints, ends: Ints, data: Bytes) -> bool:
    """'#' may be a word: before a sentence, `# key = value` and a wrong number of fields mean a comment."""
    if fields != starts.shape[1]:
        return True
    if fields < 3 or ends[token, 0] - starts[token, 0] != 1:
        return False
    if ends[token, 2] - starts[token, 2] != 1:
        return False
    return bool(data[starts[token, 2]] == EQUALS)


@kernel
def _is_docstart(data: Bytes, start: int, end: int) -> bool:
    """The line begins with the word -DOCSTART-."""
    if end - start < len(DOCSTART):
        return False
    after = start + len(DOCSTART)
    if after < end and data[after] != BLANK and data[after] != TAB:
        return False
    for i in range(len(DOCSTART)):
        if data[start + i] != DOCSTART[i]:
            return False
    return True


@kernel
def _is_loose(data: Bytes, start: int, end: int) -> bool:
    """A multiword token (3-4) or an empty node (8.1)."""
    for i in range(start, end):
        if data[i] == DASH or data[i] == DOT:
            return True
    return False


@kernel
def splice(
    data: Bytes,  # [size] the input as it came
    cut_starts: Ints,  # [tokens] the bytes that the piece replaces, in order
    cut_ends: Ints,  # [tokens]
    pieces: Bytes,  # all pieces, one after the other
    piece_offsets: Ints,  # [pieces + 1]
    piece: Ints,  # [tokens] which piece goes there
    out: Bytes,  # large enough
) -> int:
    """Copy the input with one piece put in at each token; return the bytes written."""
    written = 0
    copied = 0
    for token in range(len(piece)):
        for i in range(copied, cut_starts[token]):
            out[written] = data[i]
            written += 1
        for i in range(piece_offsets[piece[token]], piece_offsets[piece[token] + 1]):
            out[written] = pieces[i]
            written += 1
        copied = cut_ends[token]
    for i in range(copied, len(data)):
        out[written] = data[i]
        written += 1
    return written
