"""Saving a model that took hours, also where its place cannot be written any more."""

import tempfile
from pathlib import Path

from sapo.errors import SapoError
from sapo.tagger.tagger import Tagger


def save_or_rescue(tagger: Tagger, output: Path) -> None:
    """Save; if that fails, save into a new temporary directory, and raise an error that says where."""
    try:
        tagger.save(output)
    except Exception as error:  # whatever it is, the model is still there
        told = str(error) if isinstance(error, SapoError) else f"{output}: cannot be written ({error})"
        refuge = Path(tempfile.mkdtemp(prefix="sapo-")) / output.name
        try:
            tagger.save(refuge)
        except Exception:
            refuge.parent.rmdir()
            raise SapoError(told) from error
        raise SapoError(f"{told}; the model was saved as {refuge} instead") from error
