"""The console commands: perfdb under the name by which it was called."""

import os
import signal
import sys
from typing import List, NoReturn

from ._perfdb import run


def launcher() -> List[str]:
    """The words that start perfdb in another process."""
    return [sys.executable, "-m", "perfdb"]


def main() -> NoReturn:
    """Runs the tool of this name, and ends the process with its status."""
    # The tools see to interrupts themselves, and end at a closed pipe as the system has it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    name = os.path.basename(sys.argv[0])
    status = run([name, *sys.argv[1:]], launcher(), os.path.abspath(sys.argv[0]))
    sys.stdout.flush()
    os._exit(status)
