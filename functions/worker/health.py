"""`GET /health` of a process that serves nothing else: a handful of lines instead of a web framework."""

import asyncio

from functions.core.database import Pool

ANSWER = (
    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
    "content-length: {length}\r\nconnection: close\r\n\r\n"
)


async def serve_health(host: str, port: int, pool: Pool) -> None:
    """Answer until cancelled: 200 while the database can be reached, else 503."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await asyncio.wait_for(reader.readline(), 5)
            status, body = await _health(line.decode("latin-1"), pool)
            head = ANSWER.format(status=status, length=len(body))
            writer.write(head.encode() + body)
            await writer.drain()
        except (TimeoutError, ConnectionError, ValueError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(answer, host, port)
    async with server:
        await server.serve_forever()


async def _health(request_line: str, pool: Pool) -> tuple[str, bytes]:
    if not request_line.startswith("GET /health "):
        return "404 Not Found", b'{"error":"There is only /health.","code":"not_found"}'
    try:
        async with pool.connection(timeout=2) as connection:
            await connection.execute("select 1")
    except Exception:  # whatever keeps the database away, the answer is the same
        return "503 Service Unavailable", b'{"status":"no database"}'
    return "200 OK", b'{"status":"ok"}'
