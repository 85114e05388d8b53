"""python -m perfdb TOOL ..."""

import sys

from ._tools import main

sys.argv[0] = "perfdb"
main()
