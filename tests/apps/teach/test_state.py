"""The state of a project is a fold of its journal: tested against a slow, literal twin."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sapo.apps.teach.state import ACCEPT, IMPORT, LABEL, REDO, UNDO, Event, ProjectState, TaughtSentence, as_iob2
from sapo.tags.spans import tags_to_spans

PEOPLE = ("anna", "ben", "cem")


@st.composite
def journals(draw: st.DrawFn) -> list[Event]:
    """Make what several people do to three sentences of two tokens."""
    events = []
    for seq in range(1, draw(st.integers(0, 25)) + 1):
        kind = draw(st.sampled_from((ACCEPT, ACCEPT, ACCEPT, UNDO, UNDO, REDO, IMPORT, LABEL)))
        author = draw(st.sampled_from(PEOPLE))
        if kind == LABEL:
            events.append(Event(kind, author, name=draw(st.sampled_from("XYZ")), seq=seq))
        else:
            tags = draw(st.sampled_from((("A", "A"), ("A", "B"), ("B", "B"))))
            events.append(
                Event(kind, author, draw(st.integers(1, 3)), tags if kind in (ACCEPT, IMPORT) else (), seq=seq)
            )
    return events


def holding(events: Sequence[Event]) -> list[Event]:
    """Return the accepts that hold, by looking at the whole past of each: the definition in words, without a stack.

    An undo takes back the last accept of its author that holds. A redo brings back the one that was taken back last,
    unless its author has accepted something since.
    """
    held: list[Event] = []
    taken: list[Event] = []  # back, the last one at the end
    for event in events:
        own = [one for one in held if one.author == event.author and one.kind == ACCEPT]
        if event.kind in (ACCEPT, IMPORT):
            held.append(event)
            if event.kind == ACCEPT:
                taken = [one for one in taken if one.author != event.author]
        elif event.kind == UNDO and own:
            last = max(own, key=lambda one: one.seq)
            held.remove(last)
            taken.append(last)
        elif event.kind == REDO:
            back = [one for one in taken if one.author == event.author]
            if back:
                taken.remove(back[-1])
                held.append(back[-1])
    return sorted(held, key=lambda one: one.seq)


@given(journals())
def test_the_state_is_that_of_the_literal_twin(events: list[Event]) -> None:
    state = ProjectState(events)
    held = holding(events)
    assert state.holding() == held
    for sentence in (1, 2, 3):
        own = [one for one in held if one.sentence == sentence]
        assert state.current(sentence) == (own[-1] if own else None)
        assert state.by_person(sentence) == {one.author: one.tags for one in own}
    assert sorted(state.accepted()) == sorted({one.sentence for one in held if one.sentence})
    tags = [tag for sentence in state.accepted() if (one := state.current(sentence)) for tag in one.tags]
    assert +state.counts == {tag: tags.count(tag) for tag in set(tags)}
    assert state.labels == list(dict.fromkeys(one.name for one in events if one.kind == LABEL))
    assert state.people == list(dict.fromkeys(one.author for one in events if one.kind in (ACCEPT, IMPORT)))


@given(journals(), st.integers(0, 25))
def test_a_journal_can_be_read_in_two_parts(events: list[Event], cut: int) -> None:
    state = ProjectState(events[:cut])
    for event in events[cut:]:
        state.apply(event)
    assert state.holding() == ProjectState(events).holding()
    assert state.since(cut) == events[cut:]


@given(journals())
def test_an_undo_and_a_redo_change_nothing(events: list[Event]) -> None:
    state = ProjectState(events)
    before = state.holding()
    for author in PEOPLE:
        event = state.to_undo(author)
        if event is not None:
            state.apply(Event(UNDO, author, event.sentence, seq=state.seq + 1))
            assert event not in state.holding()
            assert state.to_redo(author) == event
            state.apply(Event(REDO, author, event.sentence, seq=state.seq + 1))
    assert state.holding() == before


def by_characters(sentence: TaughtSentence, tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return spans as characters of the text and their label."""
    offsets = sentence.offsets
    return [(offsets[one.start][0], offsets[one.end - 1][1], one.type) for one in tags_to_spans(tags, "iob2")]


@given(st.data())
def test_spans_stay_where_they_are_whatever_is_cut_later(data: st.DataObject) -> None:
    sentence = TaughtSentence("ab/cd, ef", ((0, 5), (5, 6), (7, 9)))
    state, said = ProjectState(), dict[int, list[tuple[int, int, str]]]()
    for seq in range(1, data.draw(st.integers(1, 8)) + 1):
        author = data.draw(st.sampled_from(PEOPLE[:2]))
        kind = data.draw(st.sampled_from((ACCEPT, ACCEPT, UNDO, REDO)))
        if kind != ACCEPT:
            state.apply(Event(kind, author, 1, seq=seq))
        else:
            free = [place for start, end in sentence.offsets for place in range(start + 1, end)]
            cuts = sentence.find_cuts(data.draw(st.sets(st.sampled_from(free), max_size=2)) if free else ())
            sentence = sentence.cut(cuts)
            letters = data.draw(st.lists(st.sampled_from("OBI"), min_size=len(sentence.offsets), max_size=20))
            tags = as_iob2("spans", [one if one == "O" else f"{one}-X" for one in letters[: len(sentence.offsets)]])
            said[seq] = by_characters(sentence, tags)
            state.apply(Event(kind, author, 1, tags, seq=seq, cuts=cuts))
        assert {one.seq: by_characters(sentence, one.tags) for one in state.holding()}.items() <= said.items()
        tags = state.current(1).tags if state.current(1) else ()  # type: ignore[union-attr]
        assert +state.counts == {tag: tags.count(tag) for tag in set(tags)}
