"""Numbered pages of the administrative lists."""

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from functions.auth.errors import invalid
from functions.core.database import Pool

_DEFAULT, _MOST = 50, 1000


async def read_page(
    pool: Pool, request: Request, select: str, source: str, order: str, parameters: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the rows of the page that a request asks for, and the headers that name the other pages.

    `source` is SQL from `from` on, with its condition. Raises ApiError 400 when page or size is no number.
    """
    page, size = _page_of(request)
    async with pool.connection() as connection:
        totals = await connection.execute(f"select count(*) as n {source}", parameters)
        total = (await totals.fetchone() or {"n": 0})["n"]
        rows = await connection.execute(
            f"{select} {source} order by {order} limit %(size)s offset %(skip)s",
            {**parameters, "size": size, "skip": (page - 1) * size},
        )
        return await rows.fetchall(), _headers(request, page, size, total)


def _page_of(request: Request) -> tuple[int, int]:
    """Return the page (from 1) and the rows a page."""
    values = []
    for name, default in (("page", 1), ("per_page", _DEFAULT)):
        given = request.query_params.get(name) or str(default)
        if not given.isascii() or not given.isdigit() or len(given) > 9:
            raise invalid(f'Bad Pagination Parameters: strconv.ParseUint: parsing "{given}": invalid syntax')
        values.append(int(given))
    return max(1, values[0]), min(max(1, values[1]), _MOST)


def _headers(request: Request, page: int, size: int, total: int) -> dict[str, str]:
    """Return `X-Total-Count`, and `Link` to the next and the last page."""
    last = max(1, -(-total // size))
    links = []
    for rel, number in (("next", page + 1), ("last", last)):
        if number <= last:
            query = dict(request.query_params) | {"page": str(number), "per_page": str(size)}
            order = sorted(query.items(), key=lambda item: item[0])
            links.append(f'<{request.scope["route"].path}?{urlencode(order)}>; rel="{rel}"')
    return {"x-total-count": str(total), "link": ", ".join(links)}
