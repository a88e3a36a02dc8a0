"""Requests of a leader to a helper."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from masquerade.errors import (
    AggregationRefused,
    MasqueradeError,
    NotFound,
    OperationError,
    ServerUnavailable,
)
from masquerade.server.http.outgoing import (
    TooLongAnswer,
    UnknownName,
    exchange,
    read_address,
    resolve,
)
from masquerade.server.parties.helper_page import task_address
from masquerade.surveys.two_parties import require_origin

_PATIENCE_SECONDS = 20.0
#: For checks and sums: a helper takes about half a millisecond a report.
_LONG_PATIENCE_SECONDS = 60.0
_SETTING = "helper_private"
#: What follows where a helper does not answer: a person asked, or the server by itself.
_TRY = "Try again, or call its operator."
_ASKED_AGAIN = "Nothing is lost. If that lasts, call its operator."
_DAP = "application/ppm-dap;message="
_NO_TASK = "00" * 32
_DAP_ERROR = "urn:ietf:params:ppm:dap:error:"
#: An answer to 500 reports has 30 kB; whatever is far longer is none.
_LONGEST_ANSWER = 4 * 2**20


def helper_address(url: str, *, private: bool) -> str:
    """Return the address of a helper in the form that surveys have.

    `private`: whether it may lead to this computer, there also without TLS, and to its network.

    Raises `ParameterError` (it is none).
    """
    plain = url.strip().rstrip("/")
    require_origin(plain)
    read_address(plain, private=private, setting=_SETTING, ports=None)
    return plain


class HelperClient:
    """Asks one helper.

    `token`: by which the helper knows this server.
    `private`: as in `helper_address`.
    """

    def __init__(self, address: str, token: str, *, private: bool) -> None:
        self.address = address
        self._token = token
        self._private = private

    def identity(self) -> Mapping[str, object]:
        """Return the helper's operator, address and key."""
        # Before the key is compared, nobody there is given the token.
        return self._object(self._ask("GET", "/identity", known=False))

    def require_known(self) -> None:
        """Ask about a task that no helper has, which only a leader with a known token may.

        Raises `OperationError` (the helper does not know the token) or `ServerUnavailable`.
        """
        with contextlib.suppress(NotFound):
            self.standing(_NO_TASK)

    def propose(self, proposal: Mapping[str, object]) -> Mapping[str, object]:
        """Ask the helper's operator to approve a survey; return how the task stands."""
        return self._object(self._ask("POST", "/tasks", form=proposal))

    def standing(self, task: str) -> Mapping[str, object]:
        """Return how a task stands."""
        return self._object(self._ask("GET", f"/tasks/{task_address(task)}"))

    def withdraw(self, task: str, ids: Sequence[bytes]) -> int:
        """Tell which reports were taken back; return how many had been added up before."""
        path = f"/tasks/{task_address(task)}/withdrawn"
        answer = self._ask(
            "POST", path, b"".join(ids), kind="application/octet-stream", next_=_ASKED_AGAIN
        )
        count = self._object(answer).get("aggregated_before")
        if type(count) is not int or count < 0:
            raise ServerUnavailable(
                f"{self.address} does not say how many reports it had added up; it answered "
                f"{count!r}, expected a whole number."
            )
        return count

    def check(self, task: str, body: bytes) -> bytes:
        """Send a job; return its answer."""
        path = f"/tasks/{task_address(task)}/aggregation_jobs"
        return self._ask(
            "POST",
            path,
            body,
            kind=f"{_DAP}aggregation-job-init-req",
            seconds=_LONG_PATIENCE_SECONDS,
            next_=_ASKED_AGAIN,
        )

    def collect(self, task: str, body: bytes) -> bytes:
        """Ask for the helper's sum; return the encrypted share."""
        path = f"/tasks/{task_address(task)}/aggregate_shares"
        return self._ask(
            "POST",
            path,
            body,
            kind=f"{_DAP}aggregate-share-req",
            seconds=_LONG_PATIENCE_SECONDS,
            next_=_ASKED_AGAIN,
        )

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        form: Mapping[str, object] | None = None,
        kind: str = "application/json",
        seconds: float | None = None,
        next_: str = _TRY,
        known: bool = True,
    ) -> bytes:
        import httpx  # see `exchange`

        seconds = seconds or _PATIENCE_SECONDS
        headers = {"Authorization": f"Bearer {self._token}"} if known else {}
        if form is not None:
            body = json.dumps(form).encode()
        if body is not None:
            headers["Content-Type"] = kind
        helper_address(self.address, private=self._private)
        # Looked up for each request, and asked at the address that was checked.
        target = read_address(
            self.address + path, private=self._private, setting=_SETTING, ports=None
        )
        try:
            address = resolve(target, private=self._private, setting=_SETTING)
            answer = exchange(
                target,
                address,
                method=method,
                body=body,
                headers=headers,
                seconds=seconds,
                most=_LONGEST_ANSWER,
            )
        except UnknownName as error:  # which passes, unlike a name that leads inside
            raise self._silent(f" ({error}). {next_}") from None
        except (TimeoutError, httpx.TimeoutException):
            raise self._silent(f" within {seconds:g} seconds. {next_}") from None
        except (httpx.ConnectError, OSError) as error:
            raise self._silent(f": no connection could be made. {next_}") from error
        except TooLongAnswer:
            raise self._silent(f" as a helper does: its answer is too long. {next_}") from None
        except httpx.HTTPError as error:
            raise self._silent(f": the connection ended too soon. {next_}") from error
        if answer.status >= 400:
            raise _refusal(answer.status, answer.content, self.address)
        if answer.status >= 300:
            raise ServerUnavailable(f"{self.address} answered {answer.status}; no helper.")
        return answer.content

    def _silent(self, how: str) -> ServerUnavailable:
        return ServerUnavailable(f"The helper at {self.address} does not answer{how}")

    def _object(self, content: bytes) -> Mapping[str, object]:
        found = _json(content)
        if not isinstance(found, dict):
            raise ServerUnavailable(f"{self.address} is no helper: its answer is no JSON object.")
        return found


Connect = Callable[[str, str], HelperClient]


def _json(content: bytes) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(content)
    return None


def _refusal(status: int, content: bytes, address: str) -> MasqueradeError:
    problem = _json(content)
    problem = problem if isinstance(problem, dict) else {}
    detail = str(problem.get("detail", f"status {status}"))[:1000]
    kind = str(problem.get("type", ""))
    if kind.startswith(_DAP_ERROR):
        return AggregationRefused(
            f"the helper refuses: {detail}", kind=kind.removeprefix(_DAP_ERROR)
        )
    if status == 401:
        return OperationError(
            f"The helper at {address} does not know this server's token; ask its operator "
            "for the present one, and enter the helper again with it."
        )
    if status == 404:
        return NotFound(f"the helper at {address} does not know this: {detail}")
    if status >= 500 or status == 429:
        return ServerUnavailable(f"the helper at {address} cannot answer now: {detail}")
    return OperationError(f"the helper at {address} refuses: {detail}")
