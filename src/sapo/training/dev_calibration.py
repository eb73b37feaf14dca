"""Calibrate a new model on the dev set of its run, so that its probabilities can be trusted at once.

The tags do not change. The dev set also chose the epoch that was kept, so a little less is left to learn from it than
from sentences that nothing was chosen on; `sapo calibrate` takes any others.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sapo.encode.scales import scaled
from sapo.errors import SapoError
from sapo.search.lattice import Lattice
from sapo.tagger import Tagger, decoding, files
from sapo.training.data import TrainingData
from sapo.training.temperature import fit_temperature

SENTENCES = 500  # enough for two digits of the temperature, in a second or two
PAIRS = 2e8  # of labels, that is tokens times labels squared: the time goes with it
FEWEST = 1000  # tokens; with too many labels there is no time for as many, and the temperature would be a guess


def calibrated_on_dev(tagger: Tagger, data: TrainingData, say: Callable[[str], None] = lambda message: None) -> Tagger:
    """Return the tagger with a temperature for the dev set of its run; the same tagger if that has none.

    `say` shows the user what was done, or why nothing was.
    """
    if data.dev is None:
        return tagger
    labels = len(tagger.model.labels)
    if labels**2 * FEWEST > PAIRS:
        say(f"not calibrated: {labels:,} labels take long; sapo calibrate MODEL DEV does it")
        return tagger
    offsets = data.dev.corpus.offsets
    fit = int(PAIRS / labels**2 / max(1.0, offsets[-1] / max(1, data.dev.corpus.sentences)))
    chosen = _spread(data.dev.corpus.sentences, min(SENTENCES, max(1, fit)))
    try:
        notes: list[str] = []
        done = fit_temperature(tagger, _lattices(tagger, data, chosen), say=notes.append)
    except KeyboardInterrupt:  # what training took hours for is there
        say("not calibrated: interrupted")
        return tagger
    except SapoError as error:
        say(f"not calibrated: {str(error).removeprefix('calibration: ')}")
        return tagger
    say(f"temperature {done.model.temperature:.4g}, fitted on the dev set: calibrates probabilities, changes no tag")
    for note in notes:
        say(note)
    return done


def _spread(count: int, wanted: int) -> list[int]:
    """Return `wanted` numbers below `count`, evenly spread."""
    return [int(number) for number in np.unique(np.linspace(0, count - 1, min(count, wanted)).round())]


def _lattices(tagger: Tagger, data: TrainingData, chosen: Sequence[int]) -> Iterator[tuple[Lattice, list[str]]]:
    """Yield lattice and gold tags of the chosen sentences of the dev set."""
    assert data.dev is not None
    if data.texts is not None:  # a network reads words
        wanted = set(chosen)
        for number, one in enumerate(files.gold_lattices(tagger, data.texts.dev)):
            if number in wanted:
                yield one
        return
    # the weights are those for values as they are in files, not as training saw them
    corpus = scaled(data.dev.corpus, np.float32(1) / data.scales) if len(data.scales) else data.dev.corpus
    for sentence in chosen:
        first, last = corpus.offsets[sentence : sentence + 2].tolist()
        gold = [data.dev.labels[tag] for tag in corpus.gold[first:last].tolist()]
        lattice = decoding.calibrated_lattice(tagger.model, corpus, sentence, exact=True)
        yield lattice, decoding.learned_tags(tagger.model, gold)
