"""``masquerade helper``: the second party of surveys whose answers are split between two."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, Config, DataDir
from masquerade.cli.terminal import show

if TYPE_CHECKING:
    from masquerade.server.parties.helper_services import HelperServices
    from masquerade.server.parties.helper_tasks import HelperTask
    from masquerade.server.settings import Settings

helper = typer.Typer(
    invoke_without_command=True,
    help="Run the second party of surveys between two: it adds up halves of answers, sees none of "
    "them, and answers only for surveys that you approve.\n\n"
    "Example: masquerade helper --operator 'The works council' --address https://helper.example",
)
_DEFAULT_PORT = 8081
Task = Annotated[
    str, typer.Argument(help="The task's id, or enough of its beginning.", show_default=False)
]


@helper.callback()
def run(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on, default 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help=f"Default {_DEFAULT_PORT}; 0 takes any free one."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="How many processes answer requests; default 1."),
    ] = None,
    operator: Annotated[
        str | None,
        typer.Option(help="Who runs it, as participants read it: “The works council of …”."),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="Its address as leaders and participants reach it; https:// of a proxy."),
    ] = None,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Serve until Ctrl-C; at the first start, keys are made, and a token for the leader shown."""
    from masquerade.server.operations.run import address as address_of
    from masquerade.server.operations.run import listen
    from masquerade.server.operations.run import serve as run_app

    settings = _settings(data_dir, config, operator=operator, address=address)
    settings = replace(
        settings,
        host=settings.host if host is None else host,
        port=_port(settings, port),
        workers=settings.workers if workers is None else workers,
    )
    context.obj = settings
    if context.invoked_subcommand is not None:
        return
    bound = listen(settings.host, settings.port)
    settings.make_folder()
    settings = settings.with_server_key()
    if not settings.public_url:
        settings = replace(settings, public_url=address_of(bound))
    with _services(settings) as services:
        token = services.access.new_leader_token(only_first=True)
        link = services.access.new_link()
        fingerprint = services.fingerprint

    def say() -> None:
        lines = [
            f"Masquerade's helper is serving as “{settings.helper_operator}” at "
            f"{settings.public_url}",
            f"Fingerprint of its key: {' '.join(_groups(fingerprint))}",
            f"Your page (open once): {address_of(bound)}{link}",
        ]
        if token is not None:
            lines.append(f"Token for the leader, shown this once: {token}")
        _say("\n".join(lines))

    if settings.workers == 1:
        from masquerade.server.helper_app import create_helper_app

        run_app(create_helper_app(settings), bound, ready=say, settings=settings)
    else:
        from masquerade.server.operations.workers import Workers

        Workers(settings, bound).run(ready=say)
    _say("Ended.")


@helper.command()
def tasks(context: typer.Context, as_json: AsJson = False) -> None:
    """List the surveys that the helper is asked to add up, those that wait first.

    Example: masquerade helper tasks --json
    """
    with _services(context.obj) as services:
        found = [_summary(services, one) for one in services.tasks.tasks()]
    if as_json:
        show({"tasks": found}, as_json=True, title="Tasks")
        return
    for one in found:
        _say(f"{one['task'][:12]}  {one['state']:<10}  {one['title']}  ({one['reports']} reports)")
    if not found:
        _say("Nothing is asked yet.")


@helper.command()
def approve(context: typer.Context, task: Task, as_json: AsJson = False) -> None:
    """Approve a survey; `tasks --json` shows its questions, noise and promise.

    Example: masquerade helper approve 5a5a5a5a5a5a
    """
    _decide(context.obj, task, approve=True, as_json=as_json)


@helper.command()
def refuse(context: typer.Context, task: Task, as_json: AsJson = False) -> None:
    """Refuse a survey.

    Example: masquerade helper refuse 5a5a5a5a5a5a
    """
    _decide(context.obj, task, approve=False, as_json=as_json)


@helper.command()
def token(context: typer.Context) -> None:
    """Make a new token for the leader; the one before ends.

    Example: masquerade helper token
    """
    with _services(context.obj) as services:
        _say(str(services.access.new_leader_token()))


@helper.command()
def link(context: typer.Context) -> None:
    """Print another one-time link to the operator's page.

    Example: masquerade helper link
    """
    with _services(context.obj) as services:
        _say(f"{services.tasks.address}{services.access.new_link()}")


def _decide(settings: Settings, task: str, *, approve: bool, as_json: bool) -> None:
    from masquerade.errors import NotFound

    with _services(settings) as services:
        named = [one for one in services.tasks.tasks() if one.id.startswith(task.lower())]
        if len(named) != 1 or not task:
            raise NotFound(
                f"{len(named)} tasks begin with {task!r}; masquerade helper tasks lists them."
            )
        decided = services.tasks.decide(named[0].id, approve=approve)
        show(_summary(services, decided), as_json=as_json, title=decided.survey.title)


def _summary(services: HelperServices, task: HelperTask) -> dict[str, Any]:
    from masquerade.server.parties.helper_page import task_view

    view = task_view(task, services.tasks.counts(task))
    return {
        "task": task.id,
        "title": view["title"],
        "state": view["state"],
        "leader": view["leader"],
        "questions": [one["text"] for one in view["questions"]],
        "people": view["people"],
        "minimum": view["minimum"],
        "expires": view["expires"],
        "rho": view["rho"],
        "epsilon": view["epsilon"],
        "noise": view["noise"],
        "reports": view["count"],
        "refused": view["refused"],
    }


def _settings(
    data_dir: Path | None, config: Path | None, *, operator: str | None, address: str | None
) -> Settings:
    from masquerade.server.settings import Settings

    settings = Settings.from_environment(
        data_dir=data_dir, config=config, helper=True, make_folder=False
    )
    return replace(
        settings,
        helper_operator=operator or settings.helper_operator or "somebody who has not said",
        public_url=(address or settings.public_url or "").rstrip("/") or None,
    )


def _port(settings: Settings, port: int | None) -> int:
    from masquerade.server.settings import DEFAULT_PORT

    if port is not None:
        return port
    return _DEFAULT_PORT if settings.port == DEFAULT_PORT else settings.port


@contextlib.contextmanager
def _services(settings: Settings) -> Iterator[HelperServices]:
    from masquerade.errors import OperationError
    from masquerade.server.helper_app import open_helper

    if settings.server_key is None:
        raise OperationError("there is no helper yet; masquerade helper makes one.")
    # Its address stands in tasks already, and is not needed to decide on them.
    services = open_helper(
        replace(settings, public_url=settings.public_url or f"http://127.0.0.1:{_DEFAULT_PORT}")
    )
    try:
        yield services
    finally:
        services.close()


def _groups(fingerprint: str) -> list[str]:
    return [fingerprint[start : start + 4] for start in range(0, len(fingerprint), 4)]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
