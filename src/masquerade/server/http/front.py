"""The front: routes that are asked for most, answered without the framework's machinery.

The framework takes most of the time of a small request: it solves dependencies, hands over to a
thread and wraps the answer. A route of this kind is declared as any other, so that one declaration
describes it and answers it; its handler is asynchronous, and gets its typed values from here.
"""

from __future__ import annotations

import inspect
import json
import os.path
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from fastapi import params
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from masquerade.errors import MasqueradeError
from masquerade.server.http.problem import invalid_request, masquerade_problem, problem
from masquerade.server.http.write_slots import Waiting, busy, is_full

#: Gives a handler its caller, by the request and the header that names them.
Caller = Callable[[Request, str | None], Awaitable[Any]]
_MISSING: Final = object()


class FrontRoute(APIRoute):
    """A route whose handler takes a caller, one header at most, a body at most, and path values.

    ``caller``: the header that names a caller, in lower case.
    """

    caller = "masquerade-participant"

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests that came through the framework."""
        return self.answer

    async def answer(self, request: Request) -> Response:
        """Return the answer to a request, problems too."""
        try:
            values = await self._values(request)
            answer: Response = await self.endpoint(**values)
        except MasqueradeError as error:
            return masquerade_problem(error)
        except _InvalidError as error:
            return invalid_request(error.places)
        except HTTPException as error:
            return problem(error.status_code, "refused", str(error.detail))
        return answer

    async def _values(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the handler; wrong JSON is told before a wrong caller."""
        declared = self._declared
        values: dict[str, Any] = dict(request.path_params)
        body = await _json_of(request) if declared.body is not None else None
        given = request.headers
        if declared.caller is not None:
            name, caller = declared.caller
            values[name] = await caller(request, given.get(self.caller))
        places: list[tuple[Sequence[str | int], str]] = []
        if declared.header is not None:
            name, header, checked = declared.header
            places += _checked(values, name, given.get(header, _MISSING), checked, "header", header)
        if declared.body is not None:
            name, checked = declared.body
            places += _checked(values, name, body, checked, "body")
        if places:
            raise _InvalidError(places)
        return values

    @property
    def _declared(self) -> _Declared:
        found: _Declared | None = self.__dict__.get("declared")
        if found is None:
            found = self.__dict__["declared"] = _Declared(self.endpoint)
        return found


class _Declared:
    """The arguments of a handler, by where they come from."""

    def __init__(self, endpoint: Callable[..., Any]) -> None:
        self.caller: tuple[str, Caller] | None = None
        self.header: tuple[str, str, TypeAdapter[Any]] | None = None
        self.body: tuple[str, TypeAdapter[Any]] | None = None
        hints = get_type_hints(endpoint, include_extras=True)
        for name in inspect.signature(endpoint).parameters:
            hint = hints[name]
            more = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
            for one in more:
                if isinstance(one, params.Depends) and one.dependency is not None:
                    self.caller = name, one.dependency
                elif isinstance(one, params.Header):
                    self.header = name, name.replace("_", "-"), TypeAdapter(hint)
            if inspect.isclass(hint) and issubclass(hint, BaseModel):
                self.body = name, TypeAdapter(hint)


class _InvalidError(Exception):
    """A request whose values are wrong at some places."""

    def __init__(self, places: Sequence[tuple[Sequence[str | int], str]]) -> None:
        self.places = places


def _checked(
    values: dict[str, Any], name: str, value: Any, checked: TypeAdapter[Any], *where: str
) -> list[tuple[Sequence[str | int], str]]:
    """Set a value that has the declared form; return where and why it has not."""
    if value is _MISSING:
        return [(where, "Field required")]
    try:
        values[name] = checked.validate_python(value)
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        return [((*where, *one["loc"]), one["msg"]) for one in told]
    return []


async def _json_of(request: Request) -> Any:
    """Return the value of the body; bytes where it does not say that it is JSON."""
    body = await request.body()
    if not body:
        return _MISSING
    if not _is_json(request.headers.get("content-type", "")):
        return body
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise _InvalidError([(("body", error.pos), "JSON decode error")]) from None
    except (ValueError, RecursionError):  # no UTF-8, a number of too many digits, too deep
        raise HTTPException(400, "There was an error parsing the body") from None


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    main, _, sub = kind.partition("/")
    return main == "application" and (sub == "json" or sub.endswith("+json"))


class Front:
    """Middleware that answers requests to some routes, and passes all others on.

    `routes`: of the application under one prefix, which would answer them likewise. `changes`:
        where so much waits that it would take long, more is refused before it is looked at.
    """

    def __init__(self, app: ASGIApp, *, routes: Sequence[BaseRoute], changes: Waiting) -> None:
        self.app = app
        steps = [one for one in routes if isinstance(one, FrontRoute)]
        self._routes = [(one.path_regex, one.methods or (), one) for one in steps]
        self._prefix = os.path.commonpath([one.path for one in steps])
        self._changes = changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or pass it on."""
        if scope["type"] == "http" and scope["path"].startswith(self._prefix):
            path, method = scope["path"], scope["method"]
            for pattern, methods, route in self._routes:
                match = pattern.match(path)
                if match is not None and method in methods:
                    scope["route"], scope["path_params"] = route, match.groupdict()
                    full = is_full(self._changes)
                    answer = busy() if full else await route.answer(Request(scope, receive))
                    await answer(scope, receive, send)
                    return
        await self.app(scope, receive, send)
