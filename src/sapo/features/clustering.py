"""Make hierarchical word clusters from unlabeled text: words that occur between similar neighbors share a cluster.

Each word has one class, and a text is as likely as its bigrams of classes make it (Brown et al. 1992, Computational
Linguistics 18(4), section 3). Up to a constant that does not depend on the classes, its log likelihood is

    sum over c, d of h(N[c, d])  -  sum over c of h(first[c])  -  sum over d of h(second[d]),    h(n) = n log n,

where N[c, d] counts the bigrams of a word of class c and a word of class d, and `first` and `second` are the sums of
its rows and columns. Clustering has two steps:

1. The exchange algorithm (Kneser & Ney 1993; Martin et al. 1998) moves one word at a time to the class where the
   likelihood is highest, in several passes over all words.
2. The classes become the leaves of a binary tree: again and again, the two classes are merged for which the likelihood
   falls least. The path from the root to a leaf is a string of bits; its prefixes are coarser clusters.

A sentence begins and ends with a border, which has a class of its own and stays there. The tree does not count bigrams
with it: otherwise the first bits would separate words at the end and at the beginning of sentences ("We") from all
others ("we"). In 6 million tokens of English, the first 6 bits then have 4.5 bits of entropy instead of 4.8. Rare words
have no class, and bigrams with them are not counted.
"""

import math
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapo import jit
from sapo.corpus.blocks import Block
from sapo.errors import LARGEST_OPTION, DataError, DataWarning, OptionError
from sapo.features.strings import StringTable
from sapo.jit import kernel
from sapo.jit.arrays import Doubles, Growable, Ints, Longs, offsets_of

CLUSTERS = 500
WORDS_OF_CLUSTER = 10  # at least, on average
MOST_CLUSTERS = 2000  # merging them takes time by the third power: half a minute for 2000
LEAST_COUNT = 3  # rarer words have too few neighbors
PASSES = 10
FEW = 0.005  # share of the words: a pass that moves fewer is the last one
TABLE_SIZE = 1 << 20  # of the table of n log n: 8 MB
SMALLEST_GAIN = 1e-6  # of the log likelihood: below this, a difference may be rounding
WORDS_AT_ONCE = 1000  # words that one call of the kernel looks at, so that progress can be shown
STRINGS_AT_ONCE = 50_000  # as Python strings
BORDER, RARE = 0, -1  # in a text of word numbers; words begin at 1
_DIGIT = re.compile(r"\d")
_UNWRITABLE = re.compile("[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]")  # in a line of a file

Watch = Callable[[str], None]  # takes a line that says how far the work is


@dataclass(frozen=True, slots=True)
class ClusteredWord:
    """A word, the path to its cluster in the tree, and how often it occurs."""

    word: str
    bits: str
    count: int

    def line(self) -> bytes:
        """Return its line in a file of clusters."""
        return f"{self.bits}\t{self.word}\t{self.count}\n".encode()


def cluster_form(word: str) -> str:
    """Return the form in which a word is clustered: '#' stands for each digit.

    >>> cluster_form("IL-2")
    'IL-#'
    """
    return word if word.isalpha() else _DIGIT.sub("#", word)


