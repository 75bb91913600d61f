"""A port for a server that is started later. As a program, prints it."""

import random
import socket


def free_port():
    """A port of 127.0.0.1 on which nobody listens.

    It is below the ports that the system itself assigns (from 32768 on Linux, from 49152 on macOS). One of those could be assigned to
    another process before the server listens on it.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


if __name__ == "__main__":
    print(free_port())
