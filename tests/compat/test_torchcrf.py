"""The layer of pytorch-crf, refereed by enumeration of all taggings."""

import itertools
import math

import pytest

torch = pytest.importorskip("torch")

from sapo.compat.torchcrf import CRF  # noqa: E402
from sapo.errors import OptionError  # noqa: E402

LENGTHS = [3, 1, 2]
TAGS = 3


def example(seed: int, batch_first: bool):
    torch.manual_seed(seed)
    crf = CRF(TAGS, batch_first=batch_first).double()
    emissions = torch.randn(len(LENGTHS), max(LENGTHS), TAGS, dtype=torch.float64)
    tags = torch.randint(TAGS, emissions.shape[:2])
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    return crf, emissions, tags, mask


@torch.no_grad()
def score(crf, emissions, path) -> float:
    total = crf.start_transitions[path[0]] + crf.end_transitions[path[-1]]
    total = total + sum(emissions[t, y] for t, y in enumerate(path))
    return float(total + sum(crf.transitions[p, y] for p, y in itertools.pairwise(path)))


def turned(tensor, batch_first: bool):
    return tensor if batch_first else tensor.transpose(0, 1)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_likelihoods_and_tags_equal_those_of_enumeration(seed: int, batch_first: bool) -> None:
    crf, emissions, tags, mask = example(seed, batch_first)
    given = [turned(each, batch_first) for each in (emissions, tags, mask)]
    expected, best = [], []
    for own, gold, length in zip(emissions, tags.tolist(), LENGTHS, strict=True):
        paths = list(itertools.product(range(TAGS), repeat=length))
        scores = [score(crf, own, path) for path in paths]
        expected.append(score(crf, own, gold[:length]) - math.log(sum(map(math.exp, scores))))
        best.append(list(paths[scores.index(max(scores))]))
    assert crf(*given, reduction="none").tolist() == pytest.approx(expected)
    assert crf(*given).item() == pytest.approx(sum(expected))
    assert crf(*given, reduction="mean").item() == pytest.approx(sum(expected) / len(LENGTHS))
    assert crf(*given, reduction="token_mean").item() == pytest.approx(sum(expected) / sum(LENGTHS))
    assert crf.decode(given[0], given[2]) == best


def test_gradients_equal_differences() -> None:
    crf, emissions, tags, mask = example(1, True)
    parameters = tuple(crf.parameters())

    def likelihood(*values):
        named = dict(zip(dict(crf.named_parameters()), values[1:], strict=True))
        return torch.func.functional_call(crf, named, (values[0], tags, mask))

    assert torch.autograd.gradcheck(likelihood, (emissions.requires_grad_(), *parameters))


def test_without_a_mask_all_tokens_count_and_padding_may_hold_any_tag() -> None:
    crf, emissions, tags, mask = example(2, True)
    assert crf(emissions, tags).item() == crf(emissions, tags, torch.ones_like(mask)).item()
    assert crf(emissions, tags.masked_fill(~mask, -100), mask).item() == crf(emissions, tags, mask.byte()).item()


def test_the_state_has_the_names_and_shapes_of_pytorch_crf() -> None:
    shapes = {name: tuple(value.shape) for name, value in CRF(4).state_dict().items()}
    assert shapes == {"start_transitions": (4,), "end_transitions": (4,), "transitions": (4, 4)}
    assert repr(CRF(4)) == "CRF(num_tags=4)"


def test_the_layer_agrees_with_pytorch_crf_and_states_load_both_ways() -> None:
    torchcrf = pytest.importorskip("torchcrf")
    crf, emissions, tags, mask = example(3, True)
    theirs = torchcrf.CRF(TAGS, batch_first=True).double()
    theirs.load_state_dict(crf.state_dict())
    assert theirs(emissions, tags, mask).item() == pytest.approx(crf(emissions, tags, mask).item())
    assert theirs.decode(emissions, mask) == crf.decode(emissions, mask)
    crf.load_state_dict(torchcrf.CRF(TAGS).double().state_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reduction": "max"}, "invalid reduction"),
        ({"mask": torch.tensor([[False, True, True]] * 3)}, "first timestep"),
        ({"mask": torch.tensor([[True, False, True]] * 3)}, "off from there on"),
        ({"mask": torch.ones(3, 2)}, "must match"),
        ({"tags": torch.zeros(3, 2, dtype=torch.int64)}, "must match"),
        ({"emissions": torch.zeros(3, 3)}, "dimension of 3"),
        ({"emissions": torch.zeros(3, 3, 2)}, "last dimension"),
    ],
)
def test_what_does_not_fit_is_a_value_error(arguments, message: str) -> None:
    crf, emissions, tags, mask = example(0, True)
    with pytest.raises(OptionError, match=message):
        crf(**{"emissions": emissions, "tags": tags, "mask": mask, **arguments})