def cluster_words(
    blocks: Iterable[Block],
    *,
    clusters: int | None = None,
    min_count: int | None = None,
    passes: int = PASSES,
    watch: Watch | None = None,
) -> list[ClusteredWord]:
    """Cluster the words of a text; return them by path, and within a cluster the most frequent first.

    There are 500 `clusters` by default, or a tenth of the words if there are fewer than 5,000.
    Words with fewer than `min_count` occurrences are left out; the default is 3, and more for a text of more than ten
    million tokens. `passes` is the largest number of passes over all words. `watch` is called with lines that say how
    far the work is. The same text always gives the same clusters. If there are fewer words than clusters, each word is
    a cluster, and a `DataWarning` says so.

    >>> from sapo.corpus.blocks import Sentence, block_from_sentences
    >>> text = ["a dog barks", "the dog barks", "a cat sleeps", "the cat sleeps", "a dog"]
    >>> block = block_from_sentences([Sentence({"word": tuple(line.split())}) for line in text])
    >>> for one in cluster_words([block], clusters=3, min_count=2):
    ...     print(one.bits, one.word, one.count)
    00 a 3
    00 the 2
    01 barks 2
    01 sleeps 2
    1 dog 3
    1 cat 2
    """
    if clusters is not None and not 2 <= clusters <= MOST_CLUSTERS:
        raise OptionError(f"`clusters` must be between 2 and {MOST_CLUSTERS:,}, not {clusters:,}")
    if min_count is not None and not 1 <= min_count <= LARGEST_OPTION:
        raise OptionError(f"`min_count` must be between 1 and {LARGEST_OPTION:,}, not {min_count:,}")
    watch = watch or (lambda line: None)
    text, words, counts = number_words(blocks, min_count, watch)
    if clusters is None:
        clusters = max(2, min(CLUSTERS, len(words) // WORDS_OF_CLUSTER))
    if len(words) < clusters:
        warnings.warn(
            f"the text has {len(words):,} words that are frequent enough, fewer than {clusters:,} clusters; each word "
            "is a cluster",
            DataWarning,
            stacklevel=2,
        )
        clusters = len(words)
    following, preceding = count_neighbors(text, len(words)), count_neighbors(text[::-1].copy(), len(words))
    del text
    jit.prepare(pairs=clusters * (len(following.words) + clusters**2))
    classes = exchange(following, preceding, clusters, passes, watch)
    watch("building the tree of the clusters")
    pairs = np.ascontiguousarray(classes.pairs[:clusters, :clusters])
    merges = jit.call_interruptibly(merge_classes, pairs, n_log_n_table(), steps=float(clusters) ** 3)
    paths = paths_of(merges)
    found = map(ClusteredWord, words, (paths[one] for one in classes.of_word[1:].tolist()), counts)
    return sorted(found, key=lambda one: (one.bits, -one.count))


def number_words(blocks: Iterable[Block], min_count: int | None, watch: Watch) -> tuple[Ints, list[str], list[int]]:
    """Return a text as numbers, its words (word 1 first), and how often each occurs; the most frequent word is first.

    A word of the text is 1 or higher, or `RARE`. A `BORDER` is before and after each sentence.
    """
    spellings, tokens = StringTable(), Growable(np.zeros(0, np.int32))
    total = 0
    for block in blocks:
        if not block.columns:
            raise DataError(f"{block.name}: has ready-made features but no words; give a file with words")
        total += int(block.offsets[-1])
        jit.prepare(tokens=total)
        ids = spellings.add_fields(*block.column("word" if "word" in block.columns else block.columns[0]))
        tokens.append(np.insert(ids + 1, block.offsets[:-1], BORDER))
        watch(f"reading: {total:,} tokens")
    tokens.append(np.array([BORDER], np.int32))
    if total == 0:
        raise DataError("the text is empty; give a file with words")
    forms, form_of = _forms(spellings)
    form_counts = np.bincount(form_of[tokens.used], minlength=len(forms) + 1)[1:]
    least = default_min_count(total) if min_count is None else min_count
    order = np.argsort(-form_counts, kind="stable")
    chosen = order[form_counts[order] >= least]
    chosen = chosen[[_UNWRITABLE.search(forms[one]) is None and forms[one] != "" for one in chosen.tolist()]]
    if len(chosen) < 2:
        raise DataError(
            f"the text has {total:,} tokens, but fewer than 2 words with a count of {least:,} or more; give more text, "
            "or a lower `min_count`"
        )
    new = np.full(len(forms) + 1, RARE, np.int32)
    new[0] = BORDER
    new[chosen + 1] = np.arange(1, len(chosen) + 1)
    text: Ints = new[form_of[tokens.used]]
    return text, [forms[one] for one in chosen.tolist()], form_counts[chosen].tolist()


def default_min_count(tokens: int) -> int:
    """Return how often a word must occur in a text of this size, so that large texts do not have too many words.

    >>> [default_min_count(millions * 1_000_000) for millions in (1, 10, 100, 1000)]
    [3, 3, 10, 32]
    """
    return max(LEAST_COUNT, round(math.sqrt(tokens / 1e6)))


def _forms(spellings: StringTable) -> tuple[StringTable, Ints]:
    """Return the forms of all spellings, and the number of the form of each: spelling 1 is the first, 0 a border."""
    forms = StringTable()
    form_of = np.zeros(len(spellings) + 1, np.int32)
    for first in range(0, len(spellings), STRINGS_AT_ONCE):
        some = spellings.strings(first, first + STRINGS_AT_ONCE)
        form_of[first + 1 : first + 1 + len(some)] = forms.add([cluster_form(one) for one in some]) + 1
    return forms, form_of


class Neighbors(NamedTuple):
    """The distinct neighbors of each word on one side, in the order in which they first occur."""

    offsets: Longs  # [words + 2] where the neighbors of a word begin
    words: Ints  # [pairs]
    counts: Ints  # [pairs] how often the pair occurs


def count_neighbors(text: Ints, words: int) -> Neighbors:
    """Count the words that follow each word of a text."""
    grouped = np.empty(len(text), np.int32)
    bounds = offsets_of(count_pairs(text, words))
    group_following(text, bounds[:-1].copy(), grouped)
    counts = np.empty(int(bounds[-1]), np.int32)
    sizes = add_up_equal(bounds, grouped, counts)
    offsets = offsets_of(sizes)
    return Neighbors(offsets, grouped[: offsets[-1]].copy(), counts[: offsets[-1]].copy())


@kernel
def count_pairs(text: Ints, words: int) -> Longs:
    """Return how many tokens follow each word that have a number, as the word itself."""
    sizes = np.zeros(words + 1, np.int64)
    for i in range(len(text) - 1):
        if text[i] >= 0 and text[i + 1] >= 0:
            sizes[text[i]] += 1
    return sizes


@kernel
def group_following(text: Ints, places: Longs, grouped: Ints) -> None:
    """Write each token to the next place of the word before it."""
    for i in range(len(text) - 1):
        if text[i] >= 0 and text[i + 1] >= 0:
            grouped[places[text[i]]] = text[i + 1]
            places[text[i]] += 1


@kernel
def add_up_equal(bounds: Longs, grouped: Ints, counts: Ints) -> Longs:
    """Reduce each group to its distinct words, one group right after the other; return how many each has."""
    groups = len(bounds) - 1
    sizes = np.zeros(groups, np.int64)
    place = np.full(groups, -1, np.int64)  # of each word of the current group, at or after `first`
    first = 0
    for group in range(groups):
        end = first
        for i in range(bounds[group], bounds[group + 1]):
            word = grouped[i]
            if place[word] < first:
                place[word] = end
                grouped[end] = word  # never after i
                counts[end] = 0
                end += 1
            counts[place[word]] += 1
        sizes[group] = end - first
        first = end
    return sizes


class Classes(NamedTuple):
    """The class of each word, and how often classes follow each other. The last class has the border alone."""

    of_word: Ints  # [words + 1]
    sizes: Ints  # [classes]
    pairs: Ints  # [classes, classes] N
    turned: Ints  # [classes, classes] N transposed: the loops over candidate classes need its rows
    firsts: Longs  # [classes] sums of the rows of N
    seconds: Longs  # [classes] sums of its columns


def exchange(
    following: Neighbors, preceding: Neighbors, clusters: int, passes: int, watch: Watch = lambda line: None
) -> Classes:
    """Give each word a class by the exchange algorithm. At the start, word i has class i modulo the classes."""
    words = len(following.offsets) - 2
    of_word = (np.arange(-1, words) % clusters).astype(np.int32)
    of_word[BORDER] = clusters
    classes = classes_of(of_word, following, clusters + 1)
    table = n_log_n_table()
    for number in range(1, passes + 1):
        moved = 0
        for first in range(1, words + 1, WORDS_AT_ONCE):
            watch(f"pass {number} of at most {passes}: {first - 1:,} of {words:,} words")
            last = min(first + WORDS_AT_ONCE, words + 1)
            moved += exchange_words(first, last, following, preceding, classes, table)
        if moved <= FEW * words:
            break
    return classes


def classes_of(of_word: Ints, following: Neighbors, count: int) -> Classes:
    """Return the classes with their counts."""
    pairs = np.zeros((count, count), np.int32)
    firsts = np.repeat(of_word, np.diff(following.offsets))
    np.add.at(pairs, (firsts, of_word[following.words]), following.counts)
    sizes = np.bincount(of_word, minlength=count).astype(np.int32)
    turned = np.ascontiguousarray(pairs.T)
    return Classes(of_word, sizes, pairs, turned, pairs.sum(1, dtype=np.int64), pairs.sum(0, dtype=np.int64))


def n_log_n_table() -> Doubles:
    """Return n log n for small n, which takes a fifth of the time of computing it."""
    numbers = np.arange(TABLE_SIZE, dtype=np.float64)
    numbers[1:] *= np.log(numbers[1:])
    return numbers


@kernel
def n_log_n(n: int, table: Doubles) -> float:
    """Return h(n)."""
    return table[n] if n < len(table) else n * math.log(n)


class Side(NamedTuple):
    """The neighbors of one word on one side, without the word itself, by class."""

    counts: Ints  # [classes] how often they are of each class
    found: Ints  # the classes that have a count
    total: int  # the sum of the counts, and `twice`
    twice: int  # how often the word is its own neighbor


@kernel
def exchange_words(
    first: int, last: int, following: Neighbors, preceding: Neighbors, classes: Classes, table: Doubles
) -> int:
    """Move each of these words to the best class; return how many moved. The last word of a class stays."""
    count = len(classes.sizes)
    after_counts, before_counts = np.zeros(count, np.int32), np.zeros(count, np.int32)
    after_found, before_found = np.zeros(count, np.int32), np.zeros(count, np.int32)
    gains = np.zeros(count - 1)
    moved = 0
    for word in range(first, last):
        own = classes.of_word[word]
        if classes.sizes[own] == 1:
            continue
        after = count_classes(word, following, classes.of_word, after_counts, after_found)
        before = count_classes(word, preceding, classes.of_word, before_counts, before_found)
        add_word(own, -1, after, before, classes)
        find_gains(after, before, classes, table, gains)
        best = own
        for c in range(len(gains)):
            if gains[c] > gains[best] + SMALLEST_GAIN:
                best = c
        add_word(best, 1, after, before, classes)
        if best != own:
            classes.of_word[word] = best
            classes.sizes[own] -= 1
            classes.sizes[best] += 1
            moved += 1
        clear(after)
        clear(before)
    return moved


@kernel
def count_classes(word: int, neighbors: Neighbors, of_word: Ints, counts: Ints, found: Ints) -> Side:
    """Count the classes of the neighbors of a word. The counts must be zero before."""
    kinds, total, twice = 0, 0, 0
    for i in range(neighbors.offsets[word], neighbors.offsets[word + 1]):
        neighbor, count = neighbors.words[i], int(neighbors.counts[i])
        total += count
        if neighbor == word:
            twice = count
            continue
        c = of_word[neighbor]
        if counts[c] == 0:
            found[kinds] = c
            kinds += 1
        counts[c] += count
    return Side(counts, found[:kinds], total, twice)


@kernel
def clear(side: Side) -> None:
    """Set the counts to zero."""
    for c in side.found:
        side.counts[c] = 0


@kernel
def add_word(c: int, sign: int, after: Side, before: Side, classes: Classes) -> None:
    """Add the bigrams of a word to the counts of class c, or subtract them if the sign is -1.

    The sums of the classes of its neighbors stay as they are: they are the same whichever class the word is in.
    """
    for d in after.found:
        add_pairs(c, d, sign * after.counts[d], classes)
    for d in before.found:
        add_pairs(d, c, sign * before.counts[d], classes)
    add_pairs(c, c, sign * after.twice, classes)
    classes.firsts[c] += sign * after.total
    classes.seconds[c] += sign * before.total


@kernel
def add_pairs(c: int, d: int, count: int, classes: Classes) -> None:
    """Add to the bigrams of two classes."""
    classes.pairs[c, d] += count
    classes.turned[d, c] += count


@kernel
def find_gains(after: Side, before: Side, classes: Classes, table: Doubles, gains: Doubles) -> None:
    """Compute how much the likelihood rises if a word that has no class now joins each class c.

    The word adds after[d] to N[c, d] and before[d] to N[d, c] for every other class d, and to N[c, c] both of these
    and `twice`. The loops over d treat c like any other class; the last loop corrects N[c, c].
    """
    for c in range(len(gains)):
        gains[c] = -rise(classes.firsts[c], after.total, table) - rise(classes.seconds[c], before.total, table)
    for d in after.found:
        add_rises(classes.turned[d], classes.seconds[d], after.counts[d], table, gains)
    for d in before.found:
        add_rises(classes.pairs[d], classes.firsts[d], before.counts[d], table, gains)
    for c in range(len(gains)):
        one, other = after.counts[c], before.counts[c]
        if one + other + after.twice > 0:
            own = classes.pairs[c, c]
            gains[c] += rise(own, one + other + after.twice, table) - rise(own, one, table) - rise(own, other, table)


@kernel
def add_rises(counts: Ints, total: int, more: int, table: Doubles, gains: Doubles) -> None:
    """Add to the gain of each class how much h rises with its count; no count is above the total.

    These loops take nearly all of the time. The first one is the second without the test of `n_log_n`.
    """
    if total + more < len(table):
        for c in range(len(gains)):
            gains[c] += table[counts[c] + more] - table[counts[c]]
    else:
        for c in range(len(gains)):
            gains[c] += rise(counts[c], more, table)


@kernel
def rise(n: int, more: int, table: Doubles) -> float:
    """Return how much h(n) rises with n."""
    return n_log_n(n + more, table) - n_log_n(n, table)


class Forest(NamedTuple):
    """The classes that are left while they are merged: the first `left` rows and columns of each array.

    Merging a and b costs own[a] + own[b] - kept[a, b]: the terms of the likelihood with a or b now, less those with
    their union.
    """

    pairs: Ints  # [classes, classes] N
    turned: Ints  # [classes, classes] N transposed
    firsts: Longs  # [classes]
    seconds: Longs  # [classes]
    own: Doubles  # [classes] the sum of h over the row and the column of a class, less h of its sums
    kept: Doubles  # [classes, classes] for a < b: the terms of their union, and those that own[a] and own[b] share


@kernel
def merge_classes(pairs: Ints, table: Doubles) -> Longs:
    """Merge two classes at a time until one is left, those for which the likelihood falls least.

    Return the two nodes of each merge: [classes - 1, 2]. Nodes are numbered: first the classes, then the merges.
    """
    forest, count = plant(pairs), len(pairs)
    for a in range(count):
        forest.own[a] = own_terms(a, count, forest, table)
        for b in range(a):
            forest.kept[b, a] = kept_terms(b, a, count, forest, table)
    nodes = np.arange(count)  # of each class that is left
    merges = np.zeros((count - 1, 2), np.int64)
    for step in range(count - 1):
        left = count - step
        a, b = cheapest(left, forest)
        merges[step, 0], merges[step, 1] = nodes[a], nodes[b]
        change_terms(a, -1.0, left, forest, table)
        change_terms(b, -1.0, left, forest, table)
        join(a, b, left, forest)
        left -= 1
        nodes[a], nodes[b] = count + step, nodes[left]
        change_terms(a, 1.0, left, forest, table)
        forest.own[a] = own_terms(a, left, forest, table)
        for c in range(left):
            if c != a:
                forest.kept[min(a, c), max(a, c)] = kept_terms(a, c, left, forest, table)
    return merges


@kernel
def plant(pairs: Ints) -> Forest:
    """Return the counts of the classes, and room for the terms."""
    count = len(pairs)
    turned = np.zeros((count, count), np.int32)
    firsts, seconds = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for a in range(count):
        for b in range(count):
            turned[b, a] = pairs[a, b]
            firsts[a] += pairs[a, b]
            seconds[b] += pairs[a, b]
    return Forest(pairs.copy(), turned, firsts, seconds, np.zeros(count), np.zeros((count, count)))


@kernel
def own_terms(a: int, left: int, forest: Forest, table: Doubles) -> float:
    """Return the terms of the likelihood that have class a."""
    total = -n_log_n(forest.pairs[a, a], table) - n_log_n(forest.firsts[a], table) - n_log_n(forest.seconds[a], table)
    for c in range(left):
        total += n_log_n(forest.pairs[a, c], table) + n_log_n(forest.turned[a, c], table)
    return total


@kernel
def kept_terms(a: int, b: int, left: int, forest: Forest, table: Doubles) -> float:
    """Return the terms that the union of a and b would have, and those that both a and b have now."""
    N = forest.pairs
    total = n_log_n(N[a, b], table) + n_log_n(N[b, a], table)
    total -= n_log_n(forest.firsts[a] + forest.firsts[b], table) + n_log_n(forest.seconds[a] + forest.seconds[b], table)
    total += union_terms(N[a], N[b], left, table) + union_terms(forest.turned[a], forest.turned[b], left, table)
    # the sum has four terms for what is one cell of the union
    total -= n_log_n(N[a, a] + N[b, a], table) + n_log_n(N[a, b] + N[b, b], table)
    total -= n_log_n(N[a, a] + N[a, b], table) + n_log_n(N[b, a] + N[b, b], table)
    return total + n_log_n(N[a, a] + N[a, b] + N[b, a] + N[b, b], table)


@kernel
def union_terms(one: Ints, other: Ints, left: int, table: Doubles) -> float:
    """Return the sum of h over the sum of two rows."""
    total = 0.0
    for c in range(left):
        total += n_log_n(one[c] + other[c], table)
    return total


@kernel
def change_terms(c: int, sign: float, left: int, forest: Forest, table: Doubles) -> None:
    """Add the terms with class c to those of all other classes and pairs, or subtract them.

    Terms of c itself are changed, too; they are wrong afterwards, and the caller computes them again.
    """
    for a in range(left):
        forest.own[a] += sign * (n_log_n(forest.pairs[c, a], table) + n_log_n(forest.turned[c, a], table))
    for counts in (forest.pairs[c], forest.turned[c]):
        for a in range(left):
            add_union_terms(counts[a], counts[a + 1 : left], sign, table, forest.kept[a, a + 1 : left])


@kernel
def add_union_terms(count: int, others: Ints, sign: float, table: Doubles, kept: Doubles) -> None:
    """Add h of the sum of a count and each of the others."""
    for b in range(len(others)):
        kept[b] += sign * n_log_n(count + others[b], table)


@kernel
def cheapest(left: int, forest: Forest) -> tuple[int, int]:
    """Return the two classes whose merge costs least; of equal ones, the first."""
    best, first, second = np.inf, 0, 1
    for a in range(left):
        for b in range(a + 1, left):
            cost = forest.own[a] + forest.own[b] - forest.kept[a, b]
            if cost < best:
                best, first, second = cost, a, b
    return first, second


@kernel
def join(a: int, b: int, left: int, forest: Forest) -> None:
    """Add class b to class a, where a < b. The last class takes the place of b."""
    last = left - 1
    for N in (forest.pairs, forest.turned):
        for c in range(left):
            N[a, c] += N[b, c]
        for c in range(left):
            N[c, a] += N[c, b]
        for c in range(left):
            N[b, c] = N[last, c]
        for c in range(left):
            N[c, b] = N[c, last]
    for sums in (forest.firsts, forest.seconds):
        sums[a] += sums[b]
        sums[b] = sums[last]
    forest.own[b] = forest.own[last]
    for c in range(b):
        forest.kept[c, b] = forest.kept[c, last]
    for c in range(b + 1, last):
        forest.kept[b, c] = forest.kept[c, last]


def paths_of(merges: Longs) -> list[str]:
    """Return the path from the root to each class, as bits.

    >>> paths_of(np.array([[0, 2], [1, 3]]))
    ['10', '0', '11']
    """
    paths = [""] * (2 * len(merges) + 1)
    for step in range(len(merges) - 1, -1, -1):
        parent = paths[len(merges) + 1 + step]
        for bit, node in zip("01", merges[step].tolist(), strict=True):
            paths[node] = parent + bit
    return paths[: len(merges) + 1]
