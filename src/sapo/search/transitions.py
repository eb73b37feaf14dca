"""Parse by arc-hybrid transitions with a beam (Kuhlmann, Gómez-Rodríguez and Satta 2011; Zhang and Nivre 2011).

A state is a stack of words (... s2 s1 s0), the words that are still to come (b0 b1 ...), and the arcs so far. The root
comes after the last word. There are three actions, and 2n of them parse a sentence of n words:

    SHIFT            move b0 to the stack
    LEFT relation    make s0 a dependent of b0, and take it off the stack
    RIGHT relation   make s0 a dependent of s1, and take it off the stack

An action changes only s0, b0 and what they depend on, so a state is one row of numbers: s0 and its outer dependents,
those of b0, and the state in which s1 was s0 (`TAIL`). Nothing is copied but this row (Huang and Sagae 2010).

A feature is a template filled with values of a state; its hash is the exclusive or of the codes of the values. The
weights of a feature stand together: those of the three actions, then those of LEFT and RIGHT with each relation.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from sapo.jit import inlined, kernel
from sapo.jit.arrays import Doubles, Floats, Ints, Longs

SHIFT, LEFT, RIGHT = 0, 1, 2
ACTIONS = 3
TO_RIGHT, TO_LEFT, TO_ROOT = 0, 1, 2  # where the dependent stands, seen from its head

# Columns of a state. Dependents are words; 0 if there is none.
S0, S0_LEFT, S0_LEFT2, S0_RIGHT, S0_RIGHT2, S0_LEFTS, S0_RIGHTS, S0_LEFT_RELATION, S0_RIGHT_RELATION = range(9)
S0_COLUMNS = 9  # describe s0: they are those of s1 in the state TAIL
B0, B0_LEFT, B0_LEFT2, B0_LEFTS, B0_LEFT_RELATION = range(9, 14)
TAIL, DEPTH, PARENT, ACTION, RELATION = range(14, 19)
COLUMNS = 19

# Columns of the codes of a word. The last ones are for word clusters: there are fewer columns without them.
WORD, UPOS, TAG, FEATS, SUFFIX, CLUSTER, CLUSTER6, CLUSTER4 = range(8)
WORD_COLUMNS = 5  # without clusters
BITS = 60
ALL_BITS = (1 << BITS) - 1
COUNTED = 7  # dependents, at most
NEAR = 7  # classes of distances
NUMBERS = NEAR * NEAR  # that have codes, at least
TEMPLATE_VALUES = 4  # at most

# What templates name, in the order in which `_values` writes it.
VALUES = (
    *("s0.word", "s0.upos", "s0.tag", "s0.feats", "s0.suffix"),
    *("s1.word", "s1.upos", "s1.tag", "s1.feats", "s1.suffix"),
    *("b0.word", "b0.upos", "b0.tag", "b0.feats", "b0.suffix"),
    *("b1.word", "b1.tag", "b2.word", "b2.tag", "s2.tag"),
    *("s0.left.word", "s0.left.tag", "s0.left.relation", "s0.left2.tag"),
    *("s0.right.word", "s0.right.tag", "s0.right.relation", "s0.right2.tag"),
    *("s1.left.tag", "s1.left.relation"),
    *("s1.right.word", "s1.right.tag", "s1.right.relation", "s1.right2.tag"),
    *("b0.left.word", "b0.left.tag", "b0.left.relation", "b0.left2.tag"),
    *("s0-b0", "s1-s0", "s1-s0-b0"),  # distances; the last is both
    *("s0.lefts", "s0.rights", "s1.lefts", "s1.rights", "b0.lefts"),  # numbers of dependents
    *("s0.right.suffix", "s1.right.suffix"),  # the case of a phrase is often that of its last word
    *("s0.cluster", "s0.cluster6", "s0.cluster4"),  # the whole path of a word, and its first bits
    *("s1.cluster", "s1.cluster6", "s1.cluster4"),
    *("b0.cluster", "b0.cluster6", "b0.cluster4"),
    "b1.cluster",
)
TEMPLATES = tuple(
    line.strip()
    for line in """
    s0.word s0.tag
    s0.word
    s0.tag
    s0.feats s0.upos
    b0.word b0.tag
    b0.word
    b0.tag
    b0.feats b0.upos
    b1.word b1.tag
    b1.tag
    b2.word b2.tag
    b2.tag
    s1.word s1.tag
    s1.word
    s1.tag
    s1.feats s1.upos
    s2.tag
    s0.word s0.tag b0.word b0.tag
    s0.word s0.tag b0.tag
    s0.tag b0.word b0.tag
    s0.word b0.word
    s0.tag b0.tag
    s0.feats s0.upos b0.feats b0.upos
    b0.tag b1.tag
    s1.word s1.tag s0.word s0.tag
    s1.word s1.tag s0.tag
    s1.tag s0.word s0.tag
    s1.word s0.word
    s1.tag s0.tag
    s1.feats s1.upos s0.feats s0.upos
    s1.word b0.word
    s1.tag b0.tag
    b0.tag b1.tag b2.tag
    s0.tag b0.tag b1.tag
    s1.tag s0.tag b0.tag
    s1.tag s0.tag b0.tag b1.tag
    s2.tag s1.tag s0.tag
    s0.tag s0.left.tag b0.tag
    s0.tag s0.right.tag b0.tag
    s0.tag b0.tag b0.left.tag
    s1.tag s0.tag s0.left.tag
    s1.tag s0.tag s0.right.tag
    s1.tag s1.left.tag s0.tag
    s1.tag s1.right.tag s0.tag
    s1.upos s1.right.tag s0.upos b0.upos
    s0.word s0-b0
    s0.tag s0-b0
    b0.word s0-b0
    b0.tag s0-b0
    s0.tag b0.tag s0-b0
    s0.word b0.word s0-b0
    s1.tag s0.tag s1-s0
    s1.word s0.word s1-s0
    s0.word s0.rights
    s0.tag s0.rights
    s0.word s0.lefts
    s0.tag s0.lefts
    b0.word b0.lefts
    b0.tag b0.lefts
    s1.word s1.rights
    s1.tag s1.rights s1.lefts
    s0.left.word s0.left.relation s0.upos
    s0.left.tag s0.left.relation s0.tag
    s0.right.word s0.right.relation s0.upos
    s0.right.tag s0.right.relation s0.tag
    b0.left.word b0.left.relation b0.upos
    b0.left.tag b0.left.relation b0.tag
    s1.right.word s1.right.relation s1.upos
    s1.right.tag s1.right.relation s1.tag
    s1.left.tag s1.left.relation s1.tag
    s0.tag s0.left.tag s0.left2.tag
    s0.tag s0.right.tag s0.right2.tag
    b0.tag b0.left.tag b0.left2.tag
    s1.tag s1.right.tag s1.right2.tag
    s0.upos s0.left.relation s0.right.relation b0.upos
    s1.upos s1.left.relation s1.right.relation s0.upos
    b0.upos b0.left.relation s0.upos s0.left.relation
    s0.suffix s0.upos b0.tag
    s0.tag b0.suffix b0.upos
    s1.suffix s1.upos s0.tag
    s1.tag s0.suffix s0.upos
    s0.right.suffix s0.upos b0.tag
    s0.right.suffix s0.upos b0.word
    s1.tag s0.right.suffix s0.upos
    s1.right.suffix s1.upos s0.tag
    s1.word s0.tag b0.tag
    s1.tag s0.word b0.tag
    s1.tag s0.tag b0.word
    s0.word b0.tag b1.tag
    s1.upos s0.upos b0.upos s1-s0-b0
    s1.word s1.right.relation s0.upos s0.word
