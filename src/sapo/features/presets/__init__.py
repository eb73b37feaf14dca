"""Provide the template files that come with the package."""

from importlib.resources import files
from pathlib import Path

from sapo.errors import DataError, OptionError, check_limit, choice, did_you_mean

PRESETS = ("chunking", "chunking-best", "pos", "pos-paper", "pos-best", "ner", "ner-pos", "bioner", "bioner-best")


def template_text(name_or_path: str | Path) -> tuple[str, str]:
    """Return the text of a preset or of a template file, and its name for messages."""
    name = str(name_or_path)
    if not Path(name).is_file():
        name = choice(name, PRESETS)
    if name in PRESETS:
        return (files(__package__) / f"{name}.txt").read_text("utf-8"), f"preset {name}"
    path = Path(name)
    if not path.is_file():
        raise OptionError(f"no template '{name}': neither a file nor a preset{did_you_mean(name, PRESETS)}")
    check_limit("template", path.stat().st_size, name, "bytes of templates")
    try:
        return path.read_text("utf-8-sig"), name
    except UnicodeDecodeError:
        raise DataError(f"{name}: not a template file (not UTF-8)") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror})") from None
