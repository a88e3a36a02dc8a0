"""``masquerade helper``: the second party of surveys with answers split between two."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masquerade.cli.options import AsJson, Config, WorkerCount
from masquerade.cli.terminal import show
from masquerade.exact.number import quantity

if TYPE_CHECKING:
    from masquerade.server.parties.helper_page import TaskView
    from masquerade.server.parties.helper_services import HelperIdentity, HelperServices
    from masquerade.server.parties.helper_tasks import HelperTask
    from masquerade.server.settings import Settings

helper = typer.Typer(
    invoke_without_command=True,
    help="Run the helper, the second party of surveys whose answers are split between two.\n\n"
    "The helper adds up halves of answers and sees no answer. It takes part only in surveys that "
    "you approve. It runs until Ctrl-C. At the first start it makes its keys, and prints its "
    "fingerprint, a one-time link to its page, and a token for the first leader (the survey "
    "server).\n\n"
    "Example: masquerade helper --operator 'The works council' --address https://helper.example",
)
HelperDataDir = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the helper's SQLite database. This option wins over the settings. Default: "
        "the database that the settings name, else the folder masquerade-helper in the current "
        "folder."
    ),
]
LeaderName = Annotated[
    str,
    typer.Argument(
        help="Name of the leader: the name by which you know this survey server.",
        show_default=False,
    ),
]
Task = Annotated[
    str,
    typer.Argument(
        help="Id of the task, or as much of its beginning as no other task has.", show_default=False
    ),
]


HostOption = Annotated[
    str | None,
    typer.Option(
        help="Address to listen on. Default: the setting host, else 127.0.0.1 (this computer "
        "alone)."
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        help="Port to listen on. 0 takes any free port. Default: the setting port, else 8081.",
    ),
]
OperatorOption = Annotated[
    str | None,
    typer.Option(
        help="Who runs the helper, as participants read it, such as “The works council of "
        "…”. The first start needs it; later starts use the stored name."
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        help="Address at which leaders and participants reach the helper. Behind a proxy, "
        "the https:// address of the proxy. Default: the stored address; at the first "
        "start, the address on which it listens."
    ),
]
ChangeIdentityOption = Annotated[
    bool,
    typer.Option(
        "--change-identity",
        help="Allow operator or address to change while surveys are approved. Then nobody "
        "can answer these surveys any more.",
    ),
]


@helper.callback()
def run(
    context: typer.Context,
    host: HostOption = None,
    port: PortOption = None,
    workers: WorkerCount = None,
    operator: OperatorOption = None,
    address: AddressOption = None,
    change_identity: ChangeIdentityOption = False,
    data_dir: HelperDataDir = None,
    config: Config = None,
) -> None:
    """Run the helper until Ctrl-C. At the first start, make its keys and the first leader's token.

    Operator and address are stored: a start without these options uses the stored ones.
    """

    def chosen() -> Settings:
        from masquerade.server.settings import Settings

        settings = Settings.from_environment(
            data_dir=data_dir, config=config, helper=True, make_folder=False
        )
        return replace(
            settings,
            host=settings.host if host is None else host,
            port=settings.port if port is None else port,
            workers=settings.workers if workers is None else workers,
            helper_operator=operator or settings.helper_operator,
            public_url=(address or settings.public_url or "").rstrip("/") or None,
        )

    if context.invoked_subcommand is not None:
        # What decides on surveys is the helper as it was started, whatever is set here. Looked up
        # when a command runs, for its page of help needs no server.
        context.obj = lambda: replace(chosen(), helper_operator="", public_url=None)
        return
    _run(chosen(), change_identity=change_identity)


def _run(settings: Settings, *, change_identity: bool) -> None:
    from masquerade.server.operations.run import address as address_of
    from masquerade.server.operations.run import listen
    from masquerade.server.operations.run import serve as run_app

    bound = listen(settings.host, settings.port)
    settings.make_folder()
    settings = settings.with_server_key()
    before = _identity(settings)
    if before is None:
        settings = replace(
            settings,
            helper_operator=settings.helper_operator or _asked_operator(),
            public_url=settings.public_url or address_of(bound),
        )
    with _services(settings, change=change_identity) as services:
        token = services.access.new_leader_token(only_first=True)
        link = services.sessions.new_link()
        fingerprint = services.fingerprint
        now = services.identity
    settings = replace(settings, helper_operator=now.operator, public_url=now.address)

    def say() -> None:
        lines = _greeting(now, before, fingerprint, listening=address_of(bound), link=link)
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


def _greeting(
    now: HelperIdentity,
    before: HelperIdentity | None,
    fingerprint: str,
    *,
    listening: str,
    link: str,
) -> list[str]:
    from masquerade.aggregate.signature import fingerprint_groups

    lines = [
        f"Masquerade's helper is serving as “{now.operator}” at {now.address}",
        f"Fingerprint of its key: {fingerprint_groups(fingerprint)}",
        f"Your page (open once): {listening}{link}",
    ]
    if before is not None and before != now:
        lines.append(f"Until now it was “{before.operator}” at {before.address}.")
    if now.address.startswith("http:") and now.address != listening:
        lines.append(
            f"Leaders know it at {now.address}, and it listens at {listening}: give "
            "the port of before, or --address."
        )
    return lines


@helper.command()
def tasks(context: typer.Context, as_json: AsJson = False) -> None:
    """List the surveys that were proposed to the helper. Those that wait for a decision come first.

    Example: masquerade helper tasks --json
    """
    with _services(context.obj()) as services:
        found = [_summary(services, one) for one in services.tasks.tasks()]
    if as_json:
        show({"tasks": found}, as_json=True, title="Tasks")
        return
    for one in found:
        count = quantity(int(str(one["reports"])), "report")
        _say(f"{str(one['task'])[:12]}  {one['state']:<10}  {one['title']}  ({count})")
    if not found:
        _say("No survey was proposed yet.")


@helper.command("show")
def show_task(context: typer.Context, task: Task, as_json: AsJson = False) -> None:
    """Print questions, sums and promises of a survey, as the operator's page shows them.

    Example: masquerade helper show 5a5a5a5a5a5a
    """
    with _services(context.obj()) as services:
        view = _view(services, _named(services, task))
    if as_json:
        show(_with_task(view), as_json=True, title="Task")
        return
    _say("\n".join(_sentences(view)))


@helper.command()
def approve(context: typer.Context, task: Task, as_json: AsJson = False) -> None:
    """Approve a survey. The command show prints its questions, its noise and its guarantee.

    Example: masquerade helper approve 5a5a5a5a5a5a
    """
    _decide(context.obj(), task, approve=True, as_json=as_json)


@helper.command()
def refuse(context: typer.Context, task: Task, as_json: AsJson = False) -> None:
    """Refuse a survey. The refusal is final for this proposal.

    Example: masquerade helper refuse 5a5a5a5a5a5a
    """
    _decide(context.obj(), task, approve=False, as_json=as_json)


@helper.command()
def token(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="Name of the leader: the name by which you know this server.")
    ] = "leader",
) -> None:
    """Make and print a token, with which a leader's survey server identifies itself.

    An earlier token of this leader ends.

    Example: masquerade helper token "University of Example"
    """
    with _services(context.obj()) as services:
        _say(str(services.access.new_leader_token(name)))


@helper.command()
def leaders(context: typer.Context, as_json: AsJson = False) -> None:
    """List the leaders that have or had a token, with the number of their unfinished surveys.

    Example: masquerade helper leaders --json
    """
    with _services(context.obj()) as services:
        found = services.access.leaders()
    if as_json:
        rows = [{"name": one.name, "active": one.active, "tasks": one.tasks} for one in found]
        show({"leaders": rows}, as_json=True, title="Leaders")
        return
    for one in found:
        state = "has a token" if one.active else "revoked"
        _say(f"{one.name}  {state}  ({_surveys(one.tasks)} under way)")


@helper.command()
def revoke(context: typer.Context, name: LeaderName, as_json: AsJson = False) -> None:
    """End a leader's token. The leader's surveys wait until the command token makes another.

    Example: masquerade helper revoke "University of Example"
    """
    with _services(context.obj()) as services:
        gone = services.access.revoke(name)
    if as_json:
        result = {"name": gone.name, "active": gone.active, "tasks": gone.tasks}
        show(result, as_json=True, title="Leader")
        return
    _say(f"{gone.name} has no token any more; what waits of it: {_surveys(gone.tasks)}.")


@helper.command()
def link(context: typer.Context) -> None:
    """Print another link to the operator's page. It works once.

    Example: masquerade helper link
    """
    with _services(context.obj()) as services:
        _say(f"{services.tasks.address}{services.sessions.new_link()}")


def _decide(settings: Settings, task: str, *, approve: bool, as_json: bool) -> None:
    with _services(settings) as services:
        decided = services.tasks.decide(_named(services, task).id, approve=approve)
        show(_summary(services, decided), as_json=as_json, title=decided.survey.title)


def _named(services: HelperServices, task: str) -> HelperTask:
    from masquerade.errors import NotFound

    named = [one for one in services.tasks.tasks() if one.id.startswith(task.lower())]
    if len(named) != 1 or not task:
        raise NotFound(
            f"{len(named)} tasks begin with {task!r}, expected one; masquerade helper tasks lists "
            "the tasks."
        )
    return named[0]


def _view(services: HelperServices, task: HelperTask) -> TaskView:
    from masquerade.server.parties.helper_page import task_view

    names = {one.id: one.name for one in services.access.leaders()}
    return task_view(task, services.tasks.counts(task), names, copies=services.tasks.copies(task))


def _sentences(view: TaskView) -> Iterator[str]:
    """Yield the text of the operator's page on a task, line by line."""
    yield f"{view['title']} ({view['state']})"
    if view["description"]:
        yield view["description"]
    yield f"Asked by {view['proposer']}, whose server is {view['leader']}."
    yield (
        f"About {view['people']} people are expected; no sum of fewer than {view['minimum']} is "
        f"given. It ends on {view['expires']}."
    )
    yield "Questions:"
    for place, one in enumerate(view["questions"], start=1):
        condition = f"; {one['condition']}" if one["condition"] else ""
        yield f"  {place}. {one['text']} ({one['answers']}{condition})"
        yield f"     Added up: {one['counted']}. Noise of about {one['noise']}."
    for pair in view["cross"]:
        yield (
            f"  Answers counted together: {pair['text']}, {pair['cells']} cells. Noise of about "
            f"{pair['noise']}."
        )
    for state in view["states"]:
        yield (
            f"  Of “{state['text']}” how many there are of: {state['symbols']}. Noise of about "
            f"{state['noise']}."
        )
    yield (
        "Whoever sees the result and everything that you see, or everything that the surveyor "
        f"sees, learns of one person no more than epsilon {view['epsilon']}, but for a chance of "
        f"{view['delta']} (rho {view['rho']}). This rests on:"
    )
    yield from (f"  - {one}" for one in view["assumptions"])
    for copy in view["copies"]:
        yield f"Nearly the same was approved before, as “{copy.title}”. Differences:"
        yield from (f"  {one}" for one in copy.differences or ("none",))


