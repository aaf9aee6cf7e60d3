"""Numbered pages of the administrative lists."""

from urllib.parse import urlencode

from starlette.requests import Request

from functions.auth.errors import invalid

_DEFAULT, _MOST = 50, 1000


def page_of(request: Request) -> tuple[int, int]:
    """Return the page (from 1) and the rows a page. Raises ApiError 400 when either is no number."""
    values = []
    for name, default in (("page", 1), ("per_page", _DEFAULT)):
        given = request.query_params.get(name) or str(default)
        if not given.isascii() or not given.isdigit() or len(given) > 9:
            raise invalid(f'Bad Pagination Parameters: strconv.ParseUint: parsing "{given}": invalid syntax')
        values.append(int(given))
    return max(1, values[0]), min(max(1, values[1]), _MOST)


def page_headers(request: Request, path: str, page: int, size: int, total: int) -> dict[str, str]:
    """Return `X-Total-Count`, and `Link` to the next and the last page."""
    last = max(1, -(-total // size))
    links = []
    for rel, number in (("next", page + 1), ("last", last)):
        if number <= last:
            query = dict(request.query_params) | {"page": str(number), "per_page": str(size)}
            order = sorted(query.items(), key=lambda item: item[0])
            links.append(f'<{path}?{urlencode(order)}>; rel="{rel}"')
    return {"x-total-count": str(total), "link": ", ".join(links)}