""".strip().splitlines()
)
# Clusters stand in for words and for tags, as in Koo, Carreras and Collins (2008).
CLUSTER_TEMPLATES = tuple(
    line.strip()
    for line in """
    s0.cluster s0.tag
    b0.cluster b0.tag
    s1.cluster s1.tag
    b1.cluster b1.tag
    s0.cluster b0.cluster
    s1.cluster s0.cluster
    s0.cluster6 b0.cluster6
    s1.cluster6 s0.cluster6
    s0.tag b0.tag s0.cluster4 b0.cluster4
    s1.tag s0.tag s1.cluster4 s0.cluster4
    s0.cluster6 s0.upos b0.tag
    s0.tag b0.cluster6 b0.upos
    s1.cluster6 s1.upos s0.tag
    s1.tag s0.cluster6 s0.upos
    s0.word b0.cluster
    s0.cluster b0.word
    s1.word s0.cluster
    s1.cluster s0.word
    s1.cluster6 s0.cluster6 b0.cluster6
""".strip().splitlines()
)


def code_of(kind: str, text: str) -> int:
    """Return the code of a value: a number of 60 bits that looks random, the same everywhere."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=kind.encode()[:16]).digest()
    return int.from_bytes(digest, "little") & ALL_BITS


def template_table(templates: Sequence[str]) -> tuple[Longs, Longs]:
    """Return the numbers of the values of each template, filled up with that of nothing, and its code."""
    table = np.full((len(templates), TEMPLATE_VALUES), len(VALUES), np.int64)
    for t, template in enumerate(templates):
        for i, name in enumerate(template.split()):
            table[t, i] = VALUES.index(name)
    return table, np.array([code_of("template", template) for template in templates], np.int64)


