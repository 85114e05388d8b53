"""The worker that perfdb ships: runs replay cases with torch. Started by the driver; see docs/formats/replay-protocol.md."""
import sys

from perfdb_worker.loop import main

sys.exit(main(sys.argv[1:]))
