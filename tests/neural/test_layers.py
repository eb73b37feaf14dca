"""The layers against the enumeration of all taggings, against each other, and against the linear learners."""

from itertools import pairwise, product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sapo.errors import SapoError  # noqa: E402
from sapo.features.encoded import EncodedCorpus  # noqa: E402
from sapo.learn.sapo import sapo_pass  # noqa: E402
from sapo.learn.settings import Settings  # noqa: E402
from sapo.learn.weights import Weights  # noqa: E402
from sapo.neural import CrfLayer, PerceptronLayer, SapoLayer, SoftmaxLayer, TopNLoss  # noqa: E402

T, L = 4, 3
ALL = L**T


def make(layer: torch.nn.Module, seed: int, *, batch: int = 2, tokens: int = T) -> tuple[torch.Tensor, torch.Tensor]:
    """Emissions and tags, with all that is random fixed; the parameters of the layer become random too."""
    generator = torch.Generator().manual_seed(seed)
    layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    emissions = torch.randn(batch, tokens, L, generator=generator, dtype=torch.float64)
    return emissions.requires_grad_(), torch.randint(L, (batch, tokens), generator=generator)


def path_score(layer: torch.nn.Module, emissions: torch.Tensor, path: tuple[int, ...]) -> torch.Tensor:
    """One tagging of one sentence, term by term."""
    inner = sum(layer.transitions[pair] for pair in pairwise(path))
    return layer.start[path[0]] + sum(emissions[t, y] for t, y in enumerate(path)) + inner + layer.end[path[-1]]


def enumerated_loss(
    layer: torch.nn.Module, emissions: torch.Tensor, tags: list[int], n: int, margin: float = 0.0
) -> torch.Tensor:
    def raised_score(path: tuple[int, ...]) -> torch.Tensor:
        return path_score(layer, emissions, path) + margin * sum(y != tag for y, tag in zip(path, tags, strict=True))

    paths = product(range(L), repeat=len(tags))
    scores = sorted((raised_score(path) for path in paths), key=torch.Tensor.item, reverse=True)
    return torch.logsumexp(torch.stack(scores[:n]), 0) - path_score(layer, emissions, tuple(tags))


