"""The conversation with the driver."""
import argparse
import os
import sys
import traceback

from . import PROTOCOL
from .channel import Channel
from .failures import Environment


def main(arguments):
    parser = argparse.ArgumentParser(prog="perfdb-worker")
    parser.add_argument("--connect", help="Unix socket to talk over instead of stdin and stdout")
    options = parser.parse_args(arguments)
    # Of the ranks that the driver had started together, only the first has a driver.
    silent = os.environ.get("_DFC_AUTO_TORCHRUN") == "1" and os.environ.get("RANK", "0") != "0"
    channel = Silence() if silent else Channel(options.connect)
    hello = channel.receive()
    if hello is None:
        return 0
    try:
        worker = open_worker(hello, channel)
    except (Environment, ImportError) as error:
        channel.send(type="error", kind="environment", exception="RuntimeError", message=advice(error))
        return 1
    except BaseException as error:  # noqa: BLE001 - whatever it is, the driver has to know
        traceback.print_exc()
        channel.send(type="error", kind="environment", exception=type(error).__name__, message=str(error))
        return 1
    channel.send(**worker.greeting())
    worker.serve()
    channel.send(type="bye")
    return 0


class Silence:
    """The channel of a rank without a driver. Its greeting comes by the environment."""

    def receive(self):
        return {"type": "hello", "protocol": PROTOCOL, "backend": "npu", "seed": int(os.environ.get("PERFDB_WORKER_SEED", "0")),
                "exact_init": False}

    def send(self, **_):
        pass


def advice(error):
    """What is missing, and what to do about it."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return f"{sys.executable} has no torch: install it, or name an interpreter that has it (--python, PERFDB_PYTHON)"
    return str(error)


def open_worker(hello, channel):
    from .worker import Worker  # imports torch, which may not be there

    return Worker(hello, channel)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
