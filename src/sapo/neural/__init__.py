"""Provide the paper's neural systems, and SAPO on top of them, with PyTorch.

    from sapo.neural import SapoLayer

Names are loaded when they are first used. If PyTorch is not installed, a SapoError says how to install it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapo.neural.chains import kernel_top_n, top_n, torch_top_n
    from sapo.neural.layers import CrfLayer, PerceptronLayer, Ranked, SapoLayer, SoftmaxLayer, TopNLoss

_HOME = {
    "CrfLayer": "sapo.neural.layers",
    "PerceptronLayer": "sapo.neural.layers",
    "Ranked": "sapo.neural.layers",
    "SapoLayer": "sapo.neural.layers",
    "SoftmaxLayer": "sapo.neural.layers",
    "TopNLoss": "sapo.neural.layers",
    "kernel_top_n": "sapo.neural.chains",
    "top_n": "sapo.neural.chains",
    "torch_top_n": "sapo.neural.chains",
}

__all__ = [
    "CrfLayer",
    "PerceptronLayer",
    "Ranked",
    "SapoLayer",
    "SoftmaxLayer",
    "TopNLoss",
    "kernel_top_n",
    "top_n",
    "torch_top_n",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sapo.neural' has no attribute {name!r}")
    from sapo.neural.options import need_torch

    need_torch()
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
