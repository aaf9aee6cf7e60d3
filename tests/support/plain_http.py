"""HTTP without TLS, as everything here speaks it: the certificates of a usual client take 50 ms to load."""

from typing import Any

import httpx


def client(address: str = "", **options: Any) -> httpx.Client:
    """Return a client, from a loopback address of its own if one is given."""
    transport = httpx.HTTPTransport(
        verify=False, local_address=address or None, limits=options.pop("limits", httpx.Limits())
    )
    return httpx.Client(transport=transport, trust_env=False, **options)


_anyone = client(timeout=30)
request, get, head, post, put = _anyone.request, _anyone.get, _anyone.head, _anyone.post, _anyone.put
