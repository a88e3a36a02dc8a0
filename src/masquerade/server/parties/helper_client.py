"""Requests of a leader to a helper."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from masquerade.errors import (
    AggregationRefused,
    MasqueradeError,
    NotFound,
    OperationError,
    ParameterError,
    ServerUnavailable,
)
from masquerade.server.parties.helper_page import task_address
from masquerade.server.webhooks.addresses import LONGEST_ADDRESS, is_public

_PATIENCE_SECONDS = 120.0
_DAP = "application/ppm-dap;message="
_DAP_ERROR = "urn:ietf:params:ppm:dap:error:"
#: An answer to 500 reports has 30 kB; whatever is far longer is none.
_LONGEST_ANSWER = 4 * 2**20


def helper_address(url: str, *, private: bool) -> str:
    """Return the address of a helper in the form that surveys have.

    Parameters
    ----------
    url : str
    private : bool
        Whether it may lead to this computer, there also without TLS, and to its network.

    Raises
    ------
    ParameterError
        It is none.
    """
    plain = url.strip().rstrip("/")
    expected = "expected one like https://helper.example.org, without a path"
    try:
        parts = urlsplit(plain)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ParameterError(f"the helper's address is {plain[:200]!r}, {expected}.") from None
    odd = len(plain) > LONGEST_ADDRESS or not plain.isascii() or not plain.isprintable()
    whole = f"{parts.scheme}://{parts.netloc}"
    if odd or not host or "@" in parts.netloc or plain != whole or "\\" in plain or " " in plain:
        raise ParameterError(f"the helper's address is {plain[:200]!r}, {expected}.")
    if parts.scheme != "https" and not (parts.scheme == "http" and private and _is_here(host)):
        raise ParameterError(
            f"the helper's address is {plain!r}, {expected}; without TLS only this computer can be "
            "asked, where the setting helper_private allows it."
        )
    return plain


class HelperClient:
    """Asks one helper.

    Parameters
    ----------
    address : str
    token : str
        By which the helper knows this server.
    private : bool
        As in `helper_address`.
    """

    def __init__(self, address: str, token: str, *, private: bool) -> None:
        self.address = address
        self._token = token
        self._private = private

    def identity(self) -> dict[str, Any]:
        """Return who the helper is, and its key."""
        return self._object(self._ask("GET", "/identity"))

    def propose(self, proposal: dict[str, Any]) -> dict[str, Any]:
        """Ask the helper's operator to approve a survey; return how the task stands."""
        return self._object(self._ask("POST", "/tasks", form=proposal))

    def standing(self, task: str) -> dict[str, Any]:
        """Return how a task stands."""
        return self._object(self._ask("GET", f"/tasks/{task_address(task)}"))

    def withdraw(self, task: str, ids: Sequence[bytes]) -> int:
        """Tell which reports were taken back; return how many had been added up before."""
        path = f"/tasks/{task_address(task)}/withdrawn"
        answer = self._ask("POST", path, b"".join(ids), kind="application/octet-stream")
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
        return self._ask("POST", path, body, kind=f"{_DAP}aggregation-job-init-req")

    def collect(self, task: str, body: bytes) -> bytes:
        """Ask for the helper's sum; return the encrypted share."""
        path = f"/tasks/{task_address(task)}/aggregate_shares"
        return self._ask("POST", path, body, kind=f"{_DAP}aggregate-share-req")

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        form: dict[str, Any] | None = None,
        kind: str = "application/json",
    ) -> bytes:
        helper_address(self.address, private=self._private)
        self._require_reachable()
        headers = {"Authorization": f"Bearer {self._token}"}
        if body is not None:
            headers["Content-Type"] = kind
        try:
            with (
                # No proxy and no redirect: the token goes to this address and to no other.
                httpx.Client(timeout=_PATIENCE_SECONDS, trust_env=False) as client,
                client.stream(
                    method, self.address + path, content=body, json=form, headers=headers
                ) as answer,
            ):
                content = _read(answer)
        except httpx.HTTPError as error:
            raise ServerUnavailable(
                f"the helper at {self.address} does not answer ({type(error).__name__}). Nothing "
                "is lost; it is asked again."
            ) from error
        if answer.status_code >= 400:
            raise _refusal(answer.status_code, content, self.address)
        if answer.status_code >= 300:
            raise ServerUnavailable(f"{self.address} answered {answer.status_code}; no helper.")
        return content

    def _object(self, content: bytes) -> dict[str, Any]:
        found = _json(content)
        if not isinstance(found, dict):
            raise ServerUnavailable(f"{self.address} is no helper: its answer is no JSON object.")
        return found

    def _require_reachable(self) -> None:
        """Refuse a name that leads into the network behind this server."""
        if self._private:
            return
        parts = urlsplit(self.address)
        try:
            found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):  # a label that is empty or too long is no name
            raise ServerUnavailable(f"the name of {self.address} is not known.") from None
        for one in found:
            if not is_public(str(one[4][0])):
                raise ParameterError(
                    f"{self.address} leads to {one[4][0]}, which is no public address; whoever "
                    "runs the server can allow that by the setting helper_private."
                )


Connect = Callable[[str, str], HelperClient]


def _read(answer: httpx.Response) -> bytes:
    content = bytearray()
    for part in answer.iter_bytes():
        content += part
        if len(content) > _LONGEST_ANSWER:
            raise httpx.DecodingError("too long an answer")
    return bytes(content)


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
            f"the helper at {address} does not know this server's token; ask its operator for "
            "the present one and enter it."
        )
    if status == 404:
        return NotFound(f"the helper at {address} does not know this: {detail}")
    if status >= 500 or status == 429:
        return ServerUnavailable(f"the helper at {address} cannot answer now: {detail}")
    return OperationError(f"the helper at {address} refuses: {detail}")


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
