"""The base class of estimators: scikit-learn's if it is installed, otherwise the parts of it that we need."""

import inspect
from typing import TYPE_CHECKING, Any, Self

from sapo.errors import SapoError


class PlainEstimator:
    """An estimator without scikit-learn.

    Its parameters are the arguments of `__init__`, which stores them under their names and does nothing else.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name. `deep` has no effect; scikit-learn passes it."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. Raise ValueError if there is no such parameter."""
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
            """The same bases as scikit-learn's error."""


class NotFittedError(SapoError, _BaseNotFittedError):
    """Raised before `fit`; both a SapoError and scikit-learn's NotFittedError."""