class Grammar(NamedTuple):
    """What is fixed before learning: how features are hashed, and the relations of each pair of tags."""

    table: Longs  # [templates, most values] the values of each template
    templates: Longs  # [templates] codes
    numbers: Longs  # [relations + 1, or more] codes of relations, which count from 1 here, and of small numbers
    starts: Ints  # [tags, tags, 3] where the relations of a head, a dependent and a direction begin in `relations`
    ends: Ints  # [tags, tags, 3]
    relations: Ints
    mask: int  # of the bits of a hash that are used


class EncodedTrees(NamedTuple):
    """The encoded sentences. A sentence of n words has n + 4 rows: nothing, its words, the root, and nothing twice."""

    offsets: Longs  # [sentences + 1]
    codes: Longs  # [rows, 5, or 8 with clusters]
    tags: Ints  # [rows] numbers of UPOS, for the relations of a pair
    heads: Ints  # [rows] of projective trees: the root is the word n + 1; 0 where no tree is known
    relations: Ints  # [rows]


class Beam(NamedTuple):
    """All states of a search, and work space."""

    states: Ints  # [room, COLUMNS]
    scores: Doubles  # [room]
    begins: Longs  # [steps + 1] the first state of the beam before each step, the best one
    counts: Longs  # [steps + 1] how many there are
    gold: Longs  # [steps + 1] the gold state before each step: in the beam, or in a line of its own
    values: Longs  # [values + 1]
    hashes: Longs  # [templates]
    seen: Longs  # [width, 2] a code of the values of each state in the beam, and the first state with the same values
    actions: Floats  # [width, ACTIONS] the scores of each
    labels: Floats  # [width, most relations of two pairs of tags] and of LEFT and then RIGHT with each relation
    places: Longs  # as many
    found: Doubles  # [width] scores of the best actions
    choices: Longs  # [width, 3] and what they are: state, action, relation


@kernel
@inlined
def _turned(code: int, by: int) -> int:
    """Rotate a code, so that the same word at two places gives two codes."""
    return ((code << by) & ALL_BITS) | (code >> (BITS - by))


@kernel
@inlined
def _near(distance: int) -> int:
    """Return the class of a distance."""
    if distance < 5:
        return distance
    return 5 if distance < 10 else 6


