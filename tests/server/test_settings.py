"""Where the server keeps its data and how it is reached."""

from __future__ import annotations

import os
import re
import stat
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import make_url

from masquerade.accounting import Caps
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.server import Services, Settings
from masquerade.server.settings import setting_names


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start without settings, in an empty folder."""
    for name in [name for name in os.environ if name.startswith("MASQUERADE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def file_of(settings: Settings) -> Path:
    """Return the SQLite file of settings."""
    return Path(str(make_url(settings.database).database))


def test_without_settings(tmp_path: Path) -> None:
    """With nothing set, data go into a folder here, and links name the address of the request."""
    settings = Settings.from_environment()
    assert file_of(settings) == tmp_path / "masquerade-data" / "masquerade.sqlite3"
    assert (settings.public_url, settings.demo) == (None, False)
    assert Settings.from_environment(demo=True).demo


def test_which_setting_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An argument wins over the database's address, and that over the folder's."""
    monkeypatch.setenv("MASQUERADE_DATA_DIR", str(tmp_path / "folder"))
    assert file_of(Settings.from_environment()).parent == tmp_path / "folder"
    monkeypatch.setenv("MASQUERADE_DATABASE", "postgresql+psycopg://somewhere/else")
    assert Settings.from_environment().database == "postgresql+psycopg://somewhere/else"
    settings = Settings.from_environment(data_dir=tmp_path / "argument")
    assert file_of(settings).parent == tmp_path / "argument"


def test_the_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The public address comes without a slash at its end; an empty one is none."""
    monkeypatch.setenv("MASQUERADE_PUBLIC_URL", "https://surveys.example/")
    assert Settings.from_environment().public_url == "https://surveys.example"
    monkeypatch.setenv("MASQUERADE_PUBLIC_URL", "")
    assert Settings.from_environment().public_url is None


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("https://example.org/surveys", "not served below a path (/surveys)"),
        ("https://example.org/?a=b", "expected an address"),
        ("surveys.example.org", "expected an address"),
        ("https://me@example.org", "expected an address"),
        ("ftp://example.org", "expected an address"),
    ],
)
def test_a_server_below_a_path_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str, advice: str
) -> None:
    """A public address with a path would half work, so the server says that it needs a host."""
    monkeypatch.setenv("MASQUERADE_PUBLIC_URL", address)
    with pytest.raises(ParameterError, match=re.escape(advice)):
        Settings.from_environment()


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting's variable can be empty, and is then as if it was not there."""
    plain = Settings.from_environment()
    for name in setting_names():
        monkeypatch.setenv(f"MASQUERADE_{name.upper()}", "")
    assert Settings.from_environment() == plain


@pytest.mark.parametrize("name", ["with space", "a?b#c%20d", "ünï", "a&b=c"])
def test_folders_of_any_name(tmp_path: Path, name: str) -> None:
    """The database is made in exactly the folder that was named."""
    settings = Settings.from_environment(data_dir=tmp_path / "new" / name)
    services = Services.open(settings.database)
    services.close()
    assert (tmp_path / "new" / name / "masquerade.sqlite3").is_file()


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX's")
def test_a_new_folder_is_private(tmp_path: Path) -> None:
    """A folder that is made for the data can be read by this account only."""
    folder = tmp_path / "data"
    Settings.from_environment(data_dir=folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_demonstration_never_opens_a_real_database(tmp_path: Path) -> None:
    """In a folder that holds real surveys, the demonstration keeps its own file beside them."""
    real = Settings.from_environment(data_dir=tmp_path)
    assert Settings.from_environment(data_dir=tmp_path, demo=True).database != real.database


def test_numbers_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caps, rates and days come from the environment, exactly as they are written."""
    assert Settings.from_environment().caps == Caps()
    for name, value in {
        "MASQUERADE_CAP_EPSILON": "2.5",
        "MASQUERADE_CAP_DELTA": "1e-8",
        "MASQUERADE_CAP_CLEAR": "3",
        "MASQUERADE_ALLOW_CLEAR": "1",
        "MASQUERADE_RESERVATION_DAYS": "7",
        "MASQUERADE_RATE_PARTICIPANT": "0",
        "MASQUERADE_RATE_ADDRESS": "50",
    }.items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_environment()
    assert settings.caps == Caps(Micro(2_500_000), Fraction(1, 10**8), 3)
    assert settings.allow_clear
    assert settings.reservation_days == 7
    assert (settings.rate_participant, settings.rate_address) == (0, 50)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MASQUERADE_CAP_EPSILON", "-1"),
        ("MASQUERADE_CAP_EPSILON", "much"),
        ("MASQUERADE_CAP_EPSILON", "inf"),
        ("MASQUERADE_CAP_DELTA", "nan"),
        ("MASQUERADE_CAP_DELTA", "1"),
        ("MASQUERADE_CAP_CLEAR", "1.5"),
        ("MASQUERADE_ALLOW_CLEAR", "yes"),
        ("MASQUERADE_RATE_ADDRESS", " "),
        ("MASQUERADE_TIME_ZONE", "Berlin"),
        ("MASQUERADE_TIME_ZONE", "../../etc/passwd"),
        ("MASQUERADE_SECURITY_CONTACT", "somebody"),
        ("MASQUERADE_SECURITY_EXPIRES", "soon"),
        ("MASQUERADE_RESERVATION_DAYS", "²"),
    ],
)
def test_settings_that_cannot_be(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """A setting that is no such number is an error that names the expected one."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ParameterError, match="expected"):
        Settings.from_environment()
