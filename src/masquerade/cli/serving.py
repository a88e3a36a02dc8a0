"""``masquerade demo`` and ``masquerade serve``."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]
DataDir = Annotated[Path | None, typer.Option(help="Where to keep the data.")]


def demo(
    port: Port = 8787,
    no_browser: NoBrowser = False,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Keep the demonstration here; default: a folder that ends with it."),
    ] = None,
) -> None:
    """Show a finished survey of 200 made-up people, and one to answer yourself. Ctrl-C ends it.

    Needs no network and no account. The server listens on this computer only.
    """
    from masquerade.server.app import create_app
    from masquerade.server.demo import furnish
    from masquerade.server.run import address, listen, open_browser
    from masquerade.server.run import serve as run
    from masquerade.server.settings import Settings

    bound = listen("127.0.0.1", port)
    with _folder(data_dir) as folder:
        app = create_app(Settings.from_environment(data_dir=folder, demo=True))
        furnish(app.state.store)
        url = f"{address(bound)}/"

        def ready() -> None:
            _say(f"Masquerade's demonstration: {url}\nCtrl-C ends it.")
            if not no_browser:
                open_browser(url)

        run(app, bound, ready=ready)
    _say("Ended.")


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets phones on the network in.")
    ] = "127.0.0.1",
    port: Port = 8080,
    no_browser: NoBrowser = False,
    data_dir: DataDir = None,
) -> None:
    """Run the survey server. The link it prints makes your browser the owner's, once."""
    from masquerade.server.app import create_app
    from masquerade.server.run import address, listen, open_browser
    from masquerade.server.run import serve as run
    from masquerade.server.settings import Settings

    bound = listen(host, port)
    app = create_app(Settings.from_environment(data_dir=data_dir))
    link = f"{address(bound)}/owner?token={app.state.store.new_owner_token()}"

    def ready() -> None:
        _say(f"Masquerade is serving. Open this link once, in the owner's browser:\n\n  {link}\n")
        if not no_browser:
            open_browser(link)

    run(app, bound, ready=ready)
    _say("Ended.")


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
