"""What an estimator is: the one of scikit-learn where that is installed, else the little of it that we need."""

import inspect
from typing import TYPE_CHECKING, Any, Self

from sapo.errors import SapoError


class PlainEstimator:
    """Parameters are the arguments of `__init__`, which stores them under their names and does nothing else."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = inspect.signature(type(self)).parameters
        changed = {name: value for name, value in self.get_params().items() if value != default[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        raise AttributeError("scikit-learn is not installed")


if TYPE_CHECKING:
    Estimator = PlainEstimator

    class _BaseNotFittedError(ValueError, AttributeError): ...
else:
    try:
        from sklearn.base import BaseEstimator as Estimator
        from sklearn.exceptions import NotFittedError as _BaseNotFittedError
    except ImportError:
        Estimator = PlainEstimator

        class _BaseNotFittedError(ValueError, AttributeError):
            """As scikit-learn has it."""


class NotFittedError(SapoError, _BaseNotFittedError):
    """An error of ours and of scikit-learn's."""
