"""The command ``masquerade``.

Exit code 0; 1 for a refused or failed request, with the reason on standard error; 2 for usage.
"""

from __future__ import annotations

import sys

import typer

from masquerade.cli.answer import answer, caps, me
from masquerade.cli.operate import backup, doctor, migrate, new_key, restore
from masquerade.cli.prefer import prefer
from masquerade.cli.privacy import audit, privacy
from masquerade.cli.randomize import randomize
from masquerade.cli.release import release
from masquerade.cli.reproduce import reproduce
from masquerade.cli.results import results
from masquerade.cli.select import plan, select
from masquerade.cli.serve import demo, serve
from masquerade.cli.simulate import simulate
from masquerade.cli.terminal import complain, disk_trouble
from masquerade.cli.truth import truth
from masquerade.cli.user import user
from masquerade.errors import MasqueradeError, OperationError

app = typer.Typer(
    name="masquerade",
    help="A crowd answers behind masks, and the truth still comes out.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    if version:
        from masquerade import __version__

        typer.echo(f"masquerade {__version__}")
        raise typer.Exit


app.command()(demo)
app.command()(serve)
app.command()(backup)
app.command()(restore)
app.command()(migrate)
app.command("new-key")(new_key)
app.command()(doctor)
app.command()(answer)
app.command()(me)
app.command()(caps)
app.command()(truth)
app.command()(prefer)
app.command()(release)
app.command()(privacy)
app.command()(audit)
app.command()(randomize)
app.command()(results)
app.command()(plan)
app.command()(select)
app.command()(reproduce)
app.add_typer(simulate, name="simulate")
app.add_typer(user, name="user")


def main() -> None:
    """Run the command line; refusals become one line on standard error and exit code 1."""
    try:
        app()
    except MasqueradeError as error:
        complain(error)
        sys.exit(1)
    except Exception as error:
        said = disk_trouble(error)
        if said is None:
            raise
        complain(OperationError(said))
        sys.exit(1)
