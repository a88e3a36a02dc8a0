"""Commands on standard error: the bar of long work, where a person watches, and notes."""

from __future__ import annotations

import io
import logging
import sys
import warnings

import pytest

from masquerade.cli.terminal import progress_bar, warnings_as_notes
from masquerade.truth import OneCoin


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        """Say that a person watches."""
        return True


def shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO) -> str:
    """Return the text that a bar writes on `screen`."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    with progress_bar("measuring") as tell:
        if tell is not None:
            tell(1, 4)
            tell(4, 4)
    return screen.getvalue()


def test_a_bar_says_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal it names the work, the part done and the total."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = shown(monkeypatch, Terminal())
    assert "measuring 4 of 4" in text
    assert "\x1b[3" in text


def test_a_bar_has_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes the colours, not the bar."""
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(monkeypatch, Terminal())
    assert "measuring 4 of 4" in text
    assert "\x1b[3" not in text


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard error is no terminal nothing is written, not even an empty line."""
    assert shown(monkeypatch, io.StringIO()) == ""


def test_a_fit_says_in_the_log_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    """The line has the model and its iterations, and nothing of the claims."""
    caplog.set_level(logging.DEBUG, logger="masquerade")
    OneCoin().fit({"task": list("aabb"), "worker": list("xyxy"), "label": ["cat"] * 4})
    [record] = [each for each in caplog.records if each.name.startswith("masquerade.truth")]
    assert "iterations" in record.getMessage()
    assert "cat" not in record.getMessage()


def test_what_packages_say_to_programmers_is_no_note(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning to users is told once; a deprecation never, even one that is a UserWarning."""

    class ForBoth(UserWarning, DeprecationWarning):
        """As pyparsing has one."""

    with warnings_as_notes():
        for _ in range(2):
            warnings.warn("this matters", stacklevel=1)
            warnings.warn("parseString is deprecated", ForBoth, stacklevel=1)
    assert capsys.readouterr().err == "note: this matters\n"
