"""Train a model on all accepted sentences in a process of its own, so that no request waits for it.

The process reads from its standard input a line of JSON (the kind of the project, and the size of the model to begin
with), then this model, then the sentences as JSON. It writes the bytes of the new model.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from sapo.apps.teach.task import SPANS, for_model, scheme_of
from sapo.errors import SapoError
from sapo.jit.processes import start_python
from sapo.tagger.file import model_bytes, model_from_bytes
from sapo.tagger.tagger import Tagger
from sapo.training.run import train
from sapo.training.update import Trainer

TEMPLATES = {SPANS: "ner", "tags": "pos-best"}  # both need nothing but words
COMMAND = ("-m", "sapo.apps.teach.retraining")
Pair = tuple[Sequence[str], Sequence[str]]


def train_anew(kind: str, pairs: Sequence[Pair], base: Tagger | None = None) -> Tagger:
    """Train on all sentences; with a base, let it learn all of them, and keep what it knew."""
    if base is None:
        return train(pairs, template=TEMPLATES[kind])
    if not pairs:
        return base
    trainer = Trainer(base)
    scheme = scheme_of(base.labels) if kind == SPANS else None
    trainer.update([(words, for_model(tags, scheme) if scheme else tags) for words, tags in pairs], new_labels=True)
    return trainer.snapshot()


class Process:
    """Trains in a process; `end` stops it."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._ended = False

    def train(self, kind: str, pairs: Sequence[Pair], base: bytes | None) -> bytes | None:
        """Return the new model, or None if it was stopped. Raise SapoError if it failed."""
        header = json.dumps({"kind": kind, "base": len(base or b"")}).encode()
        message = b"\n".join([header, (base or b"") + json.dumps(pairs).encode()])
        self._running = start_python(*COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self._running is None:
            raise SapoError("training from scratch failed: Python cannot be started")
        with self._running:
            if self._ended:
                self._running.kill()
            model, said = self._running.communicate(message)
        if self._ended:
            return None
        if self._running.returncode:
            last = (said.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
            raise SapoError(f"training from scratch failed: {last:.200}")
        return model

    def end(self) -> None:
        """Stop what is running, and start nothing more."""
        self._ended = True
        if self._running is not None:
            self._running.kill()


def main() -> None:
    """Train what comes from standard input."""
    if hasattr(os, "nice"):
        os.nice(19)  # people wait for the server, and nobody for this
    header = json.loads(sys.stdin.buffer.readline())
    rest = sys.stdin.buffer.read()
    base = Tagger(model_from_bytes(rest[: header["base"]], name="base")) if header["base"] else None
    try:
        tagger = train_anew(header["kind"], json.loads(rest[header["base"] :]), base)
    except SapoError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(model_bytes(tagger.model))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
