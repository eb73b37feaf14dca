"""Begin and end the use of a Ray cluster. Only this file imports Ray, and only on request."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sapo.errors import SapoError, pip_install

LOCAL = "local"
LONELY = 600  # seconds to wait for a worker, where there is none


def load_ray() -> Any:
    """Return the package ray; raise SapoError if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless the user wants it
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray will do by default, without its warning
    try:
        import ray
    except ImportError:
        raise SapoError(f"a cluster needs Ray: {pip_install('ray')}") from None
    return ray


@contextmanager
def connected(address: str = LOCAL, *, cores: int | None = None) -> Iterator[Any]:
    """Give the package ray, connected to a cluster; disconnect at the end.

    `local` starts Ray on this machine, with as many `cores` as it has by default, and stops it at the end. Other
    addresses are those of a cluster that runs, as `ray start` prints them; `auto` finds the one of this machine. Where
    the program is connected already, nothing is started or stopped.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    try:
        if address == LOCAL:
            ray.init(address=LOCAL, num_cpus=cores or os.cpu_count(), **quiet)
        else:
            quiet.pop("include_dashboard")  # that is for a new cluster
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, OSError, RuntimeError) as error:
        raise SapoError(
            f"no Ray cluster at '{address}' ({_first_line(error)}); give the address that `ray start --head` prints, "
            "or local"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__


def no_worker() -> SapoError:
    """Return the error for a cluster without workers."""
    return SapoError(f"no worker for {LONELY // 60} minutes; is there a free core in the cluster?")


def reason(error: Exception) -> str:
    """Return the last line of what Ray says, which is the error itself."""
    lines = str(error).strip().splitlines()
    return lines[-1][:200] if lines else type(error).__name__
