"""Links, requests and errors: how a device talks to a server over HTTP."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from masquerade.errors import (
    MasqueradeError,
    ParameterError,
    ServerUnavailable,
    SurveyError,
    Unauthenticated,
    UnderWay,
)

if TYPE_CHECKING:
    import httpx

_PATIENCE_SECONDS = 20.0
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0
_LONGEST_ANSWER, _LONGEST_FILE = 16 * 2**20, 2**31
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Waiting:
    """Patience of a program with the background work of a server.

    `progress` is told the steps done and of all, each time the server says that it is not there.
    """

    seconds: float = 3600.0
    progress: Callable[[int, int], object] | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    retry_after: str
    content: bytes


def _is_near(host: str) -> bool:
    """Return whether a host is this computer, or one of its own network."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
    return address.is_private or address.is_loopback


class Connection:
    """A server, as one participant or one program of a surveyor reaches it.

    Every request can be sent again without harm, so each is, after growing pauses and at most
    `attempts` times, where it is not known whether it arrived or the server is busy. `secret` gives
    the participant's secret when a request needs it; `refused` tells, where the server does not
    know it, whether there is another one to be tried.
    """

    def __init__(
        self,
        url: str,
        secret: Callable[[], str],
        *,
        attempts: int = 5,
        transport: httpx.BaseTransport | None = None,
        refused: Callable[[], bool] = lambda: False,
    ) -> None:
        import httpx  # slow to load, and most of the library never needs it

        if attempts < 1:
            raise ParameterError(f"attempts is {attempts}, expected at least 1.")
        try:
            address = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ParameterError(f"url is {url!r}, which is no address: {error}") from error
        if address.scheme not in ("http", "https") or not address.host or address.userinfo:
            raise ParameterError(f"url is {url!r}, expected one such as https://example.org.")
        if address.scheme == "http" and not _is_near(address.host):
            raise ParameterError(
                f"url is {url!r}: over http, whoever is on the way can read your account and send "
                "you other questions. Use https; http is for this computer and its own network."
            )
        self.url = str(address.copy_with(query=None, fragment=None)).rstrip("/")
        self._secret = secret
        self._refused = refused
        self._attempts = attempts
        self._failure = httpx.RequestError
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            # The same for everybody: no version that tells one device from another.
            headers={"User-Agent": "masquerade", "Accept": "application/json"},
            # A cookie would join what is asked as a participant to what anybody may ask.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=_PATIENCE_SECONDS,
            transport=transport,
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def anybody(self, path: str) -> dict[str, Any]:
        """Return a public resource."""
        return self._ask("GET", path, {}, None)

    def anybody_asks(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Make a request that says nothing of the person; asking again asks the same."""
        headers = {"Content-Type": "application/json"}
        return self._ask("POST", path, headers, padded(body))

    def elsewhere(self, address: str) -> dict[str, Any]:
        """Return a public resource of another server; nothing of a person goes there."""
        return self._ask("GET", address, {}, None, server=address)

    def own(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Make a request of the participant; a request with a `key` has an effect only once."""
        try:
            return self.as_person(self._secret(), method, path, body, key=key)
        except Unauthenticated:
            if not self._refused():
                raise
        return self.as_person(self._secret(), method, path, body, key=key)

    def as_person(
        self,
        secret: str,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Make a request of the holder of this secret."""
        headers = {"Masquerade-Participant": secret}
        if key is not None:
            headers["Idempotency-Key"] = key
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = padded(body)
        return self._ask(method, path, headers, content)

    def as_program(
        self,
        token: str,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        match: str | None = None,
        waiting: Waiting | None = None,
    ) -> bytes:
        """Return the content of an answer to a surveyor's program.

        `match`: the ETag of what is changed. `UnderWay` comes out where a large result is not there
        after the seconds of `waiting`.
        """
        given = {
            "Authorization": f"Bearer {token}",
            "Idempotency-Key": key,
            "If-Match": match,
            "Content-Type": None if body is None else "application/json",
            "Accept": "*/*",
        }
        headers = {name: value for name, value in given.items() if value is not None}
        content = None if body is None else _json(body)
        answer = self._sent(method, path, headers, content, most=_LONGEST_FILE)
        patience = waiting or Waiting()
        given_up = monotonic() + patience.seconds
        while answer.status == 202 and answer.retry_after:  # a large result is worked out
            pause = max(1.0, _seconds(answer.retry_after))
            self._go_on(answer, patience, late=monotonic() + pause > given_up)
            sleep(pause)
            answer = self._sent(method, path, headers, content, most=_LONGEST_FILE)
        if not 200 <= answer.status < 300:
            self._read(answer)  # raises what the server says
        return answer.content

    def _go_on(self, answer: _Answer, waiting: Waiting, *, late: bool) -> None:
        """Tell the progress of the server; raise its error where it is late."""
        try:
            self._read(_Answer(400, "", answer.content))
        except UnderWay as error:
            if waiting.progress is not None:
                waiting.progress(error.done, error.of)
            if late:
                raise UnderWay(
                    f"after {waiting.seconds:g} seconds {self.url} says: {error} It goes on there; "
                    "do the same again later.",
                    seconds=error.seconds,
                    done=error.done,
                    of=error.of,
                ) from None

    def _ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        content: bytes | None,
        *,
        server: str | None = None,
    ) -> dict[str, Any]:
        return self._read(self._sent(method, path, headers, content, server=server))

    def _sent(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        content: bytes | None,
        *,
        server: str | None = None,
        most: int = _LONGEST_ANSWER,
    ) -> _Answer:
        """Send a request until it is answered, and return the answer."""
        pause, reason = _FIRST_PAUSE_SECONDS, ""
        for attempt in range(1, self._attempts + 1):
            asked_to_wait = 0.0
            try:
                answer = self._answer(method, path, headers, content, most)
            except self._failure as error:
                reason = str(error) or type(error).__name__
            else:
                if answer.status not in _TRY_AGAIN:
                    return answer
                reason = f"it answered with status {answer.status}"
                asked_to_wait = _seconds(answer.retry_after)
            if attempt < self._attempts:
                # at random, so that devices that failed together do not come back together
                sleep(max(asked_to_wait, pause * random.uniform(0.5, 1)))
                pause *= 2
        raise ServerUnavailable(
            f"{server or self.url} cannot be asked now: {reason}. Nothing is lost; do the same "
            "again later."
        )

    def _answer(
        self, method: str, path: str, headers: dict[str, str], content: bytes | None, most: int
    ) -> _Answer:
        """Return a server's answer; raise where it is longer than that of a real server."""
        read = bytearray()
        with self._http.stream(method, path, headers=headers, content=content) as answer:
            for chunk in answer.iter_bytes():
                read += chunk
                if len(read) > most:
                    raise ServerUnavailable(
                        f"{self.url} answers more than {most} bytes, as no Masquerade "
                        "server does; check the address."
                    )
        return _Answer(answer.status_code, answer.headers.get("Retry-After", ""), bytes(read))

    def _read(self, answer: _Answer) -> dict[str, Any]:
        content: Any = None
        with contextlib.suppress(ValueError, RecursionError):  # no JSON, or nested too deeply
            content = json.loads(answer.content)
        success = 200 <= answer.status < 300
        if not isinstance(content, dict):
            # redirects are not followed: they would take the secret to another address
            if success or 300 <= answer.status < 400 or answer.status == 404:
                raise ServerUnavailable(
                    f"{self.url} does not answer like a Masquerade server (status "
                    f"{answer.status}); check the address."
                )
            content = {}
        if not success:
            raise error_of(answer.status, content)
        content.pop("padding", None)
        result: dict[str, Any] = content
        return result


def _seconds(text: str) -> float:
    # however long a server asks to wait, a person is in front of this device
    return min(float(text), _LONGEST_PAUSE_SECONDS) if text.isascii() and text.isdigit() else 0.0


_TOKEN = re.compile(r"[0-9a-f]{1,32}")
_LINK = re.compile(r"(?P<server>https?://.+?)/s/(?P<survey>[0-9a-f]{1,32})/?(?:[?#].*)?")


def token_of(text: str) -> str:
    """Return `text` where it can be the token of a survey; `ParameterError` where it cannot."""
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
    match = _LINK.fullmatch(link.strip())
    if match is None:
        raise ParameterError(
            f"{link!r} is not the link of a survey, such as https://example.org/s/5a5a5a5a5a5a5a5a."
        )
    return match["server"], match["survey"]


BLOCK = 1024
_ROOM_FOR_A_REPORT = 20  # the longest whole number a report can be, its sign and a comma
_ROOM_FOR_A_LEVEL = 64


def padded(content: Mapping[str, Any]) -> bytes:
    """Return an object as JSON, filled up with spaces to a multiple of 1 KiB.

    The multiple depends on the number of reports only, neither on the reports nor on the level.
    The page does the same (``padded`` in ``web/static/app/api.js``).

    Examples
    --------
    >>> len(padded({"survey": "5a", "level": "high"})), len(padded({"reports": [-12] * 100}))
    (1024, 3072)
    """
    reports = content.get("reports", [])
    emptied = {**content, "reports": [], "level": "", "padding": ""}
    # as if every report and the level were the longest that there can be
    room = _ROOM_FOR_A_REPORT * len(reports) + _ROOM_FOR_A_LEVEL
    bare = len(_json({**content, "padding": ""}))
    size = -(-max(len(_json(emptied)) + room, bare) // BLOCK) * BLOCK
    return _json({**content, "padding": " " * (size - bare)})


def _json(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


_REFUSALS = MasqueradeError.by_slug()


def error_of(status: int, problem: dict[str, Any]) -> MasqueradeError:
    """Return the exception that problem details (``application/problem+json``) stand for."""
    slug = str(problem.get("type", "")).rpartition("/")[2]
    detail = str(problem.get("detail") or f"the server refused the request ({status}).")
    if slug == ParameterError.slug:
        errors = problem.get("errors")
        places = errors if isinstance(errors, list) else []
        wrong = [f"{e.get('pointer')}: {e.get('detail')}" for e in places if isinstance(e, dict)]
        # A document's refusal names its places in its detail, too: each is said once.
        unsaid = "; ".join(one for one in wrong if one not in detail)
        return ParameterError(f"{detail} {unsaid}".rstrip())
    return _REFUSALS.get(slug, SurveyError).from_problem(detail, problem)