def _with_task(view: TaskView) -> dict[str, object]:
    return {"task": view["id"], **{name: fact for name, fact in view.items() if name != "id"}}


def _summary(services: HelperServices, task: HelperTask) -> dict[str, object]:
    view = _view(services, task)
    return {
        "task": task.id,
        "title": view["title"],
        "state": view["state"],
        "proposer": view["proposer"],
        "leader": view["leader"],
        "questions": [one["text"] for one in view["questions"]],
        # What is counted together tells more than the questions' own counts.
        "cross": [one["text"] for one in view["cross"]],
        "people": view["people"],
        "minimum": view["minimum"],
        "expires": view["expires"],
        "rho": view["rho"],
        "epsilon": view["epsilon"],
        "noise": view["noise"],
        "reports": view["count"],
        "refused": view["refused"],
        "repeats": [asdict(one) for one in view["copies"]],
    }


def _asked_operator() -> str:
    """Ask for the name of the helper's operator and return it: participants read it."""
    from masquerade.errors import OperationError

    if not sys.stdin.isatty():
        raise OperationError(
            "the helper needs the name of its operator, because participants read it. Start "
            "it with: masquerade helper --operator 'The works council of …'"
        )
    return str(typer.prompt("Who runs this helper, as participants read it"))


def _identity(settings: Settings) -> HelperIdentity | None:
    """Return the operator and address of the helper's last start; None before the first."""
    from masquerade.server.db.engine import connect, migrate
    from masquerade.server.parties.helper_services import stored_identity

    engine = connect(settings.database, key=settings.database_key)
    try:
        migrate(engine)
        with engine.connect() as connection:
            return stored_identity(connection)
    finally:
        engine.dispose()


@contextlib.contextmanager
def _services(settings: Settings, *, change: bool = False) -> Iterator[HelperServices]:
    from masquerade.server.helper_app import open_helper

    services = open_helper(settings, change=change)
    try:
        yield services
    finally:
        services.close()


def _surveys(count: int) -> str:
    return quantity(count, "approved survey")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
