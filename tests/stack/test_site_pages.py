"""The pages that name their own address: once for each site, of a build that all stacks share."""

import gzip
import re
from pathlib import Path

import pytest

from launcher import settings as configuration
from launcher.host import tools
from tests.support import plain_http
from tests.support.stack import Stack

ADDRESS = re.compile(r'<meta property="og:(url|image)" content="([^"]*)"')
PAGES = ("index", "sign-in", "sign-up", "forgot-password", "payouts", "income-disclosure", "terms", "risk")


@pytest.mark.parametrize("origin", ["https://example.org", "https://shop.example.net:8443"])
def test_each_site_has_its_own_pages_of_one_build(tmp_path: Path, origin: str) -> None:
    tools.write_site_pages(origin, tmp_path / "log")
    folder = tools.site_pages(origin)
    assert {path.name for path in folder.iterdir()} == {
        f"{page}.html{kind}" for page in PAGES for kind in ("", ".br", ".gz")
    }
    for page in PAGES:
        built = (tools.WEB / "dist" / f"{page}.html").read_text()
        written = (folder / f"{page}.html").read_text()
        assert gzip.decompress((folder / f"{page}.html.gz").read_bytes()).decode() == written
        picture = "home" if page == "index" else page
        assert dict(ADDRESS.findall(written)) == {
            "url": f"{origin}/" if page == "index" else f"{origin}/{page}",
            "image": f"{origin}/previews/{picture}.png",
        }
        # Nothing else differs: the page goes on where the build left it.
        assert written.replace(f'content="{origin}/', 'content="/') == built


def test_the_build_names_no_site() -> None:
    for page in PAGES:
        found = dict(ADDRESS.findall((tools.WEB / "dist" / f"{page}.html").read_text()))
        assert found.keys() == {"url", "image"}
        assert all(address.startswith("/") for address in found.values()), page


@pytest.mark.parametrize("coding", ["br", "gzip", ""])
def test_the_stack_serves_its_own(stack: Stack, state: Path, coding: str) -> None:
    origin = configuration.read(state).origin
    response = plain_http.get(f"{stack.url}/terms", headers={"accept-encoding": coding})
    assert response.headers.get("content-encoding", "") == coding
    if coding == "br":
        # Compressed beforehand: httpx does not open it.
        assert response.content == (tools.site_pages(origin) / "terms.html.br").read_bytes()
        return
    assert dict(ADDRESS.findall(response.text))["url"] == f"{origin}/terms"
