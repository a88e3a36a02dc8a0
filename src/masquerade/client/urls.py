"""The links that people share."""

from __future__ import annotations

import re

from masquerade.errors import ParameterError

_TOKEN = re.compile(r"[0-9a-f]{1,32}")
_LINK = re.compile(r"(?P<server>https?://.+?)/s/(?P<survey>[0-9a-f]{1,32})/?(?:[?#].*)?")


def token_of(text: str) -> str:
    """Return `text` where it can be the token of a survey, and raise where it cannot.

    Raises
    ------
    ParameterError
        It is something else.
    """
    if not _TOKEN.fullmatch(text):
        raise ParameterError(
            f"survey is {text!r}, expected up to 32 hexadecimal digits: what follows /s/ in its "
            "link."
        )
    return text


def survey_of(link: str) -> tuple[str, str]:
    """Return the server and the survey's token of a share link.

    Raises
    ------
    ParameterError
        It is another link.

    Examples
    --------
    >>> survey_of("https://example.org/s/5a5a5a5a5a5a5a5a")
    ('https://example.org', '5a5a5a5a5a5a5a5a')
    """
    found = _LINK.fullmatch(link.strip())
    if found is None:
        raise ParameterError(
            f"{link!r} is not the link of a survey, such as https://example.org/s/5a5a5a5a5a5a5a5a."
        )
    return found["server"], found["survey"]
