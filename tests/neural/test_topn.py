"""Both searches for a batch find the same, and what enumeration finds."""

from itertools import pairwise, product

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sapo.neural import kernel_top_n, torch_top_n  # noqa: E402


def lattices(seed: int, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator), torch.randn(shape[2], shape[2], generator=generator)


@pytest.mark.parametrize("search", [kernel_top_n, torch_top_n])
@pytest.mark.parametrize("n", [1, 4, 100])
def test_the_candidates_are_those_of_enumeration(search: object, n: int) -> None:
    nodes, edges = lattices(n, 3, 4, 3)
    lengths = torch.tensor([4, 2, 1])
    found = search(nodes, edges, lengths, n)  # type: ignore[operator]
    for b, length in enumerate(lengths.tolist()):
        scored = {
            path: float(sum(nodes[b, t, y] for t, y in enumerate(path)) + sum(edges[pair] for pair in pairwise(path)))
            for path in product(range(3), repeat=length)
        }
        best = sorted(scored, key=scored.__getitem__, reverse=True)[:n]
        assert [tuple(path[:length]) for path in found.paths[b][found.valid[b]].tolist()] == best
        assert (found.paths[b, :, length:] == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_both_searches_find_the_same(seed: int) -> None:
    nodes, edges = lattices(seed, 6, 9, 5)
    edges[0, 1] = edges[2, 2] = float("-inf")  # forbidden
    lengths = torch.tensor([9, 1, 0, 2, 8, 9])
    ours, theirs = (search(nodes, edges, lengths, 7) for search in (kernel_top_n, torch_top_n))
    assert torch.equal(ours.valid, theirs.valid)
    assert torch.equal(ours.paths, theirs.paths)
    assert ours.valid.sum(1).tolist() == [7, 5, 1, 7, 7, 7]


@pytest.mark.parametrize("search", [kernel_top_n, torch_top_n])
def test_a_batch_without_tokens_has_the_empty_tagging(search: object) -> None:
    found = search(torch.zeros(2, 0, 3), torch.zeros(3, 3), torch.zeros(2, dtype=torch.int64), 3)  # type: ignore[operator]
    assert found.paths.shape == (2, 3, 0)
    assert found.valid.tolist() == [[True, False, False]] * 2
