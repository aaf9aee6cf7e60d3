"""A client of HTTP that costs next to nothing, so that it is not the client that is measured."""

import asyncio
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

PATIENCE_SECONDS = 60
# Less than the gateway's idle timeout: it may be closing a connection that waited longer.
IDLE_SECONDS = 60


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    content: bytes

    @property
    def good(self) -> bool:
        """Done."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the decoded content."""
        return orjson.loads(self.content)


class HttpClient:
    """A pool of keep-alive connections to one server; it opens a new one when none is free."""

    def __init__(self, url: str, address: str = "") -> None:
        self._host, self._port = urlsplit(url).hostname, urlsplit(url).port
        self._from = (address, 0) if address else None
        self._free: list[tuple[Connection, float]] = []

    async def json(self, method: str, path: str, headers: dict[str, str], body: Any = None) -> Reply:
        """Send a request with a JSON body, or with none."""
        content = b"" if body is None else orjson.dumps(body)
        return await self.ask(method, path, {"content-type": "application/json", **headers}, content)

    async def file(self, path: str, headers: dict[str, str], content: bytes) -> Reply:
        """Send a form with one PNG, as supabase-js does."""
        mark = secrets.token_hex(16)
        field = 'content-disposition: form-data; name="cacheControl"\r\n\r\n3600'
        file = 'content-disposition: form-data; name=""; filename="receipt.png"\r\ncontent-type: image/png'
        body = (
            f"--{mark}\r\n{field}\r\n--{mark}\r\n{file}\r\n\r\n".encode()
            + content
            + f"\r\n--{mark}--\r\n".encode()
        )
        kind = {"content-type": f"multipart/form-data; boundary={mark}"}
        return await self.ask("POST", path, headers | kind, body)

    async def ask(self, method: str, path: str, headers: dict[str, str], content: bytes) -> Reply:
        """Send any request.

        Raises:
            OSError, EOFError: no response came.
        """
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\n{lines}content-length: {len(content)}\r\n\r\n"
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            receive, send = self._stored() or await self._open()
            try:
                send.write(head.encode() + content)
                reply, more = await _read(receive)
            except BaseException:
                send.close()
                raise
        if more:
            self._free.append(((receive, send), time.monotonic()))
        else:
            send.close()
        return reply

    def _stored(self) -> Connection | None:
        """Return the connection used last; when even that one is too old, all are."""
        if self._free and time.monotonic() - self._free[-1][1] > IDLE_SECONDS:
            self.close()
        return self._free.pop()[0] if self._free else None

    async def _open(self) -> Connection:
        return await asyncio.open_connection(self._host, self._port, limit=2**20, local_addr=self._from)

    def close(self) -> None:
        """Hang up."""
        for (_, send), _ in self._free:
            send.close()
        self._free.clear()


async def _read(receive: asyncio.StreamReader) -> tuple[Reply, bool]:
    """Return the response, and whether the connection can be used again."""
    head = (await receive.readuntil(b"\r\n\r\n")).lower()
    status = int(head[9:12])
    if b"\r\ntransfer-encoding: chunked" in head:
        parts = []
        while size := int(await receive.readline(), 16):
            parts.append(await receive.readexactly(size))
            await receive.readline()
        await receive.readline()
        content = b"".join(parts)
    elif b"\r\ncontent-length:" in head:
        length = int(head.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
        content = await receive.readexactly(length)
    else:
        content = b""
    return Reply(status, content), b"\r\nconnection: close" not in head
