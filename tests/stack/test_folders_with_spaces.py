"""A stack in a folder whose name holds what a shell or supervisord would read otherwise."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import settings as configuration
from launcher.services import summary
from launcher.services.supervisor import Supervisor
from launcher.settings import Settings
from launcher.terminal import Stop
from tests.stack.test_launcher import launch
from tests.support import plain_http
from tests.support.stack import env_of


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a new folder that PostgreSQL's user may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.alone
def test_a_stack_runs_in_a_folder_with_spaces(folder: Path) -> None:
    state = folder / "my own stack"
    try:
        up = launch(state, "up", DEMO="0")
        assert up.returncode == 0, up.stdout + up.stderr
        # What to type next is for this stack and may be pasted.
        assert f"Next: STATE='{state}' python3 supabase/stack bootstrap" in up.stdout
        assert f"Stop it with: STATE='{state}' make down" in up.stdout
        values = env_of(state / "env")
        key = {"apikey": values["SUPABASE_ANON_KEY"]}
        for path in (
            "/auth/v1/health",
            "/storage/v1/status",
            "/rest/v1/rpc/get_platform",
            "/config.js",
            "/terms",
        ):
            response = plain_http.get(values["SUPABASE_URL"] + path, headers=key)
            assert response.status_code == 200, path
        assert launch(state, "status").returncode == 0
        (found,) = [folder for folder in state.iterdir() if folder.name == "objects"]
        assert found.is_dir(), "receipts lie in this folder and in no other"
    finally:
        down = launch(state, "down")
    assert down.returncode == 0, down.stdout + down.stderr


@pytest.mark.parametrize("name", ['a"b', "a'b", "a;b", "a\\b", "a%b"])
def test_what_supervisord_cannot_read_is_said_in_words(tmp_path: Path, name: str) -> None:
    settings = Settings(state=tmp_path / name, ports=dict.fromkeys(configuration.SERVICES_WITH_PORTS, 1))
    with pytest.raises(Stop, match=r"which supervisord's file cannot. Use another folder."):
        Supervisor(settings).configure([], Path("/usr/lib/postgresql/15/bin"))


def test_commands_name_the_state_folder_unless_it_is_the_usual_one() -> None:
    assert configuration.command_prefix(configuration.ROOT / ".stack") == ""
    assert configuration.command_prefix(Path("/srv/stack")) == "STATE=/srv/stack "
    assert configuration.command_prefix(Path("/srv/my stack")) == "STATE='/srv/my stack' "


def test_a_stack_behind_a_proxy_says_where_the_proxy_finds_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"SITE_URL": "https://example.org", "SITE_HOST": "10.0.0.7"}
    ports = dict.fromkeys(configuration.SERVICES_WITH_PORTS, 8000)
    monkeypatch.setattr(summary, "env_values", lambda *_: {"SITE_URL": "https://example.org"})
    summary.show(Settings(state=tmp_path, ports=ports, options=options), None)  # type: ignore[arg-type]
    said = capsys.readouterr().out
    assert "Web app        https://example.org\n" in said
    assert "Gateway        http://10.0.0.7:8000  (what the proxy in front passes requests to)" in said
