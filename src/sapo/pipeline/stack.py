"""`Pipeline`: several models in use, each of which may look at what those before it said."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sapo.errors import SapoError
from sapo.pipeline.steps import ReadyStep, check_names
from sapo.search import check_search
from sapo.tagger.streams import plain_sentences
from sapo.tagger.tagger import Tagger
from sapo.tagger.text import Cut, TaggedText, check_text, cut_texts, find, tagged_texts

WORD = "word"
Steps = Mapping[str, Tagger | str | Path] | Iterable[tuple[str, Tagger | str | Path]]


class Pipeline:
    """Models that tag one after another. Each adds a column, and looks at words and earlier columns by their names.

    `steps` has the name of each column, and the tagger or the path of the model that adds it. Raises SapoError if a
    model needs a column that no step before it adds.

    >>> import sapo
    >>> pos = sapo.train([(["a", "dog"], ["DT", "NN"])] * 2, template="pos")
    >>> chunks = sapo.train([([("a", "DT"), ("dog", "NN")], ["B-NP", "I-NP"])] * 2, template="chunking")
    >>> pipeline = Pipeline({"pos": pos, "chunk": chunks})
    >>> pipeline.tag(["a", "dog"])
    {'pos': ['DT', 'NN'], 'chunk': ['B-NP', 'I-NP']}
    >>> pipeline.tag_text("a dog").spans[0].text
    'a dog'
    """

    def __init__(self, steps: Steps) -> None:
        pairs = list(steps.items() if isinstance(steps, Mapping) else steps)
        if not pairs:
            raise SapoError("a pipeline needs a step, such as {'pos': 'pos.sapo'}")
        check_names(tuple(ReadyStep(column, "") for column, _ in pairs), (WORD,), "text")
        self.taggers = {column: one if isinstance(one, Tagger) else Tagger.load(one) for column, one in pairs}
        have = [WORD]
        for column, tagger in self.taggers.items():
            if not tagger.columns:
                raise SapoError(f"step '{column}': was trained on ready-made features and cannot be part of a pipeline")
            for needed in tagger.columns:
                if needed not in have:
                    raise SapoError(
                        f"step '{column}' needs the column '{needed}', but before it there are only {', '.join(have)}; "
                        f"put a step '{needed}' before it"
                    )
            have.append(column)

    def tag(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Return the tags that each step gives the words of one sentence, by the name of its column."""
        return self.tag_many([words])[0]

    def tag_many(self, sentences: Iterable[Sequence[str]]) -> list[dict[str, list[str]]]:
        """Return the tags of many sentences; much faster than calling `tag` for each."""
        listed = list(plain_sentences(sentences))
        columns = self._columns(listed, list(self.taggers))
        return [{column: columns[column][at] for column in self.taggers} for at in range(len(listed))]

    def tag_text(self, text: str, *, probabilities: bool = False, nbest: int = 0, cut: Cut | None = None) -> TaggedText:
        """Tag raw text as `Tagger.tag_text` does with the last model, after the others.

        Tokens have the tags of the earlier models in `columns`. The first model says how the text is cut, unless `cut`
        does.
        """
        return self.tag_texts([check_text(text)], probabilities=probabilities, nbest=nbest, cut=cut)[0]

    def tag_texts(
        self, texts: Iterable[str], *, probabilities: bool = False, nbest: int = 0, cut: Cut | None = None
    ) -> list[TaggedText]:
        """Tag many texts as `tag_text` does; much faster than calling it for each."""
        if nbest:
            check_search("topn", nbest)
        first, *_ = self.taggers.values()
        *earlier, (_, last) = self.taggers.items()
        parts = cut_texts(texts, cut or first.splitter)
        words = list(parts.words())
        columns = self._columns(words, [column for column, _ in earlier])
        found = find(last.model, self._rows(last, columns, len(words)), probabilities=probabilities, nbest=nbest)
        del columns[WORD]
        further = ({column: tags[at] for column, tags in columns.items()} for at in range(len(words)))
        return tagged_texts(parts, found, further if columns else None)

    def _columns(
        self, words: list[Sequence[str]] | list[list[str]], steps: Sequence[str]
    ) -> dict[str, list[list[str]]]:
        """Return the words and the tags of these steps, for each sentence."""
        columns: dict[str, list[list[str]]] = {WORD: [list(sentence) for sentence in words]}
        for step in steps:
            columns[step] = self.taggers[step].tag_many(self._rows(self.taggers[step], columns, len(words)))
        return columns

    @staticmethod
    def _rows(
        tagger: Tagger, columns: Mapping[str, list[list[str]]], sentences: int
    ) -> list[list[str]] | list[list[tuple[str, ...]]]:
        """Return the sentences as this tagger takes them: strings, or tuples of its columns."""
        needed = [columns[column] for column in tagger.columns]
        if len(needed) == 1:
            return needed[0]
        return [list(zip(*(column[at] for column in needed), strict=True)) for at in range(sentences)]
