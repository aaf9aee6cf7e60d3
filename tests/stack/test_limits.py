"""The limits of an operator: one table, GoTrue's names, read where they count."""

import re
from pathlib import Path

import pytest

from functions.auth.durations import parse_duration
from functions.auth.settings import AuthSettings
from launcher import limits
from launcher.host.environment import TEMPLATES
from launcher.settings import ROOT
from launcher.terminal import Stop
from tests.stack.test_options import env_of_service, options_of, settings_of
from tests.support.stack import env_of

DEFAULTS = {limit.name: limit.default for limit in limits.LIMITS}


def test_every_limit_reaches_what_counts(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    given = env_of_service("auth", settings) | env_of_service("postgrest", settings)
    for limit in limits.LIMITS:
        name = (
            limit.name.replace("HARBORLINE_", "PGRST_APP_SETTINGS_") if "_LIMIT" in limit.name else limit.name
        )
        assert given.get(limit.name, given.get(name)) == limit.default, limit.name
    raised = {name: "90s" if "FREQUENCY" in name or "WINDOW" in name else "77" for name in DEFAULTS}
    settings = settings_of(tmp_path, **options_of(tmp_path / "stored", **raised))
    given = env_of_service("auth", settings) | env_of_service("postgrest", settings)
    assert {given[name] for name in given if name in DEFAULTS or "APP_SETTINGS" in name} == {"77", "90s"}


def test_no_number_stands_twice() -> None:
    files = ("auth-limits", "postgrest")
    texts = {name: text for file in files for name, text in env_of(TEMPLATES / f"{file}.env").items()}
    limiting = {
        name: text for name, text in texts.items() if re.search("RATE|FREQUENCY|LIMIT|ATTEMPTS", name)
    }
    del limiting["GOTRUE_RATE_LIMIT_HEADER"]
    assert all(text.startswith("${") for text in limiting.values()), limiting


def test_what_the_code_does_without_an_operator_is_the_tables_default() -> None:
    fields = {str(field.validation_alias): field.default for field in AuthSettings.model_fields.values()}
    for name in (name for name in DEFAULTS if name.startswith("HARBORLINE_AUTH_")):
        default = parse_duration(DEFAULTS[name]) if "WINDOW" in name else int(DEFAULTS[name])
        assert fields[name] == default, name
    sql = (ROOT / "sql" / "schema" / "080_sign_up.sql").read_text()
    for name in ("referrer", "username"):
        (number,) = re.findall(rf"operator_limit\('{name}_limit', (\d+)\)", sql)
        assert number == DEFAULTS[f"HARBORLINE_{name.upper()}_LIMIT"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("GOTRUE_RATE_LIMIT_EMAIL_SENT", value)
            for value in ("0", "-1", "x", "300/", "300/1d", "1e3", "1000001")
        ),
        *(("GOTRUE_RATE_LIMIT_OTP", value) for value in ("0", "30/5m", "3.5", " 30", "٣")),
        *(("HARBORLINE_AUTH_FAILURE_LIMIT", value) for value in ("0", "101")),
        *(("HARBORLINE_AUTH_FAILURE_WINDOW", value) for value in ("15", "0m", "15 m", "1d", "")),
    ],
)
def test_what_is_no_limit_is_rejected_in_words(tmp_path: Path, name: str, value: str) -> None:
    if not value:
        assert name not in options_of(tmp_path, **{name: value})
        return
    with pytest.raises(Stop, match=rf"(?s){name}=.* is not a .*It limits: "):
        options_of(tmp_path, **{name: value})


def test_a_rate_may_have_a_period_of_its_own(tmp_path: Path) -> None:
    given = options_of(tmp_path, GOTRUE_RATE_LIMIT_EMAIL_SENT="500/10m")
    assert given["GOTRUE_RATE_LIMIT_EMAIL_SENT"] == "500/10m"


def test_the_table_is_for_people() -> None:
    lines = limits.table({"GOTRUE_RATE_LIMIT_EMAIL_SENT": "5000"}).splitlines()
    assert lines[0].split() == ["name", "now", "default", "limits"]
    assert lines[1].split()[:3] == ["GOTRUE_RATE_LIMIT_EMAIL_SENT", "5000", "300"]
    assert len(lines) == len(limits.LIMITS) + 1
