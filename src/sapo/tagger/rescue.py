"""Save a model that took hours to train, even if the output file can no longer be written."""

import tempfile
from pathlib import Path

from sapo.errors import SapoError
from sapo.tagger.tagger import Tagger


def save_or_rescue(tagger: Tagger, output: Path) -> None:
    """Save the model. If that fails, save it in a new temporary directory, and raise a SapoError that says where."""
    try:
        tagger.save(output)
    except Exception as error:  # whatever went wrong, the model is still in memory
        reason = str(error) if isinstance(error, SapoError) else f"{output}: cannot be written ({error})"
        refuge = Path(tempfile.mkdtemp(prefix="sapo-")) / output.name
        try:
            tagger.save(refuge)
        except Exception:
            refuge.parent.rmdir()
            raise SapoError(reason) from error
        raise SapoError(f"{reason}; the model was saved as {refuge} instead") from error
