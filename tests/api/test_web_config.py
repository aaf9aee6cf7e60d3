"""`/config.js`: what the web app knows before its first paint."""

import json
import re
import time
from hashlib import sha256
from typing import Any

from tests.support import plain_http
from tests.support.stack import Stack


def config_of(script: str) -> dict[str, Any]:
    """Return the argument that the script calls itself with."""
    found = re.search(r"\}\)\((\{.*\})\)\n\Z", script)
    assert found, script[-200:]
    config: dict[str, Any] = json.loads(found[1])
    return config


def test_it_holds_the_public_key_and_the_settings_without_the_long_texts(stack: Stack) -> None:
    key = {"apikey": stack.anon_key}

    def compared() -> tuple[dict[str, Any], dict[str, Any]]:
        platform = plain_http.get(f"{stack.url}/rest/v1/rpc/get_platform", headers=key).json()
        short = {name: value for name, value in platform.items() if name not in ("terms", "risk")}
        expected = {"supabaseUrl": "", "supabaseKey": stack.anon_key, "platform": short}
        return config_of(plain_http.get(f"{stack.url}/config.js").text), expected

    # Another test may be changing a setting; the script is at most two seconds behind.
    deadline = time.monotonic() + 10
    while (found := compared())[0] != found[1] and time.monotonic() < deadline:
        time.sleep(0.5)
    assert found[0] == found[1]


def test_browsers_keep_it_and_ask_each_time_whether_it_changed(stack: Stack) -> None:
    response = plain_http.get(f"{stack.url}/config.js")
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["cache-control"] == "no-cache"
    # The gateway adds how it compressed it.
    assert response.headers["etag"].startswith(f'"{sha256(response.content).hexdigest()[:32]}')
    other = plain_http.get(f"{stack.url}/config.js", headers={"if-none-match": '"other"'})
    assert other.status_code == 200
    again = plain_http.get(f"{stack.url}/config.js", headers={"if-none-match": other.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_it_is_small(stack: Stack) -> None:
    """It stands before the first paint."""
    assert len(plain_http.get(f"{stack.url}/config.js").content) < 8_000
