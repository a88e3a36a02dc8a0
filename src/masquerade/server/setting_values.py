"""Values of settings: from a file of TOML or from the environment, each checked for its kind."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.errors import ParameterError, UnreadableFile

PREFIX = "MASQUERADE_"
CONFIG_VARIABLE = "MASQUERADE_CONFIG"


def read_file(path: Path, known: Iterable[str]) -> dict[str, Any]:
    """Return the settings in a file, numbers exactly as they are written.

    Raises
    ------
    UnreadableFile
        It is not there or is no TOML.
    ParameterError
        It names a setting that does not exist.
    """
    try:
        with path.open("rb") as file:
            # A float would not be the number that somebody wrote, and caps are exact.
            found = tomllib.load(file, parse_float=Decimal)
    except OSError as error:
        raise UnreadableFile(f"cannot read the settings in {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} is no TOML: {error}.") from error
    names = sorted(known)
    for key in found:
        if key not in names:
            raise ParameterError(f"{path} has {key!r}, which is no setting.{nearest(key, names)}")
    return found


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a sentence that names what was probably meant, or all that could have been.

    Examples
    --------
    >>> nearest("public_uri", ["database", "public_url"])
    ' Did you mean public_url?'
    """
    names = list(names)
    close = difflib.get_close_matches(name, names, 1)
    return f" Did you mean {close[0]}?" if close else f" Settings are {', '.join(names)}."


def text(name: str, value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} is {value!r}, expected a text in quotes.")
    return value


def switch(name: str, value: Any) -> bool:
    """Return whether a switch is on: true, false, 1 or 0."""
    known = {"1": True, "0": False, "true": True, "false": False}
    word = str(value).lower() if isinstance(value, bool | int | str) else ""
    if word not in known:
        raise ParameterError(f"{name} is {value!r}, expected 1 or true, 0 or false.")
    return known[word]


def whole(most: int, *, least: int = 0) -> Callable[[str, Any], int]:
    """Return what reads a whole number between two others, both included."""

    def read(name: str, value: Any) -> int:
        # For Python true is 1; a setting that was meant as a switch is refused.
        digits = "" if isinstance(value, bool) else str(value)
        if not digits.isascii() or not digits.isdigit() or not least <= int(digits) <= most:
            raise ParameterError(
                f"{name} is {value!r}, expected a whole number from {least} to {most}."
            )
        return int(digits)

    return read


def number(name: str, value: Any) -> Fraction:
    """Return a number from 0 to 1000, exactly as it is written."""
    try:
        found = Fraction(-1) if isinstance(value, bool) else Fraction(Decimal(str(value)))
    except (InvalidOperation, OverflowError, ValueError):
        found = Fraction(-1)
    if not 0 <= found <= 1000:
        raise ParameterError(f"{name} is {value!r}, expected a number from 0 to 1000.")
    return found


def one_of(*names: str) -> Callable[[str, Any], str]:
    """Return what reads one of some words."""

    def read(name: str, value: Any) -> str:
        if value not in names:
            expected = f"{', '.join(names[:-1])} or {names[-1]}"
            raise ParameterError(f"{name} is {value!r}, expected {expected}.")
        return str(value)

    return read
