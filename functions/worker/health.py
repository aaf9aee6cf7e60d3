"""`GET /health` of a process that serves nothing else: a handful of lines instead of a web framework."""

import asyncio

from functions.core.database import Pool, require_database

RESPONSE_HEAD = (
    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
    "content-length: {length}\r\nconnection: close\r\n\r\n"
)


async def serve_health(host: str, port: int, pool: Pool) -> None:
    """Serve until cancelled: 200 while the database can be reached, else 503."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await asyncio.wait_for(reader.readline(), 5)
            status, body = await _health(line.decode("latin-1"), pool)
            head = RESPONSE_HEAD.format(status=status, length=len(body))
            writer.write(head.encode() + body)
            await writer.drain()
        except (TimeoutError, ConnectionError, ValueError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(respond, host, port)
    async with server:
        await server.serve_forever()


async def _health(request_line: str, pool: Pool) -> tuple[str, bytes]:
    if not request_line.startswith("GET /health "):
        return "404 Not Found", b'{"error":"There is only /health.","code":"not_found"}'
    try:
        await require_database(pool)
    except Exception:  # whatever keeps the database away, the response is the same
        return "503 Service Unavailable", b'{"status":"no database"}'
    return "200 OK", b'{"status":"ok"}'
