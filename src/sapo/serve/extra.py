"""Say in one line which package is missing where the extra `serve` is not installed."""

from importlib.util import find_spec

from sapo.errors import SapoError

PACKAGES = ("httptools", "msgspec", "uvicorn")


def need_extra(command: str) -> None:
    """Raise SapoError if a package is missing that serving needs."""
    for name in PACKAGES:
        if find_spec(name) is None:
            raise SapoError(f"{command} needs the package {name}; install it with pip install 'sapo-nlp[serve]'")
