"""Options of `sapo train` and `sapo tag` about a Ray cluster."""

from typing import TYPE_CHECKING, Any

import click

from sapo.cli.options import Ticker, tell, was_given
from sapo.errors import OptionError

if TYPE_CHECKING:
    from sapo.apps.ray.training import Cluster
    from sapo.tagger.decoding import Output

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


def take_cluster(address: str | None, settings: dict[str, Any]) -> "Cluster | None":
    """Remove the settings of a cluster; return the cluster that they mean, or None if there is no --ray."""
    given = {name: settings.pop(name) for name in ("workers", "mixings") if name in settings}
    if address is None:
        for name in given:
            raise OptionError(f"--set {name} is for --ray; add --ray local, or leave it out")
        return None
    from sapo.apps.ray.connection import load_ray
    from sapo.apps.ray.training import Cluster

    load_ray()  # before the data is read
    return Cluster(address, **given)


def refuse_without_ray(*names: str) -> None:
    """Raise SapoError if an option was given that is of no use without --ray."""
    for name in names:
        if was_given(name):
            raise OptionError(f"--{name} is for --ray; add --ray local, or leave it out")


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
        raise OptionError(
            f"{failed:,} of {files:,} files could not be tagged; correct them, and run the same command again"
        )