@kernel
def _values(first: int, state: int, states: Ints, codes: Longs, numbers: Longs, values: Longs) -> None:
    """Write the codes of everything that templates look at, each turned by its place."""
    tail = states[state, TAIL]
    s0 = states[state, S0]
    s1 = states[tail, S0]
    b0 = states[state, B0]
    k = 0
    for word in (s0, s1, b0):
        for column in range(WORD_COLUMNS):
            values[k] = codes[first + word, column]
            k += 1
    values[k] = codes[first + b0 + 1, WORD]
    values[k + 1] = codes[first + b0 + 1, TAG]
    values[k + 2] = codes[first + b0 + 2, WORD]
    values[k + 3] = codes[first + b0 + 2, TAG]
    values[k + 4] = codes[first + states[states[tail, TAIL], S0], TAG]
    values[k + 5] = codes[first + states[state, S0_LEFT], WORD]
    values[k + 6] = codes[first + states[state, S0_LEFT], TAG]
    values[k + 7] = numbers[states[state, S0_LEFT_RELATION]]
    values[k + 8] = codes[first + states[state, S0_LEFT2], TAG]
    values[k + 9] = codes[first + states[state, S0_RIGHT], WORD]
    values[k + 10] = codes[first + states[state, S0_RIGHT], TAG]
    values[k + 11] = numbers[states[state, S0_RIGHT_RELATION]]
    values[k + 12] = codes[first + states[state, S0_RIGHT2], TAG]
    values[k + 13] = codes[first + states[tail, S0_LEFT], TAG]
    values[k + 14] = numbers[states[tail, S0_LEFT_RELATION]]
    values[k + 15] = codes[first + states[tail, S0_RIGHT], WORD]
    values[k + 16] = codes[first + states[tail, S0_RIGHT], TAG]
    values[k + 17] = numbers[states[tail, S0_RIGHT_RELATION]]
    values[k + 18] = codes[first + states[tail, S0_RIGHT2], TAG]
    values[k + 19] = codes[first + states[state, B0_LEFT], WORD]
    values[k + 20] = codes[first + states[state, B0_LEFT], TAG]
    values[k + 21] = numbers[states[state, B0_LEFT_RELATION]]
    values[k + 22] = codes[first + states[state, B0_LEFT2], TAG]
    between = _near(b0 - s0) if s0 > 0 else 0
    before = _near(s0 - s1) if s1 > 0 else 0
    values[k + 23] = numbers[between]
    values[k + 24] = numbers[before]
    values[k + 25] = numbers[NEAR * before + between]
    values[k + 26] = numbers[min(states[state, S0_LEFTS], COUNTED)]
    values[k + 27] = numbers[min(states[state, S0_RIGHTS], COUNTED)]
    values[k + 28] = numbers[min(states[tail, S0_LEFTS], COUNTED)]
    values[k + 29] = numbers[min(states[tail, S0_RIGHTS], COUNTED)]
    values[k + 30] = numbers[min(states[state, B0_LEFTS], COUNTED)]
    values[k + 31] = codes[first + states[state, S0_RIGHT], SUFFIX]
    values[k + 32] = codes[first + states[tail, S0_RIGHT], SUFFIX]
    k += 33
    if codes.shape[1] > WORD_COLUMNS:
        for word in (s0, s1, b0):
            for column in range(CLUSTER, CLUSTER4 + 1):
                values[k] = codes[first + word, column]
                k += 1
        values[k] = codes[first + b0 + 1, CLUSTER]
        k += 1
    for i in range(k):
        values[i] = _turned(values[i], i + 1)
    for i in range(k, len(values)):
        values[i] = 0


@kernel
def _hash(table: Longs, templates: Longs, mask: int, values: Longs, hashes: Longs) -> None:
    """Write where the weights of each feature begin."""
    for t in range(len(table)):
        code = templates[t] ^ values[table[t, 0]] ^ values[table[t, 1]] ^ values[table[t, 2]] ^ values[table[t, 3]]
        hashes[t] = code & mask


@kernel
@inlined
def relation_row(hash: int, action: int, relation: int) -> int:
    """Return the place of the weight of an action with a relation."""
    return hash + ACTIONS + 2 * relation + action - LEFT


