"""Both ways to the normalizer find what enumeration finds, and so do their gradients."""

from itertools import pairwise, product

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sapo.neural.chains import kernel_log_normalizer, torch_log_normalizer  # noqa: E402

WAYS = [kernel_log_normalizer, torch_log_normalizer]


def lattices(seed: int, *shape: int, dtype: object = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    nodes = torch.randn(shape, generator=generator, dtype=dtype)
    edges = torch.randn(shape[2], shape[2], generator=generator, dtype=dtype)
    return nodes.requires_grad_(), edges.requires_grad_()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sum_over_all_taggings(way: object, seed: int) -> None:
    nodes, edges = lattices(seed, 3, 4, 3)
    lengths = torch.tensor([4, 2, 1])
    expected = torch.stack(
        [
            torch.logsumexp(
                torch.stack(
                    [
                        sum(nodes[b, t, y] for t, y in enumerate(path)) + sum(edges[pair] for pair in pairwise(path))
                        for path in product(range(3), repeat=length)
                    ]
                ),
                dim=0,
            )
            for b, length in enumerate(lengths.tolist())
        ]
    )
    found = way(nodes, edges, lengths)  # type: ignore[operator]
    torch.testing.assert_close(found, expected)
    share = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)  # the sentences may weigh differently
    ours = torch.autograd.grad(found @ share, [nodes, edges])
    theirs = torch.autograd.grad(expected @ share, [nodes, edges])
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_the_kernel_passes_gradcheck() -> None:
    nodes, edges = lattices(7, 2, 5, 3)
    lengths = torch.tensor([5, 3])
    assert torch.autograd.gradcheck(lambda *scores: kernel_log_normalizer(*scores, lengths), (nodes, edges))


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_both_ways_agree_in_single_precision_with_scores_of_any_size(scale: float) -> None:
    nodes, edges = lattices(8, 5, 9, 4, dtype=torch.float32)
    nodes, edges = (nodes * scale).detach().requires_grad_(), (edges * scale).detach()
    edges[0, 1] = edges[2, 2] = float("-inf")  # forbidden
    lengths = torch.tensor([9, 1, 0, 2, 8])
    ours, theirs = (way(nodes, edges.requires_grad_(), lengths) for way in WAYS)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)
    assert ours[2] == 0
    gradients = [torch.autograd.grad(found.sum(), [nodes, edges]) for found in (ours, theirs)]
    torch.testing.assert_close(gradients[0][0], gradients[1][0], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(gradients[0][1], gradients[1][1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_without_tokens_has_one_tagging_a_sentence(way: object) -> None:
    nodes = torch.zeros(2, 0, 3, requires_grad=True)
    found = way(nodes, torch.zeros(3, 3), torch.zeros(2, dtype=torch.int64))  # type: ignore[operator]
    assert found.tolist() == [0, 0]
    found.sum().backward()