@pytest.mark.parametrize("margin", [0.0, 0.7])
@pytest.mark.parametrize("n", [1, 2, 5, ALL])
@pytest.mark.parametrize("seed", range(3))
def test_loss_and_gradients_are_those_of_enumeration(n: int, seed: int, margin: float) -> None:
    layer = SapoLayer(L, n=n, margin=margin)
    emissions, tags = make(layer, seed)
    wanted = [emissions, *layer.parameters()]
    expected = sum(enumerated_loss(layer, emissions[b], tags[b].tolist(), n, margin) for b in range(2))
    loss = layer(emissions, tags)
    torch.testing.assert_close(loss, expected)
    for mine, theirs in zip(torch.autograd.grad(loss, wanted), torch.autograd.grad(expected, wanted), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("layer", [CrfLayer(L), SapoLayer(L, n=2), SapoLayer(L, n=ALL)], ids=["crf", "2", "all"])
@pytest.mark.parametrize("tokens", [1, T])
def test_second_derivatives_are_right(layer: torch.nn.Module, tokens: int) -> None:
    emissions, tags = make(layer, 3, tokens=tokens)
    mask = torch.arange(tokens) < torch.tensor([[tokens], [max(1, tokens - 2)]])
    n = layer.n if isinstance(layer, SapoLayer) else ALL

    inputs, lengths = emissions.detach().clone().requires_grad_(), mask.sum(1).tolist()
    wanted = [inputs, layer.start, layer.end]

    def loss_of(scores: torch.Tensor) -> torch.Tensor:
        each = (enumerated_loss(layer, scores[b, :end], tags[b, :end].tolist(), n) for b, end in enumerate(lengths))
        return torch.stack(list(each)).sum()

    def penalized(loss: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The derivatives of the squared length of a gradient, as a gradient penalty needs them."""
        (gradient,) = torch.autograd.grad(loss, inputs, create_graph=True)
        return torch.autograd.grad(gradient.square().sum(), wanted)

    # below a layer that is not linear, where a gradient that counts as constant still gives some second derivative
    theirs, mine = penalized(loss_of(inputs.tanh())), penalized(layer(inputs.tanh(), tags, mask))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_second_derivatives_by_transitions_alone_are_right() -> None:
    layer = CrfLayer(L)
    emissions, tags = make(layer, 3)
    assert torch.autograd.gradgradcheck(
        lambda edges: torch.func.functional_call(layer, {"transitions": edges}, (emissions.detach(), tags)),
        (layer.transitions.detach().clone().requires_grad_(),),
    )


def test_the_gradient_is_what_the_candidates_expect_less_the_oracle() -> None:
    layer = SapoLayer(L, n=3, reduction="sum")
    emissions, tags = make(layer, 7, batch=1)
    layer(emissions, tags).backward()
    expected = -torch.nn.functional.one_hot(tags[0], L).double()
    for ranked in layer.nbest(emissions, n=3)[0]:
        expected += ranked.p_k * torch.nn.functional.one_hot(torch.tensor(ranked.tags), L)
    torch.testing.assert_close(emissions.grad[0], expected)


@pytest.mark.parametrize(
    "layer", [SapoLayer(L, n=4), SapoLayer(L, n=4, margin=0.5), CrfLayer(L), PerceptronLayer(L), SoftmaxLayer(L)]
)
def test_gradients_pass_gradcheck(layer: torch.nn.Module) -> None:
    emissions, tags = make(layer, 11)
    mask = torch.tensor([[True] * T, [True] * 2 + [False] * (T - 2)])
    learned = [parameter for parameter in layer.parameters() if parameter.requires_grad]

    def loss(emissions: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return layer(emissions, tags, mask)

    assert torch.autograd.gradcheck(loss, (emissions, *learned))


def test_with_a_margin_small_scores_are_no_way_out() -> None:
    layer = SapoLayer(L, n=5, margin=0.5)
    emissions, tags = make(layer, 19, batch=1)
    with torch.no_grad():
        for parameter in (emissions, *layer.parameters()):
            parameter.zero_()
    assert layer(emissions, tags).item() == pytest.approx(0.5 * T + np.log(5))


def test_with_all_taggings_it_is_a_crf() -> None:
    crf, sapo = CrfLayer(L), SapoLayer(L, n=ALL)
    emissions, tags = make(crf, 3)
    sapo.double().load_state_dict(crf.state_dict())
    mask = torch.tensor([[True] * T, [True] * 3 + [False]])
    torch.testing.assert_close(sapo(emissions, tags, mask), crf(emissions, tags, mask))
    ours = torch.autograd.grad(sapo(emissions, tags, mask), [emissions, *sapo.parameters()])
    theirs = torch.autograd.grad(crf(emissions, tags, mask), [emissions, *crf.parameters()])
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_with_one_tagging_it_is_a_perceptron() -> None:
    perceptron, sapo = PerceptronLayer(L), SapoLayer(L, n=1)
    emissions, tags = make(perceptron, 4)
    sapo.double().load_state_dict(perceptron.state_dict())
    loss = perceptron(emissions, tags)
    best = torch.tensor(perceptron.decode(emissions))
    torch.testing.assert_close(loss, (perceptron.score(emissions, best) - perceptron.score(emissions, tags)).sum())
    assert loss > 0
    torch.testing.assert_close(sapo(emissions, tags), loss)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_its_gradient_is_the_step_of_the_linear_learner(n: int) -> None:
    """One feature a token: then the weights are the emissions, and a step of Algorithm 1 with rate 1 the gradient."""
    layer = SapoLayer(L, n=n)
    emissions, tags = make(layer, n, batch=1)
    with torch.no_grad():
        layer.start.zero_()
        layer.end.zero_()
    corpus = EncodedCorpus(np.array([0, T]), np.arange(T + 1), np.arange(T, dtype=np.int32), gold=tags[0].int().numpy())
    weights = Weights.of(
        emissions[0].detach().float().numpy().copy(), layer.transitions.detach().float().numpy().copy()
    )
    before = weights.true_weights()
    list(sapo_pass(weights, corpus, np.zeros(1, np.int64), 1.0, Settings(n=n, strength=0.0), np.zeros(18)))
    after = weights.true_weights()
    grads = torch.autograd.grad(layer(emissions, tags), [emissions, layer.transitions])
    np.testing.assert_allclose(after.features - before.features, -grads[0][0].numpy(), atol=1e-5)
    np.testing.assert_allclose(after.edges - before.edges, -grads[1].numpy(), atol=1e-5)


@pytest.mark.parametrize("layer", [SapoLayer(L, n=4, margin=0.5), CrfLayer(L), PerceptronLayer(L), SoftmaxLayer(L)])
def test_a_padded_batch_is_its_sentences_one_by_one(layer: torch.nn.Module) -> None:
    emissions, tags = make(layer, 5, batch=4)
    lengths = [4, 1, 3, 0]
    mask = torch.arange(T) < torch.tensor(lengths).unsqueeze(1)
    layer.reduction = "none"
    alone = [layer(emissions[b : b + 1, :size], tags[b : b + 1, :size])[0] for b, size in enumerate(lengths)]
    together = layer(emissions, tags, mask)
    torch.testing.assert_close(together, torch.stack(alone))
    assert together[3] == 0
    assert layer.decode(emissions, mask) == [
        layer.decode(emissions[b : b + 1, :size])[0] for b, size in enumerate(lengths)
    ]
    padding = torch.autograd.grad(together.sum(), emissions)[0][~mask]
    assert (padding == 0).all()
    layer.reduction = "sum"
    torch.testing.assert_close(layer(emissions, tags, mask), together.sum())
    layer.reduction = "mean"
    torch.testing.assert_close(layer(emissions, tags, mask), together.mean())


def test_what_is_in_the_padding_does_not_matter() -> None:
    layer = SapoLayer(L, n=3)
    emissions, tags = make(layer, 6)
    mask = torch.tensor([[True] * 2 + [False] * 2] * 2)
    changed = emissions.detach().clone()
    changed[:, 2:] = 100.0
    other = tags.clone()
    other[:, 2:] = -1
    for layer.margin in (0.0, 0.5):
        torch.testing.assert_close(layer(changed, other, mask), layer(emissions, tags, mask))


def test_the_n_best_come_with_scores_and_probabilities_best_first() -> None:
    layer = CrfLayer(L)
    emissions, _ = make(layer, 8, batch=1)
    ranked = layer.nbest(emissions, n=ALL + 5)[0]
    assert len(ranked) == ALL
    assert sum(one.p_k for one in ranked) == pytest.approx(1)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    scores = {path: path_score(layer, emissions[0], path).item() for path in product(range(L), repeat=T)}
    for one in ranked:
        assert one.score == pytest.approx(scores[tuple(one.tags)])


def test_unlikely_candidates_can_be_left_out() -> None:
    layer = SapoLayer(L, n=ALL, stop_ratio=1.0)
    emissions, tags = make(layer, 9)
    perceptron = PerceptronLayer(L).double()
    perceptron.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer(emissions, tags), perceptron(emissions, tags))


def test_a_softmax_layer_learns_no_transitions() -> None:
    layer = SoftmaxLayer(L)
    emissions, tags = make(layer, 10)
    assert not any(parameter.requires_grad for parameter in layer.parameters())
    expected = torch.nn.functional.cross_entropy(emissions.flatten(0, 1), tags.flatten(), reduction="sum")
    torch.testing.assert_close(layer(emissions, tags), expected)
    assert layer.decode(emissions) == emissions.argmax(2).tolist()


def test_the_top_n_loss_leaves_out_what_is_not_there() -> None:
    loss = TopNLoss("none")
    oracle, scores = torch.tensor([1.0]), torch.tensor([[2.0, 5.0]])
    torch.testing.assert_close(loss(oracle, scores, torch.tensor([[True, False]])), torch.tensor([1.0]))


@pytest.mark.parametrize("layer", [SapoLayer(L, n=4), SapoLayer(L, n=4, margin=0.5), CrfLayer(L), PerceptronLayer(L)])
def test_what_is_forbidden_is_not_chosen_and_spoils_nothing(layer: torch.nn.Module) -> None:
    emissions, tags = make(layer, 12, batch=3)
    tags = tags.clamp(min=1)
    with torch.no_grad():
        layer.start[0] = layer.end[0] = layer.transitions[0, 0] = layer.transitions[2, 0] = -torch.inf
        emissions[:, :, 0] += 5  # tempting
    mask = torch.arange(T) < torch.tensor([[T], [2], [1]])
    loss = layer(emissions, tags, mask)
    assert torch.isfinite(loss)
    assert all(torch.isfinite(grad).all() for grad in torch.autograd.grad(loss, [emissions, *layer.parameters()]))
    for ranked, size in zip(layer.nbest(emissions, mask, n=6), (T, 2, 1), strict=True):
        assert ranked[0].tags in layer.decode(emissions, mask)
        for one in ranked:
            assert one.tags[0] != 0
            assert one.tags[-1] != 0
            assert not {(0, 0), (2, 0)} & set(pairwise(one.tags))
            assert np.isfinite(one.score)
        assert len(ranked) == min(6, {T: 6, 2: 4, 1: 2}[size])


@pytest.mark.parametrize("layer", [SapoLayer(L, n=4), CrfLayer(L), PerceptronLayer(L), SoftmaxLayer(L)])
def test_padding_may_hold_anything(layer: torch.nn.Module) -> None:
    emissions, tags = make(layer, 13)
    mask = torch.tensor([[True] * T, [True] * 2 + [False] * 2])
    spoilt = emissions.detach().clone()
    spoilt[~mask] = torch.nan
    torch.testing.assert_close(layer(spoilt, tags, mask), layer(emissions, tags, mask))
    assert layer.decode(spoilt, mask) == layer.decode(emissions, mask)


@pytest.mark.parametrize("layer", [SapoLayer(L, n=4), CrfLayer(L)])
def test_half_precision_is_taken(layer: torch.nn.Module) -> None:
    emissions, tags = make(layer, 14)
    exact = layer(emissions, tags)
    rough = layer.to(torch.bfloat16)(emissions.to(torch.bfloat16), tags)
    assert rough.dtype == torch.bfloat16
    assert rough.item() == pytest.approx(exact.item(), rel=0.1)


def test_the_candidates_are_counted() -> None:
    layer = SapoLayer(L, n=ALL * 2)
    emissions, tags = make(layer, 15)
    layer(emissions, tags)
    assert layer.candidates == 2 * ALL


def test_wrong_arguments_are_told_in_one_line() -> None:
    layer = SapoLayer(L)
    emissions, tags = torch.zeros(1, 2, L), torch.zeros(1, 2, dtype=torch.int64)
    for arguments, message in (
        ((torch.zeros(1, 2, L + 1), tags), r"emissions must be \[batch, tokens, 3 labels\], not \[1, 2, 4\]"),
        ((emissions, tags + L), "tags must be from 0 to 2, found 3"),
        ((emissions, tags.float()), "tags must be int64"),
        ((emissions, tags, torch.ones(1, 2)), "the mask must be bool"),
        ((emissions, tags, torch.tensor([[False, True]])), "without gaps"),
    ):
        with pytest.raises(SapoError, match=message):
            layer(*arguments)
    for make_wrong, message in (
        (lambda: SapoLayer(0), "labels must be at least 1"),
        (lambda: SapoLayer(L, n=0), "n must be at least 1"),
        (lambda: SapoLayer(L, stop_ratio=0.5), "stop_ratio must be at least 1"),
        (lambda: SapoLayer(L, margin=-1.0), "margin must be a finite number, 0 or more, not -1.0"),
        (lambda: CrfLayer(L, reduction="max"), "reduction must be one of sum, mean, none, not max"),
        (lambda: layer.nbest(emissions, n=0), "n must be at least 1"),
    ):
        with pytest.raises(SapoError, match=message):
            make_wrong()
