"""``masquerade demo`` and ``masquerade serve``."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masquerade.cli.options import Config, DataDir, WorkerCount
from masquerade.cli.terminal import note
from masquerade.errors import MasqueradeError

if TYPE_CHECKING:
    from masquerade.server.services import Services
    from masquerade.server.settings import Settings

Port = Annotated[
    int, typer.Option(min=0, max=65535, help="Port to listen on. 0 takes any free port.")
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]


def demo(
    port: Port = 8787,
    no_browser: NoBrowser = False,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the data of the demonstration, which are then kept. Default: a "
            "temporary folder, which is deleted at the end."
        ),
    ] = None,
) -> None:
    """Show a finished survey of 200 made-up people, and a survey to answer yourself.

    Ctrl-C ends it. After its page was opened, it also shows the same people's answers split between
    two parties. The second party is then another process, which ends with this one. No network and
    no account are needed: both processes listen on this computer only.

    Example: masquerade demo --port 0 --no-browser
    """
    # Before imports and the survey, so that the wait is explained.
    _say("The demonstration starts; this takes a few seconds.")
    from masquerade.server.app import create_app
    from masquerade.server.demo import SecondSurvey, seed_demo
    from masquerade.server.operations.run import address, listen, open_browser
    from masquerade.server.operations.run import serve as run
    from masquerade.server.routes.front import attend
    from masquerade.server.settings import Settings

    bound = listen("127.0.0.1", port)
    with _folder(data_dir) as folder:
        settings = Settings.from_environment(data_dir=folder, demo=True)
        app = create_app(replace(settings, helper_private=True).with_server_key())
        seed_demo(app.state.services)
        url = f"{address(bound)}/"
        attend(app, SecondSurvey(app.state.services, folder / "helper", address(bound)))

        def ready() -> None:
            _say(f"Masquerade's demonstration: {url}\nCtrl-C ends it.")
            if not no_browser:
                open_browser(url)

        run(app, bound, ready=ready)
    _say("Ended.")


HostOption = Annotated[
    str | None,
    typer.Option(
        help="Address to listen on. With 0.0.0.0, other devices in the network can reach the "
        "server. Default: the setting host, else 127.0.0.1 (this computer alone)."
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        help="Port to listen on. 0 takes any free port. Default: the setting port, else 8080.",
    ),
]


def serve(
    host: HostOption = None,
    port: PortOption = None,
    workers: WorkerCount = None,
    no_browser: NoBrowser = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Run the survey server until Ctrl-C.

    Until an owner has set a password or a passkey, each start prints a link. It works once, and
    signs the browser that opens it in as the owner. Later starts print the address of the sign-in.

    Example: masquerade serve --data-dir data --port 8080
    """
    from masquerade.server.operations.run import address, listen, open_browser
    from masquerade.server.operations.run import serve as run
    from masquerade.server.settings import Settings

    # The folder is made below: where the port is taken, nothing is written.
    settings = Settings.from_environment(data_dir=data_dir, config=config, make_folder=False)
    settings = replace(
        settings,
        host=settings.host if host is None else host,
        port=settings.port if port is None else port,
        workers=settings.workers if workers is None else workers,
    )
    bound = listen(settings.host, settings.port)
    try:
        settings.make_folder()
    except OSError:
        bound.close()
        raise
    settings = settings.with_server_key()

    def say_link(door: str) -> None:
        link = f"{settings.public_url or address(bound)}{door}"
        once = "token=" in door
        how = "Open this link once, in the owner's browser" if once else "Sign in at"
        _say(f"Masquerade is serving. {how}:\n\n  {link}\n")
        if not no_browser:
            open_browser(link)

    if settings.workers == 1:
        from masquerade.server.app import create_app

        app = create_app(settings)
        _check_provider(app.state.services)
        door = app.state.services.owner_sign_in_path()
        run(app, bound, ready=lambda: say_link(door), settings=settings)
    else:
        from masquerade.server.operations.workers import Workers

        door = _door(settings)
        Workers(settings, bound).run(ready=lambda: say_link(door))
    _say("Ended.")


def _door(settings: Settings) -> str:
    """Return the path by which the owner signs in; the workers open the database themselves."""
    from masquerade.server.app import provider_of
    from masquerade.server.services import Services

    services = Services.open(
        settings.database,
        time_zone=settings.time_zone,
        key=settings.database_key,
        server_key=settings.server_key,
        provider=provider_of(settings),
    )
    _check_provider(services)
    door = services.owner_sign_in_path()
    services.close()
    return door


def _check_provider(services: Services) -> None:
    """Refuse to start with an OpenID provider of another name; note that it is silent."""
    try:
        trouble = services.identities.check()
    except MasqueradeError:
        services.close()
        raise
    if trouble:
        note(trouble)


@contextlib.contextmanager
def _folder(data_dir: Path | None) -> Iterator[Path]:
    if data_dir is not None:
        yield data_dir
        return
    with tempfile.TemporaryDirectory(prefix="masquerade-demo-") as folder:
        yield Path(folder)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
