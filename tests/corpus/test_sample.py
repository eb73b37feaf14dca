"""The bundled sample keeps the rules of its four columns: rules that hold for it and catch the usual slips."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest

from sapo.corpus import read
from sapo.corpus.sample import COLUMNS, sample_path
from sapo.corpus.schemes import Span, tags_to_spans

PARTS = ("train", "test")

PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ . , : `` '' -LRB- -RRB-"
)
PENN_TAGS = set(PENN.split())
CHUNK_TYPES = {"NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ"}
ENTITY_TYPES = {"PER", "LOC", "ORG", "MISC"}

VERBS = {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"}
FINITE_VERBS = {"VBD", "VBP", "VBZ", "MD"}
NOUNS = {"NN", "NNS", "NNP", "NNPS"}
TITLES = re.compile("(Mr|Mrs|Ms|Dr)[.]|Miss|Professor|Judge|Senator|Ambassador|Councilman|Mayor|King|Aunt|Uncle|Señor")
DATES = re.compile(
    "(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|"
    "October|November|December"
)
NUMBERS = (
    r"[\d,.:/-]*\d[\d,.:/-]*|one|two|three|five|(four|six|seven|eigh|nine)(t|teen|ty)?|eight|ten|eleven|twelve|"
    "thirteen|fifteen|twenty|thirty|forty|fifty|hundred|thousand|million|billion"
)


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    pos: str
    chunk: str
    entity: str

    def __str__(self) -> str:
        return f"{self.word}/{self.pos}/{self.chunk}/{self.entity}"


Sentence = list[Token]


def sentences_of(part: str) -> list[Sentence]:
    found = []
    for sentence in read(sample_path(part), columns=COLUMNS, label="entity"):
        assert sentence.tags is not None
        columns = (sentence.columns[name] for name in ("word", "pos", "chunk"))
        found.append([Token(*fields) for fields in zip(*columns, sentence.tags, strict=True)])
    return found


SENTENCES = {part: sentences_of(part) for part in PARTS}
ALL = [sentence for part in PARTS for sentence in SENTENCES[part]]
ENDLESS = Token("", "", "O", "O")  # what stands before and behind a sentence


def around() -> Iterator[tuple[Token, Token, Token]]:
    """Each token with the one before and the one behind it."""
    for sentence in ALL:
        yield from zip([ENDLESS, *sentence], sentence, [*sentence[1:], ENDLESS], strict=False)


def chunks(kind: str) -> Iterator[tuple[Sentence, Span]]:
    for sentence in ALL:
        for span in tags_to_spans([token.chunk for token in sentence], "iob2"):
            if span.type == kind:
                yield sentence, span


def entities() -> Iterator[tuple[Sentence, Span]]:
    for sentence in ALL:
        for span in tags_to_spans([token.entity for token in sentence], "iob2"):
            yield sentence, span


def words(sentence: Sentence) -> str:
    return " ".join(token.word for token in sentence)


# the file


@pytest.mark.parametrize("part", PARTS)
def test_every_line_has_four_columns_with_tabs_between_and_sentences_end_with_one_empty_line(part: str) -> None:
    text = sample_path(part).read_text(encoding="utf-8")
    assert text == text.strip() + "\n"
    assert "\n\n\n" not in text
    assert "\r" not in text
    lines = [line for line in text.splitlines() if line]
    assert [line for line in lines if len(line.split("\t")) != len(COLUMNS) or not all(line.split("\t"))] == []
    assert len(lines) == sum(len(sentence) for sentence in SENTENCES[part])


def test_there_are_enough_sentences_and_a_fifth_of_them_is_for_the_test() -> None:
    train, test = (len(SENTENCES[part]) for part in PARTS)
    assert train + test >= 400
    assert test * 5 == train + test


def test_the_readme_counts_the_sentences_right() -> None:
    readme = sample_path("train").with_name("README.md").read_text(encoding="utf-8")
    train, test = (len(SENTENCES[part]) for part in PARTS)
    for said in (f"{train + test} English sentences", f"{train} to train on", f"{test} to test"):
        assert said in " ".join(readme.split())


def test_no_sentence_comes_twice_not_even_with_other_capitals_or_numbers() -> None:
    seen = Counter(re.sub(r"\d+", "0", words(sentence).lower()) for sentence in ALL)
    assert [sentence for sentence, count in seen.items() if count > 1] == []


def test_no_test_sentence_is_nearly_one_of_training() -> None:
    def pieces(sentence: Sentence) -> set[str]:
        return {words(sentence[i : i + 6]) for i in range(len(sentence) - 5)}

    known = {piece for sentence in SENTENCES["train"] for piece in pieces(sentence)}
    assert [words(sentence) for sentence in SENTENCES["test"] if len(pieces(sentence) & known) > 2] == []


# words


def test_words_have_no_blanks_no_odd_characters_and_one_way_of_writing() -> None:
    odd = [
        token.word
        for sentence in ALL
        for token in sentence
        if not token.word.isprintable()
        or re.search(r"\s", token.word)
        or unicodedata.normalize("NFC", token.word) != token.word
        or re.search("[“”‘’…—]", token.word)  # noqa: RUF001
    ]
    assert odd == []


def test_every_sentence_begins_with_a_capital_a_number_or_a_quote() -> None:
    assert [words(s) for s in ALL if not re.match(r"[^\W\d_a-z]|[\d$]|``", s[0].word)] == []


def test_every_sentence_ends_with_final_punctuation_which_stands_nowhere_else() -> None:
    wrong = []
    for sentence in ALL:
        end = [token for token in sentence if token.pos != "''"][-1]
        finals = [token for token in sentence if token.pos == "."]
        inside = [token for token in finals if token is not end]
        if end.pos != "." or any(token.word == "." for token in inside):
            wrong.append(words(sentence))
    assert wrong == []


def test_quotes_and_brackets_open_and_close_in_turn() -> None:
    wrong = []
    for sentence in ALL:
        quotes = " ".join(token.pos for token in sentence if token.pos in ("``", "''"))
        brackets = " ".join(token.pos for token in sentence if token.pos in ("-LRB-", "-RRB-"))
        if not re.fullmatch("(`` '' ?)*", quotes) or not re.fullmatch("(-LRB- -RRB- ?)*", brackets):
            wrong.append(words(sentence))
    assert wrong == []


def test_no_word_is_written_twice_in_a_row() -> None:
    twice = [(before, token) for before, token, _ in around() if before.word.lower() == token.word.lower()]
    assert [
        f"{before} {token}" for before, token in twice if (before.pos, token.pos) != ("IN", "DT")
    ] == []  # that that


def test_a_stands_before_consonants_and_an_before_vowels() -> None:
    # by sound: an hour, a European, a one, a unit; the sign of a currency is spoken behind its number
    vowel = re.compile(r"(?i)hour|honest|honou?r|heir|8|11\b|18\b|(?!eu|one|once|uni[^n]|us[eu]|ur|uk)[aeiou]")
    wrong = []
    for sentence in ALL:
        spoken = [token.word.lower() for token in sentence if token.pos not in ("$", "``")]
        for article, word in pairwise(spoken):
            if article in ("a", "an") and (article == "an") != bool(vowel.match(word)):
                wrong.append(f"{article} {word}")
    assert wrong == []


# parts of speech


def test_parts_of_speech_are_those_of_the_penn_treebank() -> None:
    assert {token.pos for sentence in ALL for token in sentence} - PENN_TAGS == set()


WORD_RULES = {
    "DT": r"the|an?|this|that|these|those|every|each|no|some|any|all|both|neither|either|another|half",
    "PDT": r"all|half|both|such|quite",
    "PRP": r"I|you|he|she|it|we|they|me|him|her|us|them|(my|your|him|her|it)self|(our|your|them)selves|mine|yours",
    "PRP$": r"my|your|his|her|its|our|their",
    "WDT": r"which|that|what|whatever|whichever",
    "WP": r"who|whom|what|whoever",
    "WP$": r"whose",
    "WRB": r"how|where|when|why|whenever|wherever",
    "EX": r"there",
    "TO": r"to",
    "CC": r"and|or|but|nor|neither|either|both|yet|&",
    "MD": r"will|would|can|could|should|must|may|might|shall|ca|wo|'ll|'d|ought|need",
    "POS": r"'s|'",
    "RP": r"up|down|out|off|in|on|over|away|back|around|through|along|apart",
    "VBZ": r".*s|'s",
    "VBP": r"(?!.*[^s]s$).*",
    "VBG": r".*ing",
    "NNPS": r".*s",
    "JJS": r".*est|most|least|best|worst",
    "JJR": r".*er|more|less|better|worse",
    "RBR": r".*er|more|less|better|worse",
    ".": r"[.?!]",
    ",": r",",
    ":": r"[:;]|--|\.\.\.",
    "$": r"[$£€]",
    "``": r"``",
    "''": r"''",
    "-LRB-": r"-LRB-",
    "-RRB-": r"-RRB-",
    "CD": NUMBERS,
}


@pytest.mark.parametrize("pos", WORD_RULES)
def test_words_of_a_closed_class_belong_to_it(pos: str) -> None:
    allowed = re.compile(WORD_RULES[pos], re.IGNORECASE)
    assert [token.word for s in ALL for token in s if token.pos == pos and not allowed.fullmatch(token.word)] == []


TAG_RULES = {
    r"the|an?|every|this|those|these|each|any|some": {"DT"},
    r"and|or|but|nor": {"CC"},
    r"of|at|from|with|into|by|for|during|without|because|if|although|whether|unless|under|between|than": {"IN"},
    r"to": {"TO"},
    r"he|she|we|they|it|him|them|us|me": {"PRP"},
    r"his|its|their|our|my|your": {"PRP$"},
    r"is|has|does": {"VBZ"},
    r"are|am|'re|'m": {"VBP"},
    r"was|were|had|did": {"VBD"},
    r"been": {"VBN"},
    r"be": {"VB"},
    r"not|n't|never|very|too|also|always": {"RB"},
    r"who|whom": {"WP"},
    r"which": {"WDT"},
    r"that": {"IN", "WDT", "DT"},
    r"%": {"NN"},
    r".*\d.*": {"CD"},
    r"\w{3,}ly": {"RB", "JJ", "NN"},
}


@pytest.mark.parametrize("pattern", TAG_RULES)
def test_common_words_have_no_tags_but_their_own(pattern: str) -> None:
    # a name may hold any word
    found = {token for s in ALL for token in s if re.fullmatch(pattern, token.word, re.IGNORECASE)}
    assert found
    assert [str(token) for token in found if token.pos not in TAG_RULES[pattern] | {"NNP", "NNPS"}] == []


def test_names_have_capitals_and_capitals_inside_a_sentence_are_names() -> None:
    wrong = []
    for before, token, _ in around():
        first = before is ENDLESS or before.pos in ("``", ":")
        capital = token.word[0].isupper()
        name = token.pos in ("NNP", "NNPS") or token.entity != "O" or token.word == "I"
        if (token.pos in ("NNP", "NNPS") and not capital) or (capital and not first and not name):
            wrong.append(str(token))
    assert wrong == []


def test_a_name_that_is_no_entity_is_a_title_or_a_date() -> None:
    rest = [t.word for s in ALL for t in s if t.pos in ("NNP", "NNPS") and t.entity == "O"]
    assert [word for word in rest if not TITLES.fullmatch(word) and not DATES.fullmatch(word)] == []


FORM_RULES = {
    # a verb or 'to' inside a verb chunk, the forms that may follow it, adverbs apart
    r"to|do|does|did|will|would|can|could|should|must|might|may|ca|wo": {"VB"},
    r"have|has|had|having": {"VBN", "TO"},
    r"am|is|are|was|were|be|been|being": {"VBN", "VBG", "TO"},
}


@pytest.mark.parametrize("pattern", FORM_RULES)
def test_an_auxiliary_is_followed_by_the_right_form(pattern: str) -> None:
    pairs = []
    for sentence, span in chunks("VP"):
        verbs = [token for token in sentence[span.start : span.end] if token.pos not in ("RB", "RBR")]
        pairs += [(first, second) for first, second in pairwise(verbs) if re.fullmatch(pattern, first.word.lower())]
    assert pairs
    assert [f"{first} {second}" for first, second in pairs if second.pos not in FORM_RULES[pattern]] == []


def test_a_base_form_inside_a_verb_chunk_follows_an_auxiliary() -> None:
    wrong = []
    for sentence, span in chunks("VP"):
        verbs = [token for token in sentence[span.start : span.end] if token.pos not in ("RB", "RBR")]
        for first, second in pairwise(verbs):
            if second.pos == "VB" and first.pos not in ("MD", "TO") and first.word.lower() not in ("do", "does", "did"):
                wrong.append(f"{first} {second}")
    assert wrong == []


# chunks


def test_chunks_are_valid_iob2_and_of_known_types() -> None:
    found = Counter(span.type for s in ALL for span in tags_to_spans([token.chunk for token in s], "iob2"))
    assert set(found) <= CHUNK_TYPES
    assert min(found[kind] for kind in ("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT")) >= 20


CHUNK_RULES = {
    "DT": r"[BI]-NP|I-ADVP",  # at all
    "PDT": r"B-NP",
    "PRP": r"B-NP",
    "PRP$": r"[BI]-NP",
    "WP": r"B-NP",
    "WP$": r"B-NP",
    "WDT": r"B-NP",
    "EX": r"B-NP",
    "POS": r"B-NP",
    "NN": r"[BI]-NP|I-SBAR",  # in order
    "NNS": r"[BI]-NP",
    "NNP": r"[BI]-NP",
    "NNPS": r"[BI]-NP",
    "CD": r"[BI]-NP",
    "$": r"[BI]-NP",
    "JJ": r"[BI]-(NP|ADJP)",
    "JJR": r"[BI]-(NP|ADJP)",
    "JJS": r"[BI]-(NP|ADJP)",
    "MD": r"B-VP",
    "VBD": r"B-VP",
    "VBP": r"B-VP",
    "VBZ": r"B-VP",
    "VB": r"[BI]-VP",
    "VBG": r"[BI]-(VP|NP)|B-PP",  # according, including
    "VBN": r"[BI]-(VP|NP)|B-ADJP|B-PP",  # compared with
    "TO": r"[BI]-VP|B-PP",
    "RP": r"B-PRT",
    "UH": r"B-INTJ",
    "RB": r"[BI]-(ADVP|ADJP|CONJP)|I-VP|[BI]-NP|B-(PP|SBAR)",
    "RBR": r"[BI]-(ADVP|ADJP)",
    "WRB": r"B-ADVP|B-NP",
    "IN": r"[BI]-(PP|SBAR|NP)|B-ADVP|I-CONJP|O",
    "CC": r"O|I-(NP|ADJP|ADVP|VP)",
    ",": r"O|I-(NP|ADJP)",
    ".": r"O",
    ":": r"O",
    "``": r"O",
    "''": r"O",
    "-LRB-": r"O",
    "-RRB-": r"O",
}


@pytest.mark.parametrize("pos", CHUNK_RULES)
def test_a_part_of_speech_stands_in_its_chunks_only(pos: str) -> None:
    allowed = re.compile(CHUNK_RULES[pos])
    assert [str(t) for s in ALL for t in s if t.pos == pos and not allowed.fullmatch(t.chunk)] == []


def test_every_part_of_speech_has_a_rule() -> None:
    assert {token.pos for sentence in ALL for token in sentence} == set(CHUNK_RULES)


def last_is(allowed: set[str]) -> Callable[[Sentence], bool]:
    return lambda tokens: tokens[-1].pos in allowed


INSIDE_RULES: dict[str, Callable[[Sentence], bool]] = {
    "NP": last_is(NOUNS | {"PRP", "CD", "DT", "EX", "WP", "WDT", "JJ", "JJR", "JJS", "POS"}),
    "VP": last_is(VERBS | {"RB"}),
    "PP": last_is({"IN", "TO", "VBG", "VBN"}),
    "SBAR": last_is({"IN", "NN"}),
    "ADVP": last_is({"RB", "RBR", "WRB", "IN", "DT"}),
    "ADJP": lambda tokens: any(token.pos in ("JJ", "JJR", "JJS", "VBN") for token in tokens),
    "PRT": lambda tokens: [token.pos for token in tokens] == ["RP"],
    "INTJ": last_is({"UH"}),
    "CONJP": last_is({"IN", "CC"}),
}


@pytest.mark.parametrize("kind", INSIDE_RULES)
def test_a_chunk_has_its_head_where_it_belongs(kind: str) -> None:
    found = [sentence[span.start : span.end] for sentence, span in chunks(kind)]
    assert found
    assert [" ".join(map(str, tokens)) for tokens in found if not INSIDE_RULES[kind](tokens)] == []


def test_a_noun_chunk_never_ends_with_an_article_or_a_possessive() -> None:
    unfinished = re.compile("(?i)the|an?|every|my|your|his|its|our|their|and|or|,")
    found = (sentence[span.start : span.end] for sentence, span in chunks("NP"))
    assert [words(tokens) for tokens in found if unfinished.fullmatch(tokens[-1].word)] == []


def test_determiners_begin_noun_chunks_unless_a_few_words_come_before() -> None:
    inside = ((before, token) for before, token, _ in around() if token.pos == "DT" and token.chunk == "I-NP")
    assert [f"{before} {token}" for before, token in inside if before.pos not in ("PDT", "RB", "CC")] == []


def test_a_noun_is_not_parted_from_the_article_or_adjective_before_it() -> None:
    wrong = [
        f"{before} {token}"
        for before, token, _ in around()
        if before.chunk.endswith("NP")
        and re.fullmatch("(?i)the|an?|my|your|its|our|their|every", before.word)
        and token.chunk != "I-NP"
    ]
    assert wrong == []


def test_every_verb_chunk_has_a_verb_and_no_more_than_one_finite_one() -> None:
    wrong = []
    for sentence, span in chunks("VP"):
        pos = [token.pos for token in sentence[span.start : span.end]]
        if not VERBS & set(pos) or sum(p in FINITE_VERBS for p in pos) > 1:
            wrong.append(" ".join(map(str, sentence[span.start : span.end])))
    assert wrong == []


def test_to_is_in_a_verb_chunk_before_a_base_form_and_a_preposition_otherwise() -> None:
    wrong = []
    for sentence in ALL:
        for i, token in enumerate(sentence):
            if token.pos == "TO":
                behind = next((t for t in sentence[i + 1 :] if t.pos != "RB"), ENDLESS)
                if token.chunk.endswith("VP") != (behind.pos == "VB"):
                    wrong.append(f"{token} {behind}")
    assert wrong == []


def test_behind_a_preposition_or_subordinator_a_phrase_follows() -> None:
    wrong = []  # where did it come from? where a question word comes first, nothing need follow
    for kind in ("PP", "SBAR"):
        for sentence, span in chunks(kind):
            behind = [*sentence, ENDLESS][span.end]
            asked = any(token.pos in ("WRB", "WP", "WDT") for token in sentence[: span.start])
            if behind.pos in ("", ".", ",", ":", "CC", "POS", "RP") and not asked:
                wrong.append(f"{words(sentence[span.start : span.end])} {behind}")
    assert wrong == []


def test_a_possessive_s_stands_behind_a_noun_and_begins_the_chunk_of_what_is_owned() -> None:
    wrong = []
    for before, token, behind in around():
        if token.pos == "POS" and not (before.pos in NOUNS and behind.chunk == "I-NP"):
            wrong.append(f"{before} {token} {behind}")
    assert wrong == []


def test_every_sentence_has_a_verb() -> None:
    assert [words(sentence) for sentence in ALL if not VERBS & {token.pos for token in sentence}] == []


# entities


def test_entities_are_valid_iob2_and_of_at_least_four_types_with_many_of_each_in_both_parts() -> None:
    for part in PARTS:
        tags = [[token.entity for token in sentence] for sentence in SENTENCES[part]]
        found = Counter(span.type for sentence in tags for span in tags_to_spans(sentence, "iob2"))
        assert set(found) == ENTITY_TYPES
        assert min(found.values()) >= 10


def test_people_and_places_are_names() -> None:
    allowed = {"PER": {"NNP", "NNPS"}, "LOC": {"NNP", "NNPS", "CD"}, "ORG": {"NNP", "NNPS", "IN", "CC"}}
    wrong = [
        f"{span.type}: {words(sentence[span.start : span.end])}"
        for sentence, span in entities()
        if {token.pos for token in sentence[span.start : span.end]} - allowed.get(span.type, PENN_TAGS)
    ]
    assert wrong == []


def test_an_entity_begins_and_ends_with_a_capital_or_a_number() -> None:
    wrong = [
        words(sentence[span.start : span.end])
        for sentence, span in entities()
        if not all(re.match(r"[^\W_a-z]", sentence[i].word) for i in (span.start, span.end - 1))
    ]
    assert wrong == []


def test_an_entity_stands_in_noun_chunks_or_is_an_adjective() -> None:
    wrong = [
        " ".join(map(str, sentence[span.start : span.end]))
        for sentence, span in entities()
        if not all(
            token.chunk.endswith(("-NP", "-ADJP")) or (token.chunk == "B-PP" and token.pos == "IN")
            for token in sentence[span.start : span.end]
        )
    ]
    assert wrong == []


def test_a_name_goes_on_to_its_last_word() -> None:
    # two names side by side in one noun chunk are one entity, but for titles, dates, and what is joined by a comma
    wrong = [
        f"{before} {token}"
        for before, token, _ in around()
        if before.entity != "O"
        and token.pos in ("NNP", "NNPS")
        and token.chunk == "I-NP"
        and token.entity[:1] != "I"
        and not DATES.fullmatch(token.word)
    ]
    assert wrong == []


def test_an_adjective_of_a_nation_is_miscellaneous() -> None:
    wrong = [
        str(token)
        for sentence in ALL
        for token in sentence
        if token.pos == "JJ" and token.word[0].isupper() and token is not sentence[0] and token.entity != "B-MISC"
    ]
    assert wrong == []


def test_titles_of_people_are_no_part_of_their_names() -> None:
    assert [str(t) for s in ALL for t in s if TITLES.fullmatch(t.word) and t.entity.endswith("PER")] == []
