"""Ports for what a test starts itself."""

import socket


def free_port() -> int:
    """Return a port of the loopback address that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