@kernel
def _score(
    hashes: Longs,  # [templates]
    lefts: Ints,  # the relations that LEFT may have
    rights: Ints,
    v: Floats,
    places: Longs,  # work
    actions: Floats,  # [ACTIONS] out
    labels: Floats,  # out
) -> None:
    """Add up the weights of the actions in a state, and of LEFT and then RIGHT with each relation."""
    count = len(lefts) + len(rights)
    for i in range(len(lefts)):
        places[i] = relation_row(0, LEFT, lefts[i])
    for i in range(len(rights)):
        places[len(lefts) + i] = relation_row(0, RIGHT, rights[i])
    for i in range(count):
        labels[i] = 0.0
    shift, left, right = np.float32(0), np.float32(0), np.float32(0)
    t = 0
    while t + 4 <= len(hashes):  # four features at a time: they come from memory together
        a, b, c, d = hashes[t], hashes[t + 1], hashes[t + 2], hashes[t + 3]
        shift += (v[a] + v[b]) + (v[c] + v[d])
        left += (v[a + LEFT] + v[b + LEFT]) + (v[c + LEFT] + v[d + LEFT])
        right += (v[a + RIGHT] + v[b + RIGHT]) + (v[c + RIGHT] + v[d + RIGHT])
        for i in range(count):
            p = places[i]
            labels[i] += (v[a + p] + v[b + p]) + (v[c + p] + v[d + p])
        t += 4
    while t < len(hashes):
        a = hashes[t]
        shift += v[a]
        left += v[a + LEFT]
        right += v[a + RIGHT]
        for i in range(count):
            labels[i] += v[a + places[i]]
        t += 1
    actions[SHIFT] = shift
    actions[LEFT] = left
    actions[RIGHT] = right


@kernel
def _apply(state: int, action: int, relation: int, new: int, states: Ints) -> None:
    """Write the state after an action."""
    b0 = states[state, B0]
    tail = states[state, TAIL]
    for column in range(B0, B0_LEFT_RELATION + 1):
        states[new, column] = states[state, column]
    if action == SHIFT:
        states[new, S0] = b0
        states[new, S0_LEFT] = states[state, B0_LEFT]
        states[new, S0_LEFT2] = states[state, B0_LEFT2]
        states[new, S0_LEFTS] = states[state, B0_LEFTS]
        states[new, S0_LEFT_RELATION] = states[state, B0_LEFT_RELATION]
        states[new, S0_RIGHT] = 0
        states[new, S0_RIGHT2] = 0
        states[new, S0_RIGHTS] = 0
        states[new, S0_RIGHT_RELATION] = 0
        states[new, B0] = b0 + 1
        for column in range(B0_LEFT, B0_LEFT_RELATION + 1):
            states[new, column] = 0
        states[new, TAIL] = state
        states[new, DEPTH] = states[state, DEPTH] + 1
    else:
        for column in range(S0_COLUMNS):
            states[new, column] = states[tail, column]
        if action == LEFT:
            states[new, B0_LEFT2] = states[state, B0_LEFT]
            states[new, B0_LEFT] = states[state, S0]
            states[new, B0_LEFTS] += 1
            states[new, B0_LEFT_RELATION] = relation + 1
        else:
            states[new, S0_RIGHT2] = states[tail, S0_RIGHT]
            states[new, S0_RIGHT] = states[state, S0]
            states[new, S0_RIGHTS] += 1
            states[new, S0_RIGHT_RELATION] = relation + 1
        states[new, TAIL] = states[tail, TAIL]
        states[new, DEPTH] = states[state, DEPTH] - 1
    states[new, PARENT] = state
    states[new, ACTION] = action
    states[new, RELATION] = relation


@kernel
def _relations_of(
    state: int, n: int, first: int, grammar: Grammar, forest: EncodedTrees, states: Ints
) -> tuple[int, ...]:
    """Return where the relations of LEFT begin and end, and those of RIGHT; nothing where the action is not allowed."""
    tags = forest.tags
    s0 = states[state, S0]
    b0 = states[state, B0]
    depth = states[state, DEPTH]
    a, b, c, d = 0, 0, 0, 0
    if depth > 0 and (b0 <= n or depth == 1):  # the root has one dependent
        head, dependent = tags[first + b0], tags[first + s0]
        direction = TO_LEFT if b0 <= n else TO_ROOT
        a = grammar.starts[head, dependent, direction]
        b = grammar.ends[head, dependent, direction]
    if depth > 1:
        head, dependent = tags[first + states[states[state, TAIL], S0]], tags[first + s0]
        c = grammar.starts[head, dependent, TO_RIGHT]
        d = grammar.ends[head, dependent, TO_RIGHT]
    return a, b, c, d


