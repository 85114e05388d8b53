"""The protocol channel: JSON objects, one per line. Nothing else may get onto it."""
import json
import os
import socket
import sys


class Channel:
    """Reads and writes messages. Libraries that print reach stderr instead."""

    def __init__(self, connect=None):
        if connect:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(connect)
            self._input = connection.makefile("r", encoding="utf-8")
            self._output = connection.makefile("w", encoding="utf-8")
            return
        own_output = os.dup(1)
        os.dup2(2, 1)
        self._input = sys.stdin
        self._output = os.fdopen(own_output, "w", encoding="utf-8")

    def send(self, **message):
        self._output.write(json.dumps(message, allow_nan=False) + "\n")
        self._output.flush()

    def receive(self):
        """The next message, or None at the end."""
        line = self._input.readline()
        return json.loads(line) if line else None
