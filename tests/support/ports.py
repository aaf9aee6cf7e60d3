"""Ports for the servers that tests start themselves."""

import secrets
import socket

# Below those of outgoing connections on Linux: one of these could take the port before its server does.
FIRST, LAST = 10_240, 32_767


def free_port() -> int:
    """Return a port of the loopback address that nobody uses."""
    while True:
        port = FIRST + secrets.randbelow(LAST - FIRST + 1)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def is_listening(port: int) -> bool:
    """Return whether a server takes connections at a port of the loopback address."""
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0
