"""Train the steps of a pipeline, each on what the steps before it say about sentences that they have not seen.

Such tags come from folds (jackknifing): the treebank is cut into parts, and each is tagged by a model of the others.
A parser that was trained on gold tags would trust them too much.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import as_file, files

from sapo.corpus.treebank import UDSentence, raw_text
from sapo.errors import DataError
from sapo.features.clusters import Clusters
from sapo.features.encoder import TemplateEncoder
from sapo.tagger.edits import EditItem
from sapo.tagger.sentences import BEGIN, INSIDE, Columns, boundary_columns
from sapo.tagger.tagger import Tagger
from sapo.tags.labels import in_order
from sapo.text.learning import learn_rules
from sapo.text.multiword import learn_multiword
from sapo.text.splitter import Splitter
from sapo.training.edits import train_edits
from sapo.training.parser import Parser, Tree
from sapo.training.plan import KnowledgeOptions
from sapo.training.run import train
from sapo.training.ud import PipelineSteps, lemma_inputs, split_label, tag_words, tree_sentences

FOLDS = 5
LARGE = 100_000  # words from which there are fewer folds: each then sees enough
FOLDS_OF_LARGE = 3
WINDOW = 10  # sentences of a training text
EPOCHS = {"sentences": 10, "upos": 10, "morphology": 5, "parser": 10}
FOLD_EPOCHS = {"upos": 5, "morphology": 3}  # tags of folds need not be the best
TEMPLATES = {"upos": "pos-best", "morphology": "pos-best+pos"}
Sentences = Sequence[tuple[Sequence[object], Sequence[str]]]  # tokens and tags


def train_steps(
    treebank: Sequence[UDSentence],
    dev: Sequence[UDSentence] | None,
    seed: int,
    epochs: int | None,
    progress: Callable[[str], None] | None,
    knowledge: KnowledgeOptions,
) -> PipelineSteps:
    """Train all steps. Raise SapoError if a tree or FEATS are wrong."""
    say = progress or (lambda line: None)
    trees, dev_trees = _trees(treebank), _trees(dev or ())
    words = [[word.form for word in sentence.words] for sentence in treebank]
    say(f"{len(treebank):,} sentences, {sum(map(len, words)):,} words")
    rules = learn_rules(([token.form for token in sentence.tokens], sentence.text) for sentence in treebank)
    say("sentences")
    sentences = _train_sentences(treebank, Splitter(rules), seed, epochs)
    multiword = learn_multiword(
        (token.form, one[token.first : token.last])
        for sentence, one in zip(treebank, words, strict=True)
        for token in sentence.tokens
    )

    gold = [[word.upos for word in sentence.words] for sentence in treebank]
    upos, found = _tagged("upos", list(zip(words, gold, strict=True)), seed, epochs, say, knowledge)

    labels = [[f"{word.xpos} {_feats(word.feats, one)}" for word in one.words] for one in treebank]
    tokens = [list(zip(*pair, strict=True)) for pair in zip(words, found, strict=True)]
    morphology, fine = _tagged("morphology", list(zip(tokens, labels, strict=True)), seed, epochs, say, knowledge)

    pairs = [[split_label(label) for label in one] for one in fine]
    xpos, feats = ([[pair[at] for pair in one] for one in pairs] for at in (0, 1))
    say("lemmas")
    counts: Counter[tuple[str, tuple[str, ...], str]] = Counter()
    for sentence, *columns in zip(treebank, words, found, xpos, feats, strict=True):
        lemmas = (word.lemma for word in sentence.words)
        counts.update((*item, lemma) for item, lemma in zip(lemma_inputs(*columns), lemmas, strict=True))
    lemmatizer = train_edits([EditItem(*item, count=count) for item, count in counts.items()], seed=seed)

    say("trees")
    learned = tree_sentences(words, found, xpos, feats, trees)
    judged = None
    if dev:
        dev_words = [[word.form for word in sentence.words] for sentence in dev]
        judged = tree_sentences(dev_words, *tag_words(upos, morphology, dev_words), dev_trees)
    most, clusters = epochs or EPOCHS["parser"], clusters_in(upos)
    parser = Parser.train(learned, seed=seed, epochs=most, dev=judged, progress=say, clusters=clusters)
    return PipelineSteps(rules, sentences, multiword, upos, morphology, lemmatizer, parser)


def _train_sentences(treebank: Sequence[UDSentence], splitter: Splitter, seed: int, epochs: int | None) -> Tagger:
    """Train the tagger that says where sentences begin, on running text as the splitter cuts it."""
    samples: list[tuple[list[Columns], list[str]]] = []
    for window in _windows(treebank):
        starts, at = set(), 0
        for sentence in window:
            starts.add(at)
            at += len(sentence.text) + sentence.tokens[-1].space_after
        text = raw_text(window)
        for paragraph in splitter.paragraphs(text):
            labels = [BEGIN if start in starts else INSIDE for sentence in paragraph for start, _ in sentence]
            samples.append((boundary_columns(text, paragraph), labels))
    with as_file(files("sapo.features") / "presets" / "sentences.txt") as template:
        return train(samples, template=template, epochs=epochs or EPOCHS["sentences"], seed=seed, calibrate=False)


def _windows(treebank: Sequence[UDSentence]) -> Iterator[list[UDSentence]]:
    """Yield neighboring sentences of a paragraph, at most WINDOW together."""
    window: list[UDSentence] = []
    for sentence in treebank:
        if window and (sentence.starts_paragraph or len(window) == WINDOW):
            yield window
            window = []
        window.append(sentence)
    yield window


def clusters_in(tagger: Tagger) -> Clusters | None:
    """Return the first word clusters that a tagger was trained with, None if there are none."""
    encoder = tagger.model.encoder
    columns = encoder.templates.knowledge.columns.values() if isinstance(encoder, TemplateEncoder) else ()
    return next((source for source in columns if isinstance(source, Clusters)), None)


def _trees(sentences: Sequence[UDSentence]) -> list[Tree]:
    if sentences and not any(word.head is not None for sentence in sentences for word in sentence.words):
        place = sentences[0].place or "the treebank"
        raise DataError(f"{place}: no word of this treebank has a HEAD; to learn tags only, use sapo train")
    return [Tree(tuple(one.heads), tuple(word.deprel for word in one.words)) for one in sentences]


def _feats(feats: str, sentence: UDSentence) -> str:
    features = in_order(feats)
    if features is None:
        raise DataError(f"{sentence.place}: FEATS must be '_' or KEY=VALUE joined by '|', found {feats[:60]!r}")
    return features


def _tagged(
    step: str,
    pairs: Sentences,
    seed: int,
    epochs: int | None,
    say: Callable[[str], None],
    knowledge: KnowledgeOptions,
) -> tuple[Tagger, list[list[str]]]:
    """Train a tagger; return it, and the tags of its own training data by taggers that have not seen them."""
    say(step)
    most = epochs or EPOCHS[step]
    tagger = train(pairs, template=TEMPLATES[step], epochs=most, seed=seed, calibrate=False, **knowledge)
    rate = tagger.model.record["settings"]["rate"]
    found: list[list[str]] = []
    folds = list(_folds(pairs))
    for number, (others, own) in enumerate(folds, 1):
        say(f"{step}, fold {number} of {len(folds)}")
        fold_epochs = min(most, FOLD_EPOCHS[step])
        one = train(
            others, template=TEMPLATES[step], epochs=fold_epochs, rate=rate, seed=seed, calibrate=False, **knowledge
        )
        found += one.tag_many([tokens for tokens, _ in own])
    return tagger, found or [list(tags) for _, tags in pairs]


def _folds(pairs: Sentences) -> Iterator[tuple[Sentences, Sentences]]:
    """Yield the sentences outside and inside each fold; folds are blocks, since neighbors are alike."""
    large = sum(len(tags) for _, tags in pairs) > LARGE
    folds = min(FOLDS_OF_LARGE if large else FOLDS, len(pairs))
    for fold in range(folds if folds > 1 else 0):
        first, last = fold * len(pairs) // folds, (fold + 1) * len(pairs) // folds
        yield [*pairs[:first], *pairs[last:]], pairs[first:last]
