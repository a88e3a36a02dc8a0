"""How people come to a survey and where they go: tickets, panels, pages that show it.

A panel sends its people with named parameters, such as ``PROLIFIC_PID``. They are bound to the
completion code, once it is given, by a request without the person's secret, and never to a
response. The first parameter names the person, who gets one code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field

from masquerade.errors import ParameterError, WrongState
from masquerade.server.http.bodies import StrictBody
from masquerade.surveys.reach import MOST_WAVES

#: Most parameters that a panel sends, and the longest value of one.
MOST_PARAMETERS, LONGEST_VALUE = 8, 200

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_PLACE = re.compile(r"\{([^{}]*)\}")
# Characters that would end a source in a page's policy are in no origin.
_ORIGIN = re.compile(
    r"https://[a-z0-9.-]{1,253}(:\d{1,5})?|http://(localhost|127\.0\.0\.1)(:\d{1,5})?"
)

Issue = tuple[str, str]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
_Address = Annotated[str, Field(max_length=1000)]


class TicketFields(StrictBody):
    """Whether people need a ticket, and how it is kept apart from their response."""

    phases: Annotated[int, Field(ge=0, le=2)] = 0  # 0: everybody with the link can take part
    answers_from: Day | None = None
    wave: Annotated[int, Field(ge=1, le=MOST_WAVES)] = 1
    watched: bool = False
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{0,1024}$")] = ""  # made by the server


class PanelFields(StrictBody):
    """The parameters of a panel, and the addresses for its people afterwards."""

    parameters: Annotated[
        list[Annotated[str, Field(max_length=32)]], Field(max_length=MOST_PARAMETERS)
    ] = Field(default_factory=list)
    complete: _Address = ""
    screened_out: _Address = ""
    full: _Address = ""
    # Whether the browser sends a form there, as MTurk wants it, or follows a link.
    method: Literal["link", "form"] = "link"


@dataclass(frozen=True, slots=True)
class Ways:
    """A survey's panel, and the origins of pages that may show it; fixed once it is open."""

    panel: Mapping[str, Any] | None = None
    origins: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Ways:
        """Return the ways of a JSON object from `to_json`."""
        return cls() if data is None else cls(data["panel"], tuple(data["origins"]))

    def to_json(self) -> Mapping[str, Any] | None:
        """Return it as a JSON object; None where there is nothing to say."""
        if self.panel is None and not self.origins:
            return None
        return {"panel": self.panel, "origins": list(self.origins)}

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of a panel's parameters."""
        return tuple((self.panel or {}).get("parameters", ()))

    @property
    def form_origins(self) -> tuple[str, ...]:
        """Origins to which the survey's page may send a form."""
        panel = self.panel or {}
        if panel.get("method") != "form":
            return ()
        return tuple(sorted({_origin(panel[name]) for name in _ADDRESSES if panel[name]}))

    def read(self, given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return the name of a person and all parameters that a panel sent.

        Raises `WrongState` (the survey has no panel), `ParameterError`.
        """
        names = self.parameters
        if not names:
            raise WrongState("no panel sends people to this survey.")
        if set(given) - set(names) or not given.get(names[0]):
            raise ParameterError(f"give {names[0]}, and of others only {', '.join(names)}.")
        return given[names[0]], dict(given)


_ADDRESSES = ("complete", "screened_out", "full")


def ways_of(panel: PanelFields, origins: Sequence[str]) -> Ways:
    """Return the ways that the fields of a document describe."""
    said = bool(panel.parameters or panel.complete or panel.screened_out or panel.full)
    return Ways(panel.model_dump() if said else None, tuple(origins))


def ticket_issues(tickets: TicketFields, *, today: str, closes: str | None) -> list[Issue]:
    """Return the reason why tickets cannot be issued; `today` is of UTC, as devices count days."""
    if not tickets.phases:
        return []
    issues = []
    if not tickets.key:
        issues.append(("/tickets", "The key of the tickets is missing; choose them once more."))
    if tickets.phases == 2:
        place, day = "/tickets/answers_from", tickets.answers_from
        if day is None:
            issues.append((place, "Say from which day on people answer."))
        elif day <= today:
            issues.append((place, "Choose a later day: people enrol until then."))
        elif closes is not None and closes < day:
            issues.append((place, "The last day of the survey comes before this day."))
    return issues


def panel_issues(panel: PanelFields, *, codes: bool) -> list[Issue]:
    """Return the faults of a panel's parameters and addresses; `codes` are given out."""
    issues = [
        (
            f"/panel/parameters/{place}",
            f"{name!r} is no name of a parameter: use letters, digits and _, a letter first.",
        )
        for place, name in enumerate(panel.parameters)
        if not _NAME.fullmatch(name)
    ]
    if len(set(panel.parameters)) < len(panel.parameters) or "code" in panel.parameters:
        issues.append(("/panel/parameters", "Two parameters have one name, or one is named code."))
    if panel.parameters and not codes:
        issues.append(
            ("/panel/parameters", "A panel's parameters stand beside completion codes; give those.")
        )
    for name in _ADDRESSES:
        if fault := _address_fault(getattr(panel, name), (*panel.parameters, "code")):
            issues.append((f"/panel/{name}", fault))
    return issues


def origin_issues(origins: Sequence[str]) -> list[Issue]:
    """Return the origins that are none."""
    return [
        (f"/origins/{place}", "Write the page's address up to its host, as https://example.org.")
        for place, origin in enumerate(origins)
        if not _ORIGIN.fullmatch(origin)
    ]


def _address_fault(address: str, names: Sequence[str]) -> str | None:
    if not address:
        return None
    unknown = [name for name in _PLACE.findall(address) if name not in names]
    if unknown:
        return (
            f"{{{unknown[0]}}} is not known here; use {', '.join(f'{{{one}}}' for one in names)}."
        )
    # Placeholders stand behind the host: no parameter chooses where people go.
    if not _ORIGIN.fullmatch(_origin(address)):
        return "Write an address that begins with https://."
    return None


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
        return f"{parts.scheme}://{parts.netloc}".lower()
    except ValueError:
        return ""
