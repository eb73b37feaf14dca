"""What a training run will call, found out by a small one, and compiled while the real one starts.

`sapo.training.run` starts `python -m sapo.training.rehearsal`, which reads settings as JSON from standard input.
"""

import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from sapo import kernels
from sapo.training.run import train

LINES = "the DT\ncat NN\nsleeps VBZ\n\na DT\ndog NN\n\n"


def rehearse(settings: dict[str, Any]) -> None:
    """Do what a user does with a training file: train, evaluate, look at taggings."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "train.txt"
        path.write_text(LINES)
        tagger = train(path, epochs=2, **settings)
        tagger.evaluate(path)
        tagger.nbest(["the", "bird"], 2)
        tagger.marginals(["the", "bird"])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the temporary directory is removed
    given = json.load(sys.stdin)
    kernels.compile_what(lambda: rehearse(given["settings"]), given["parent"])
