"""Commands as children of a process that has loaded everything, so that they work from their first moment on."""

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path


def warm_up(train: Path, model: Path) -> None:
    """Load what commands use: their children inherit it."""
    import sapo
    import sapo.cli
    from sapo.training.update import Trainer

    sentences = list(sapo.read(train))
    sapo.train(sentences, epochs=2, rate=0.1, strength=1.0, dev=sentences[:5])
    tagger = sapo.Tagger.load(model)
    rows = [list(zip(*one.columns.values(), strict=True)) for one in sentences[:5]]
    for row in rows:
        tagger.tag(row)
        tagger.nbest(row, 3)
        tagger.marginals(row)
    Trainer(tagger).update([(row, [tagger.labels[0]] * len(row)) for row in rows])


class Forked:
    """A command that runs in a child: what `subprocess.Popen` would be, as far as it is needed here."""

    def __init__(self, room: Path, arguments: Sequence[str]) -> None:
        self._told = tempfile.TemporaryFile()  # noqa: SIM115
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            self._run(room, arguments)

    def _run(self, room: Path, arguments: Sequence[str]) -> None:
        from sapo.cli.main import main

        code = 1
        try:
            os.chdir(room)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(self._told.fileno(), 2)
            os.environ["TMPDIR"] = "."
            tempfile.tempdir = None
            sys.argv = ["sapo", *arguments]
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: object) -> None:
        self._told.close()

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float) -> tuple[None, bytes]:
        """Wait for the end; return nothing, and what was written to standard error."""
        end = time.monotonic() + timeout
        while True:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                break
            if time.monotonic() > end:
                os.kill(self.pid, 9)
                raise TimeoutError(f"a command took longer than {timeout} s")
            time.sleep(0.002)
        self.returncode = os.waitstatus_to_exitcode(status)
        self._told.seek(0)
        return None, self._told.read()
