"""sapo warm-up: compile everything beforehand."""

import click

from sapo.cli.options import announce_compiling, quiet_option, tell


@click.command("warm-up")
@quiet_option
def warm_up_command(quiet: bool) -> None:
    """Compile everything beforehand.

    Later commands on this machine, or in an image that is built from here, compile nothing. The compiled code is kept
    in ~/.cache/sapo, or in the directory sapo below NUMBA_CACHE_DIR if that is set.
    """
    from sapo import jit
    from sapo.training.warm_up import warm_up

    announce_compiling(quiet)
    warm_up()
    if not quiet:
        tell(f"everything is compiled ({jit.compile_seconds():.0f} s)")
