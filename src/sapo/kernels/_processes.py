"""Other processes of Python, which compile for this one."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def start_python(*arguments: str, **options: Any) -> "subprocess.Popen[bytes] | None":
    """Start Python with the modules that this process can import; its standard input is a pipe.

    Return None if it cannot be started: a server that embeds Python has no command to call.
    """
    if not Path(sys.executable or "").name.lower().startswith("python"):
        return None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    try:
        return subprocess.Popen([sys.executable, *arguments], env=environment, **pipes)
    except OSError:
        return None
