"""A port for a server that is started later. As a program, prints it."""

import errno
import random
import socket

from terminal import say

given = set()


def free_port():
    """A port of 127.0.0.1 on which nobody listens, another one at each call.

    It is below the ports that the system itself assigns (from 32768 on Linux, from 49152 on macOS). One of those could be assigned to
    another process before the server listens on it.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        if port in given:
            continue
        try:
            with socket.create_server(("127.0.0.1", port)):
                given.add(port)
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


if __name__ == "__main__":
    say(free_port())