@kernel
def _offer(score: float, state: int, action: int, relation: int, count: int, found: Doubles, choices: Longs) -> int:
    """Put an action among the best of this step, if it is one of them; return how many there are."""
    width = len(found)
    if count == width and not score > found[count - 1]:
        return count
    place = count if count < width else width - 1
    while place > 0 and found[place - 1] < score:
        found[place] = found[place - 1]
        for i in range(3):
            choices[place, i] = choices[place - 1, i]
        place -= 1
    found[place] = score
    choices[place, 0] = state
    choices[place, 1] = action
    choices[place, 2] = relation
    return min(count + 1, width)


@kernel
def static_oracle(state: int, n: int, first: int, forest: EncodedTrees, last: Ints, states: Ints) -> int:
    """Return the action that leads to the gold tree; `last` has the last dependent of each word."""
    heads = forest.heads
    if states[state, DEPTH] > 0:
        s0 = states[state, S0]
        b0 = states[state, B0]
        if heads[first + s0] == b0:
            return LEFT
        if states[state, DEPTH] > 1 and heads[first + s0] == states[states[state, TAIL], S0] and last[s0] < b0:
            return RIGHT
    return SHIFT


@kernel
def search_beam(
    sentence: int, grammar: Grammar, forest: EncodedTrees, v: Floats, scale: float, learning: bool, beam: Beam
) -> int:
    """Search a sentence; return the step at which its candidates end, which is the last one in parsing.

    In learning, follow the gold tree, too. If the beam loses it, candidates end at the step where the best of the beam
    is better than the gold state by the most (maximum violation: Huang, Fayong and Guo 2012).
    """
    states, scores, begins, counts, gold = beam.states, beam.scores, beam.begins, beam.counts, beam.gold
    values, hashes, seen, actions, labels = beam.values, beam.hashes, beam.seen, beam.actions, beam.labels
    found, choices, lists, numbers = beam.found, beam.choices, grammar.relations, grammar.numbers
    first = forest.offsets[sentence]
    n = forest.offsets[sentence + 1] - first - 4
    steps = 2 * n
    last = np.zeros(n + 2, np.int32)
    if learning:
        for m in range(1, n + 1):
            last[forest.heads[first + m]] = m
    for column in range(COLUMNS):
        states[0, column] = 0
    states[0, B0] = 1
    states[0, PARENT] = -1
    scores[0] = 0.0
    begins[0] = 0
    counts[0] = 1
    gold[0] = 0
    used = 1
    in_beam = learning
    worst = -np.inf
    end = steps
    for step in range(steps):
        count = 0
        for i in range(counts[step]):
            state = begins[step] + i
            a, b, c, d = _relations_of(state, n, first, grammar, forest, states)
            _values(first, state, states, forest.codes, numbers, values)
            code = states[state, B0]
            for k in range(len(values)):
                code ^= values[k]
            # Some states differ only in what no template looks at, so their actions score the same: this saves a fifth.
            same = i
            for j in range(i):
                if seen[j, 0] == code:
                    same = seen[j, 1]
                    break
            seen[i, 0] = code
            seen[i, 1] = same
            if same == i:
                _hash(grammar.table, grammar.templates, grammar.mask, values, hashes)
                _score(hashes, lists[a:b], lists[c:d], v, beam.places, actions[i], labels[i])
            base = scores[state]
            if states[state, B0] <= n:
                count = _offer(base + scale * float(actions[same, SHIFT]), state, SHIFT, 0, count, found, choices)
            for k in range(b - a):
                score = base + scale * (float(actions[same, LEFT]) + float(labels[same, k]))
                count = _offer(score, state, LEFT, lists[a + k], count, found, choices)
            for k in range(d - c):
                score = base + scale * (float(actions[same, RIGHT]) + float(labels[same, b - a + k]))
                count = _offer(score, state, RIGHT, lists[c + k], count, found, choices)
        action, relation = SHIFT, 0
        if learning:
            action = static_oracle(gold[step], n, first, forest, last, states)
            if action != SHIFT:
                relation = forest.relations[first + states[gold[step], S0]]
        begins[step + 1] = used
        counts[step + 1] = count
        gold[step + 1] = -1
        for i in range(count):
            state = choices[i, 0]
            _apply(state, choices[i, 1], choices[i, 2], used, states)
            scores[used] = found[i]
            if in_beam and state == gold[step] and choices[i, 1] == action and choices[i, 2] == relation:
                gold[step + 1] = used
            used += 1
        if learning and gold[step + 1] < 0:
            in_beam = False
            scores[used] = scores[gold[step]] + scale * score_action(
                first, gold[step], action, relation, grammar, forest, v, beam
            )
            _apply(gold[step], action, relation, used, states)
            gold[step + 1] = used
            if scores[begins[step + 1]] - scores[used] > worst:
                worst = scores[begins[step + 1]] - scores[used]
                end = step + 1
            used += 1
    return int(end)


