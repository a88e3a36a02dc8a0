"""Forms of pages: a change ends in a redirect, a refusal on the page that has the form.

One handler serves programs and pages: what it takes as JSON comes from the fields of the form, and
what it returns is the answer to programs alone.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable
from typing import Annotated, Any, Final, Self, TypeVar

from fastapi import APIRouter, Depends, Form, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.responses import Response

from masquerade.errors import Forbidden, MasqueradeError, TooManyAttempts, Unauthenticated
from masquerade.server.http.bodies import StrictBody
from masquerade.server.routes.audit import PHRASES, audited

Handler = TypeVar("Handler", bound=Callable[..., Any])
Text = Annotated[str, Form()]

#: The header by which a program may safely repeat a request; a form has the field ``key`` instead.
Key = Annotated[
    str, Header(pattern=r"^[0-9a-f-]{16,64}$", description="Random; resending is safe with it")
]
_KEY: Final = "idempotency_key"
_FormKey = Annotated[
    str,
    Form(alias="key", pattern=r"^[0-9a-f]{32}$", default_factory=lambda: secrets.token_hex(16)),
]
# These have a page of their own.
_NOT_OF_A_FORM = (Forbidden, TooManyAttempts, Unauthenticated)


class FormBody(StrictBody):
    """A body that comes as JSON, or as the fields of a form."""

    @classmethod
    def of_form(cls, fields: FormData) -> Self:
        """Return the body that fields stand for; missing fields have their defaults.

        Raises `ParameterError` (a field is wrong in a way that the page of the form can say).
        """
        values = {name: fields[name] for name in cls.model_fields if fields.get(name)}
        return cls.model_validate(values, strict=False)


def page(pages: APIRouter, path: str) -> Callable[[Handler], Handler]:
    """Serve a page at `path`; its parameters by keyword alone are for the forms on it."""

    def register(handler: Handler) -> Handler:
        signature = inspect.signature(handler, eval_str=True)

        def show(**values: Any) -> Response:
            return handler(**values)  # type: ignore[no-any-return]

        show.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                one
                for one in signature.parameters.values()
                if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            ]
        )
        pages.get(path, response_model=None)(show)
        return handler

    return register


async def _fields(request: Request) -> FormData:
    return await request.form()


def form(
    pages: APIRouter,
    path: str,
    *,
    then: str | Callable[..., Response],
    refused: Callable[..., Response] | None = None,
) -> Callable[[Handler], Handler]:
    """Serve a handler to a form that is sent to `path`, beside any address for programs.

    `then` is the address of the page that follows, with names of path parameters in braces, or a
    function that makes the page from the handler's values and its ``result``. `refused` makes the
    page again from these values and the ``error``; in both, a body is the form's fields.
    """

    def register(handler: Handler) -> Handler:
        signature = inspect.signature(handler, eval_str=True)
        parameters = {
            name: one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, one in signature.parameters.items()
        }
        bodies = {
            name: one.annotation
            for name, one in parameters.items()
            if isinstance(one.annotation, type) and issubclass(one.annotation, FormBody)
        }
        for name in bodies:
            parameters[name] = parameters[name].replace(
                annotation=Annotated[FormData, Depends(_fields)]
            )
        if _KEY in parameters:
            parameters[_KEY] = parameters[_KEY].replace(annotation=_FormKey)

        def send(**values: Any) -> Response:
            try:
                read = {name: body.of_form(values[name]) for name, body in bodies.items()}
                result = handler(**{**values, **read})
            except ValidationError as error:
                raise RequestValidationError(error.errors()) from None
            except MasqueradeError as error:
                if refused is None or isinstance(error, _NOT_OF_A_FORM):
                    raise
                return refused(**values, error=error)
            if isinstance(result, Response):
                return result
            # 303: the browser goes on by GET, so that reloading does not send the form again.
            return (
                RedirectResponse(then.format(**values, result=result), 303)
                if isinstance(then, str)
                else then(**values, result=result)
            )

        send.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=list(parameters.values()), return_annotation=Response
        )
        if handler in PHRASES:
            audited(PHRASES[handler])(send)
        pages.post(path)(send)
        return handler

    return register
