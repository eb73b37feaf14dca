"""Define what the tags of a project mean: spans of tokens (IOB2), or one label for each token."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sapo.apps.teach.state import Seen, check_name
from sapo.errors import SapoError
from sapo.tags.schemes import TABLE, as_prefixed, looks_like_spans
from sapo.tags.spans import convert_tags, loose_spans, spans_to_tags, tags_to_spans, type_of

SPANS, TAGS = "spans", "tags"
KINDS = (SPANS, TAGS)
NOTHING = "_"  # the tag of a token that has none yet, where each token must get one
SCHEME = "iob2"
OUTSIDE = "O"


def kind_of(labels: Iterable[str]) -> str:
    """Return what labels of a model or a file are.

    >>> kind_of(["O", "B-PER"]), kind_of(["NN", "VB"])
    ('spans', 'tags')
    """
    listed = list(labels)
    return SPANS if looks_like_spans(listed) or set(listed) <= {OUTSIDE} else TAGS


def label_names(kind: str, tags: Iterable[str]) -> list[str]:
    """Return the labels that tags use, in order: types of spans, or the tags themselves.

    >>> label_names("spans", ["O", "B-PER", "I-PER"]), label_names("tags", ["NN", "O"])
    (['PER'], ['NN', 'O'])
    """
    if kind == TAGS:
        return list(dict.fromkeys(tags))
    return list(dict.fromkeys(filter(None, map(type_of, as_prefixed(list(dict.fromkeys(tags)))))))


def as_iob2(kind: str, tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a sentence as a project keeps them; spans may be in any scheme, valid or not.

    >>> as_iob2("spans", ["S-PER", "O", "I-LOC"])
    ('B-PER', 'O', 'B-LOC')
    """
    if kind == TAGS:
        return tuple(tags)
    return tuple(spans_to_tags(loose_spans(tags), len(tags), SCHEME))


def check_tags(kind: str, tags: Sequence[str], tokens: int) -> tuple[str, ...]:
    """Return tags that a person gave. Raise SapoError unless they fit the sentence and the kind of the project.

    >>> check_tags("spans", ["B-PER", "O"], 2)
    ('B-PER', 'O')
    """
    if len(tags) != tokens:
        raise SapoError(f"there are {len(tags)} tags for {tokens} tokens; give one for each token")
    if kind == SPANS:
        tags_to_spans(tags, SCHEME)
    for tag in dict.fromkeys(tags):
        if kind == TAGS and tag == NOTHING:
            raise SapoError("some tokens have no tag yet; give each token one")
        check_name(tag, "tag")
    return tuple(tags)


def scheme_of(labels: Sequence[str]) -> str:
    """Return the scheme in which a model shows its spans.

    >>> scheme_of(["O", "B-X", "I-X"]), scheme_of(["O", "B-X", "E-X", "S-X"])
    ('iob2', 'bioes')
    """
    for scheme in (SCHEME, "bioes", "bilou", "bmes"):
        if all(label == OUTSIDE or TABLE[scheme].fits(label) for label in labels):
            return scheme
    raise SapoError(f"the labels of this model follow no scheme for spans: {', '.join(labels)[:60]}")


def for_model(tags: Sequence[str], scheme: str) -> list[str]:
    """Return IOB2 tags in the scheme of a model.

    >>> for_model(["B-PER", "I-PER", "O"], "bioes")
    ['B-PER', 'E-PER', 'O']
    """
    return list(tags) if scheme == SCHEME else convert_tags(tags, SCHEME, scheme)


def blank(kind: str, tokens: int) -> tuple[str, ...]:
    """Return the tags of a sentence about which nobody knows anything."""
    return (OUTSIDE if kind == SPANS else NOTHING,) * tokens


def by_label(kind: str, labels: Iterable[str], counts: Mapping[str, int]) -> dict[str, int]:
    """Return how often each label occurs: how many spans, or how many tokens."""
    letter = "B-" if kind == SPANS else ""
    return {label: counts.get(letter + label, 0) for label in labels}


def count_seen(kind: str, said: Sequence[str], gold: Sequence[str], sure: float, likely: float) -> Seen:
    """Compare what a model said with what a person then accepted.

    >>> count_seen("spans", ["B-PER", "O"], ["B-PER", "B-LOC"], 0.9, 1.2)
    Seen(right=1, said=1, gold=2, sure=0.9, likely=1.2)
    """
    if kind == TAGS:
        right = sum(one == other for one, other in zip(said, gold, strict=True))
        return Seen(right, len(said), len(gold), sure, likely)
    mine, theirs = Counter(loose_spans(said)), Counter(loose_spans(gold))
    return Seen((mine & theirs).total(), mine.total(), theirs.total(), sure, likely)
