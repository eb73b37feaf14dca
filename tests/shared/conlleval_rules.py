"""Where conlleval begins and ends a span: the rules as its Python version writes them."""


def split(tag: str) -> tuple[str, str]:
    if "-" not in tag:
        return {"L": "E", "U": "S", "M": "I"}.get(tag, tag), ""
    prefix, type_name = tag.split("-", 1)
    return {"L": "E", "U": "S", "M": "I"}.get(prefix, prefix), type_name


def chunk_ended(last: tuple[str, str], here: tuple[str, str]) -> bool:
    ended = last[0] in ("E", "S", "[", "]")
    ended |= last[0] + here[0] in ("BB", "BS", "BO", "IB", "IS", "IO")
    ended |= last[0] not in ("O", ".") and last[1] != here[1]
    return ended


def chunk_starts(last: tuple[str, str], here: tuple[str, str]) -> bool:
    starts = here[0] in ("B", "S", "[", "]")
    starts |= last[0] + here[0] in ("EE", "EI", "SE", "SI", "OE", "OI")
    starts |= here[0] not in ("O", ".") and last[1] != here[1]
    return starts
