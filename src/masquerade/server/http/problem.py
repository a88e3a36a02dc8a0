"""One shape for every error: problem+json for programs, a plain page for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from masquerade.errors import InvalidDocument, MasqueradeError
from masquerade.server.http.bodies import padded

#: How many places of a wrong request are told; whoever puts them right is told of further ones.
MOST_PLACES = 20

#: What is said of a request with values that are not as declared.
WRONG_FORM = "The request does not have the expected form."

_LONGEST_POINTER, _LONGEST_DETAIL = 200, 2000


class Problem(BaseModel):
    """Problem details (RFC 9457); some types have further members."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


#: What every operation of the interface may answer, for its OpenAPI document.
PROBLEM_ANSWER: dict[str, object] = {
    "description": "A problem; its type says which",
    "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}},
    },
}


def file_answer(*types: str) -> dict[str, Any]:
    """Return the arguments of a route that answers with a file and not with a JSON object."""
    content: dict[str, object] = {one: {"schema": {"type": "string"}} for one in types}
    if not all(one.startswith("text/") for one in types):
        binary = {"schema": {"type": "string", "format": "binary"}}
        # The general type too: generators of clients leave out a response all of whose types they
        # do not know.
        content = dict.fromkeys((*types, "application/octet-stream"), binary)
    answer: dict[str, Any] = {"description": "A file", "content": content}
    return {"response_class": Response, "responses": {200: answer}}


def describe_problems(document: dict[str, Any]) -> dict[str, Any]:
    """Complete an OpenAPI document: each answer of status 4xx or 5xx is a problem.

    All name one schema, so that a client that is made from the document has one type for them.
    """
    document["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                if status.startswith(("4", "5")):
                    answer.setdefault("content", PROBLEM_ANSWER["content"])
    return document


def problem(status: int, slug: str, detail: str, **members: Any) -> Response:
    """Return an error as RFC 9457 problem details, padded like any answer."""
    return padded(
        {
            "type": f"/problems/{slug}",
            "title": slug.replace("-", " ").capitalize(),
            "status": status,
            "detail": detail,
            **members,
        },
        status,
        media_type="application/problem+json",
    )


def wrong_places(slug: str, detail: str, places: Sequence[tuple[str, str]]) -> Response:
    """Return where a request is wrong, as problem details: the first places, and how many more."""
    errors = [
        {"pointer": pointer[:_LONGEST_POINTER], "detail": what[:_LONGEST_DETAIL]}
        for pointer, what in places[:MOST_PLACES]
    ]
    members: dict[str, object] = {"errors": errors}
    if len(places) > MOST_PLACES:
        members["more"] = len(places) - MOST_PLACES
    return problem(422, slug, detail[:_LONGEST_DETAIL], **members)


def invalid_request(places: Iterable[tuple[Iterable[str | int], str]]) -> Response:
    """Return where a request does not have the expected form, by the path to each place."""
    # Only where and why: the value itself is not sent back or logged.
    told = [(_pointer(location), why) for location, why in places]
    return wrong_places("validation-error", WRONG_FORM, told)


def _pointer(location: Iterable[str | int]) -> str:
    # A name in JSON can hold half a surrogate pair, which cannot be sent back.
    return "/".join(map(str, location)).encode(errors="replace").decode()


def wants_json(request: Request) -> bool:
    """Return whether an error should be problem+json."""
    return request.url.path.startswith("/api/") or "text/html" not in request.headers.get(
        "accept", ""
    )


def masquerade_problem(error: MasqueradeError, say: Callable[[object], str] = str) -> Response:
    """Return one of the project's own errors as problem details; `say` translates its words."""
    if isinstance(error, InvalidDocument):
        places = [(pointer, say(what)) for pointer, what in error.issues]
        return wrong_places(error.slug, say(str(error)), places)
    answer = problem(error.status, error.slug, say(error.advice), **error.details)
    if "seconds" in error.members:
        answer.headers["retry-after"] = str(error.details["seconds"])
    return answer