@kernel
def score_action(
    first: int, state: int, action: int, relation: int, grammar: Grammar, forest: EncodedTrees, v: Floats, beam: Beam
) -> float:
    """Return the score of one action in a state."""
    _values(first, state, beam.states, forest.codes, grammar.numbers, beam.values)
    _hash(grammar.table, grammar.templates, grammar.mask, beam.values, beam.hashes)
    score, label = np.float32(0), np.float32(0)
    for t in range(len(beam.hashes)):
        score += v[beam.hashes[t] + action]
        if action != SHIFT:
            label += v[relation_row(beam.hashes[t], action, relation)]
    return float(score) + float(label)


@kernel
def trace(first: int, states: Ints, parts: Longs) -> None:
    """Write the parts of candidates, each of which ends in a state from `first` on.

    A part is an action in a state. Its number is the state that it led to.
    """
    for k in range(len(parts)):
        state = first + k
        for i in range(parts.shape[1] - 1, -1, -1):
            parts[k, i] = state
            state = states[state, PARENT]


@kernel
def read_tree(state: int, n: int, states: Ints, heads: Longs, relations: Longs) -> None:
    """Write the heads and relations of the words 1 to n that the actions up to a state made; the root is 0."""
    while states[state, PARENT] >= 0:
        before = states[state, PARENT]
        action = states[state, ACTION]
        if action != SHIFT:
            m = states[before, S0]
            head = states[before, B0] if action == LEFT else states[states[before, TAIL], S0]
            heads[m] = head if head <= n else 0
            relations[m] = states[state, RELATION]
        state = before


@kernel
def part_rows(
    sentence: int, parts: Longs, grammar: Grammar, forest: EncodedTrees, beam: Beam, rows: Longs, offsets: Longs
) -> None:
    """Write the rows of the features of some actions: of the action, and unless it is SHIFT, with its relation."""
    first = forest.offsets[sentence]
    used = 0
    for i in range(len(parts)):
        action = beam.states[parts[i], ACTION]
        relation = beam.states[parts[i], RELATION]
        _values(first, beam.states[parts[i], PARENT], beam.states, forest.codes, grammar.numbers, beam.values)
        _hash(grammar.table, grammar.templates, grammar.mask, beam.values, beam.hashes)
        for t in range(len(beam.hashes)):
            rows[used] = beam.hashes[t] + action
            used += 1
            if action != SHIFT:
                rows[used] = relation_row(beam.hashes[t], action, relation)
                used += 1
        offsets[i + 1] = used


def open_beam(longest: int, width: int, templates: int, most_relations: int, *, learning: bool) -> Beam:
    """Return room to search sentences of up to `longest` words."""
    steps = 2 * longest
    room = steps * (width + learning) + 1
    return Beam(
        states=np.zeros((room, COLUMNS), np.int32),
        scores=np.zeros(room),
        begins=np.zeros(steps + 1, np.int64),
        counts=np.zeros(steps + 1, np.int64),
        gold=np.zeros(steps + 1, np.int64),
        values=np.zeros(len(VALUES) + 1, np.int64),
        hashes=np.zeros(templates, np.int64),
        seen=np.zeros((width, 2), np.int64),
        actions=np.zeros((width, ACTIONS), np.float32),
        labels=np.zeros((width, max(1, 2 * most_relations)), np.float32),
        places=np.zeros(max(1, 2 * most_relations), np.int64),
        found=np.zeros(width),
        choices=np.zeros((width, 3), np.int64),
    )
