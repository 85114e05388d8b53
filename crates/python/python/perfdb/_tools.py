"""The console commands: the bundled program, under the name by which it was called."""

import os
import sys
from typing import NoReturn


def program() -> str:
    """The path of the bundled program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "perfdb")


def main() -> NoReturn:
    """Becomes the program; its name tells it which tool it is."""
    path = program()
    name = os.path.basename(sys.argv[0])
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"error: {path}: {error.strerror}: the package was installed without its program")
