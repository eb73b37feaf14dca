"""sapo prune: make a model file smaller."""

import math
import re

import click

from sapo.cli.options import (
    announce_compiling,
    encoding_option,
    format_option,
    label_option,
    model_first,
    quiet_option,
    refuse_other_file,
    refuse_same_file,
    tell,
    tell_saved,
)
from sapo.errors import OptionError

UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9}


@click.command("prune")
@click.argument("model")
@click.argument("file", required=False)
@click.option("--below", type=float, metavar="X", help="Drop weights of features that are smaller than this.")
@click.option("--to", metavar="SIZE", help="Drop the smallest weights until the file is this small: 800kB, 5MB.")
@click.option("--half", is_flag=True, help="Keep the weights of features as 16-bit numbers.")
@click.option("--output", "-o", metavar="FILE", help="Where to save the model. Default: replace MODEL.")
@format_option
@encoding_option
@label_option
@quiet_option
def prune_command(
    model: str,
    file: str | None,
    below: float | None,
    to: str | None,
    half: bool,
    output: str | None,
    format: str | None,
    encoding: str | None,
    label: str | None,
    quiet: bool,
) -> None:
    """Make a model smaller.

    sapo prune chunk.sapo dev.txt --to 5MB -o small.sapo

    Weights near 0 change few tags. With a labeled FILE, shows the scores before and after.
    """
    from sapo.corpus.files import check_readable, check_writable
    from sapo.tagger.file import model_bytes, model_from_bytes, save_model
    from sapo.tagger.prune import pruned, pruned_to
    from sapo.tagger.tagger import Tagger

    if file is not None:
        model, file = model_first(model, file)
    target, size = output or model, None if to is None else parse_size(to)
    _check(below, to, half, file, target)
    refuse_same_file({"the labeled data": file}, {"-o": target})
    check_writable(target)
    refuse_other_file(target)
    if file is not None:
        check_readable(file)
        announce_compiling(quiet)
    before = Tagger.load(model)
    if size is not None:
        smaller, below = pruned_to(before.model, size, half=half)
    else:
        smaller = pruned(before.model, below or 0.0)
    lines = []
    if file is not None and not quiet:
        after = Tagger(model_from_bytes(model_bytes(smaller, half=half)))
        for when, tagger in (("before", before), ("after", after)):
            name, value = tagger.evaluate(file, format=format, encoding=encoding, label=label).main
            lines.append(f"{when:6}  {name} {100 * value:.2f}")
    save_model(smaller, target, half=half)
    if not quiet:
        for line in lines:
            tell(line)
        weights = f"{before.model.parameters.nonzero:,} -> {smaller.parameters.nonzero:,} weights"
        tell(f"{weights}{f' (dropped below {below:.4g})' if below else ''}")
        tell_saved(target)


def parse_size(text: str) -> int:
    """Return a size in bytes. Raise SapoError if it is not a number with a unit.

    >>> parse_size("5MB"), parse_size("1.5 kB")
    (5000000, 1500)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]b)", text.strip().lower())
    if found is None:
        raise OptionError(f"--to must be a size in kB, MB or GB, such as 5MB, not '{text}'")
    return int(float(found[1]) * UNITS[found[2]])


def _check(below: float | None, to: str | None, half: bool, file: str | None, target: str) -> None:
    """Raise SapoError if options do not go together."""
    if target == "-":
        raise OptionError("a model cannot go to standard output; give the name of a file with -o")
    if file == "-":
        raise OptionError("FILE is read twice; save standard input to a file first, and give that")
    if below is not None and to is not None:
        raise OptionError("--below and --to both say how much to drop; give one of them")
    if below is None and to is None and not half:
        raise OptionError("say how to make the model smaller: --below X, --to SIZE or --half")
    if below is not None and not 0 <= below < math.inf:
        raise OptionError(f"--below must be a number, 0 or more, not {below:g}")
