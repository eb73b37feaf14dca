"""Options of `sapo train` and `sapo tag` about a Ray cluster."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sapo.cli.options import Ticker, tell, was_given
from sapo.errors import SapoError

if TYPE_CHECKING:
    from sapo.apps.ray.training import Cluster
    from sapo.tagger.decoding import Output

F = TypeVar("F", bound=Callable[..., Any])

ray_option = click.option(
    "--ray",
    metavar="ADDRESS",
    help="Work on a Ray cluster: local (the cores of this machine), auto, or the address that ray start prints.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="With --ray: how many workers share the work. Default: the cores of the cluster.",
)
_mixings_option = click.option(
    "--mixings",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="With --ray: how often in an epoch the weights of the workers are mixed.  [default: 16]",
)


def cluster_options(command: F) -> F:
    """Add the options about training on a cluster to a command."""
    for option in (_mixings_option, workers_option, ray_option):
        command = option(command)
    return command


def take_cluster(options: dict[str, Any]) -> "Cluster | None":
    """Remove the options of `cluster_options`; return the cluster that they mean, or None if there is no --ray."""
    address, workers, mixings = (options.pop(name) for name in ("ray", "workers", "mixings"))
    if address is None:
        refuse_without_ray("workers", "mixings")
        return None
    from sapo.apps.ray.connection import load_ray
    from sapo.apps.ray.training import MIXINGS, Cluster

    load_ray()  # before the data is read
    return Cluster(address, workers, mixings or MIXINGS)


def refuse_without_ray(*names: str) -> None:
    """Raise SapoError if an option was given that is of no use without --ray."""
    for name in names:
        if was_given(name):
            raise SapoError(f"--{name} is for --ray; add --ray local, or leave it out")


def tag_on_cluster(
    address: str,
    workers: int | None,
    model: str,
    directories: tuple[str, str],
    asked: "Output",
    biases: dict[str, float],
    quiet: bool,
    **reading: str | None,
) -> None:
    """Tag the files of a directory. Raise SapoError in the end if some could not be tagged."""
    from pathlib import Path

    from sapo.apps.ray.connection import load_ray
    from sapo.apps.ray.tagging import Job, tag_directory
    from sapo.corpus.files import check_readable

    load_ray()
    check_readable(model)
    job = Job(Path(model).read_bytes(), asked, biases, **reading)
    job.tagger()  # a model that cannot be loaded is reported here, once
    say = (lambda message: None) if quiet else tell
    ticker, files, failed = Ticker(quiet), 0, 0
    for done in tag_directory(*directories, job, address=address, workers=workers, say=say):
        if done.error:
            failed += 1
            tell(f"sapo: {done.error}")
        files += 1
        ticker.add(done.tokens)
    ticker.end()
    say(f"{files - failed:,} files, {ticker.tokens:,} tokens tagged into {directories[1]}")
    if failed:
        raise SapoError(
            f"{failed:,} of {files:,} files could not be tagged; correct them, and run the same command again"
        )
