"""Make a model smaller: drop the weights of features that are small, and features that have no weight left."""

import dataclasses

import numpy as np

from sapo.errors import ModelError, OptionError
from sapo.features.encoded import Pairs
from sapo.features.encoder import Encoder
from sapo.jit.arrays import Floats
from sapo.search.lattice import Parameters
from sapo.search.weights import FeatureRows
from sapo.tagger.file import model_bytes, small_model
from sapo.tagger.model import Model

FINENESS = 1000  # bisection stops when the number of dropped weights is known to a thousandth of all


def pruned(model: Model, below: float) -> Model:
    """Return a model without the weights of features (edge features too) that are smaller than `below`.

    Weights of plain pairs of labels stay. Raises SapoError if `below` is negative, or the model is a network.

    >>> import sapo
    >>> model = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2).model
    >>> pruned(model, 1e9).encoder.features
    0
    """
    if not below >= 0:
        raise OptionError(f"below must be 0 or more, not {below:g}")
    encoder, parameters = _linear(model)
    counts, labels, values = parameters.rows.entries()
    kept = np.abs(values) >= below
    owners = np.repeat(np.arange(len(counts)), counts)[kept]
    left = np.bincount(owners, minlength=len(counts)).astype(np.int32)
    pairs, weights = parameters.pairs, parameters.pair_weights
    pair_kept = np.abs(weights.ravel()) >= below
    sizes = np.bincount(pairs.owners[pair_kept], minlength=len(pairs.offsets) - 1)
    smaller = dataclasses.replace(
        parameters,
        rows=FeatureRows.of_entries(left, labels[kept], values[kept], parameters.labels),
        pairs=Pairs(np.append(0, np.cumsum(sizes)), pairs.codes[pair_kept]),
        pair_weights=weights[pair_kept],
    )
    encoder, smaller = small_model(encoder, smaller, sizes > 0)
    return dataclasses.replace(model, encoder=encoder, parameters=smaller)


def pruned_to(model: Model, size: int, *, half: bool = False) -> tuple[Model, float]:
    """Return the model pruned so that its file has at most `size` bytes, and the weight below which all are dropped.

    `half` is as for `save_model`. Raises SapoError if no model is that small, or the model is a network.

    >>> import sapo
    >>> model = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", epochs=2).model
    >>> smaller, below = pruned_to(model, len(model_bytes(model)) - 1)
    >>> below > 0, len(model_bytes(smaller)) < len(model_bytes(model))
    (True, True)
    """
    weights = _sizes_of_weights(model)
    if len(model_bytes(model, half=half)) <= size:
        return model, 0.0
    best, below = pruned(model, np.inf), float(np.nextafter(weights.max(initial=0.0), np.float32(np.inf)))
    smallest = len(model_bytes(best, half=half))
    if smallest > size:
        raise ModelError(f"no pruning makes this model as small as {size:,} bytes; the smallest has {smallest:,}")
    too_few, enough = 0, len(weights)  # weights to drop
    while enough - too_few > max(1, len(weights) // FINENESS):
        middle = (too_few + enough) // 2
        tried = pruned(model, float(weights[middle]))
        if len(model_bytes(tried, half=half)) <= size:
            enough, best, below = middle, tried, float(weights[middle])
        else:
            too_few = middle
    return best, below


def _linear(model: Model) -> tuple[Encoder, Parameters]:
    return model.linear_encoder("it has no weights of features to drop"), model.parameters


def _sizes_of_weights(model: Model) -> Floats:
    """Return |w| of all weights that can be dropped, the smallest first."""
    _, parameters = _linear(model)
    return np.sort(np.abs(np.concatenate([parameters.rows.entries()[2], parameters.pair_weights.ravel()])))
