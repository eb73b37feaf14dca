"""Other processes of Python, which work for this one."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess


def start_python(*arguments: str, **options: Any) -> "subprocess.Popen[bytes] | None":
    """Start Python with the modules that this process can import; its standard input is a pipe.

    Return None if it cannot be started: a server that embeds Python has no command to call, and a frozen program would
    start itself.
    """
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").name.lower().startswith("python"):
        return None
    import subprocess  # takes milliseconds, and who only tags does not need it

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    try:
        # Modules of the current directory only if this process finds them, too: it may hold data of a stranger.
        places = [place or str(Path.cwd()) for place in sys.path if isinstance(place, str)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONSAFEPATH": "1"}
        return subprocess.Popen([sys.executable, *arguments], env=environment, **pipes)
    except OSError:
        return None
