"""Run the command in processes that are forked from one that has loaded it: they start in no time.

    python forked.py serve SOCKET    load sapo and its kernels, say "ready", and fork a process for each request
    python forked.py SOCKET ARG ...  ask for `sapo ARG ...` with the streams, directory and TMPDIR of this process

The second is a command like any other: what comes out and how it ends is that of the process that was forked.
"""

import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def ask(path: str, args: list[str]) -> int:
    """Run a command by the server at this socket; return how it ended."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(path)
        place = os.getcwd()  # noqa: PTH109 (pathlib takes long to load)
        socket.send_fds(asking, [json.dumps([place, os.environ.get("TMPDIR"), args]).encode()], [0, 1, 2])
        asking.shutdown(socket.SHUT_WR)
        return int(asking.recv(16))


def serve(path: str, command: Callable[[], None]) -> None:
    """Answer until standard input is closed."""
    import select

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            asking, _ = listening.accept()
            with asking:
                told, streams, *_ = socket.recv_fds(asking, 1 << 16, 3)
                while more := asking.recv(1 << 16):
                    told += more
                process = os.fork()
                for number, stream in enumerate(streams):
                    if process == 0:
                        os.dup2(stream, number)
                    os.close(stream)
                if process == 0:
                    place, temporary, args = json.loads(told)
                    os.chdir(place)
                    use_temporary(temporary)
                    sys.argv[1:] = args
                    end(command)
                asking.sendall(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())


def use_temporary(directory: str | None) -> None:
    """Make temporary files in this directory."""
    import tempfile

    tempfile.tempdir = None  # the server has looked for one already
    if directory is not None:
        os.environ["TMPDIR"] = directory


def end(command: Callable[[], None]) -> NoReturn:
    """Run the command and leave as Python does, but without the long work of tidying up what was loaded."""
    code: Any = 0
    try:
        command()
    except SystemExit as told:
        code = told.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def load() -> None:
    """Load what most commands need: a forked process has it then."""
    import sapo
    from sapo import jit
    from sapo.corpus.sample import COLUMNS, sample_path

    jit.compile_kernels()
    text = sample_path("test")
    tagger = sapo.train(text, dev=text, columns=COLUMNS, label="chunk", template="chunking", epochs=1)
    tagger.nbest([("a", "DT"), ("dog", "NN")], n=2)
    tagger.marginals([("a", "DT"), ("dog", "NN")])


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        from sapo.cli.main import main

        load()
        serve(sys.argv[2], main)
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
