"""Requests to other computers end, for all behaviour of those."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from masquerade.server.http.outgoing import Answer, Target, TooLongAnswer, exchange

HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def answering(
    *parts: bytes, pause: float = 0.0, body: bytes = b""
) -> Iterator[tuple[Target, list[bytes]]]:
    """Run a program that answers every request by these bytes; return the requests."""
    ended, asked = threading.Event(), list[bytes]()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            line, _ = listening.accept()
            with line, contextlib.suppress(OSError):
                asked.append(line.recv(65536))
                while not asked[0].endswith(body):  # what follows the head may come by itself
                    asked[0] += line.recv(65536)
                for part in parts:
                    line.sendall(part)
                    if ended.wait(pause):
                        return

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield Target(False, "127.0.0.1", listening.getsockname()[1], "/path?a=b"), asked
        ended.set()
        thread.join()


def test_an_answer_is_read_as_it_is() -> None:
    """Status and content come back; nothing compressed is asked for, and the host is named."""
    content = b"Content-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc"
    with answering(HEAD + content, body=b"{}") as (target, asked):
        sent = {"Authorization": "Bearer x"}
        answer = exchange(target, "127.0.0.1", body=b"{}", headers=sent, seconds=60, most=3)
    assert answer == Answer(200, b"abc")
    [request] = asked
    assert request.startswith(b"POST /path?a=b HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{target.port}".encode() in request.lower()
    assert b"accept-encoding: identity" in request.lower()
    assert request.endswith(b"{}")


def test_an_answer_without_end_is_cut() -> None:
    """More bytes than were allowed are not kept, announced or not; unread ones are nothing."""
    with (
        answering(HEAD + b"\r\n", *[b"x" * 1000] * 100) as (target, _),
        pytest.raises(TooLongAnswer),
    ):
        exchange(target, "127.0.0.1", method="GET", headers={}, seconds=60, most=5000)
    with answering(HEAD + b"\r\n", *[b"x" * 1000] * 100) as (target, _):
        assert exchange(target, "127.0.0.1", headers={}, seconds=60) == Answer(200)


@pytest.mark.parametrize("head", [b"", HEAD + b"Content-Length: 400\r\n\r\n"])
def test_an_answer_that_dribbles_is_cut(head: bytes) -> None:
    """The whole has one deadline, in the head of the answer as in its content."""
    parts = [head] + [bytes([one]) for one in HEAD + b"X: " + b"x" * 400]
    with answering(*parts, pause=0.2) as (target, _), pytest.raises(TimeoutError):
        exchange(target, "127.0.0.1", headers={}, seconds=0.7, most=1000)


def test_redirects_are_answers() -> None:
    """The sent text, a token perhaps, goes nowhere else."""
    moved = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with answering(moved) as (target, asked):
        assert exchange(target, "127.0.0.1", headers={}, seconds=60).status == 307
    assert len(asked) == 1
