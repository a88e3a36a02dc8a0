"""The command ``masquerade``.

Exit code 0; 1 for a refused or failed request and for packages that are missing, with the reason on
standard error; 2 for wrong usage.
"""

from __future__ import annotations

import sys

import typer

from masquerade.cli.answer import answer, caps, me
from masquerade.cli.collect import collect
from masquerade.cli.helper_party import helper
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
from masquerade.errors import MasqueradeError, MissingExtra, OperationError

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


_GROUPS = {
    "Analyse": (truth, prefer, release, results, randomize, privacy, audit),
    "Survey": (plan, select, answer, me, caps),
    "Operate": (demo, serve, backup, restore, migrate, new_key, doctor),
    "Study": (reproduce,),
}
for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(rich_help_panel=_group)(_command)
app.add_typer(collect, name="collect", rich_help_panel="Analyse")
app.add_typer(user, name="user", rich_help_panel="Operate")
app.add_typer(helper, name="helper", rich_help_panel="Operate")
app.add_typer(simulate, name="simulate", rich_help_panel="Study")

#: The extra that installs a package, by the name under which the package is imported.
EXTRAS = {
    "alembic": "server",
    "argon2": "server",
    "cryptography": "server",
    "fastapi": "server",
    "httptools": "server",
    "itsdangerous": "server",
    "jinja2": "server",
    "prometheus_client": "server",
    "pydantic": "server",
    "pydantic_settings": "server",
    "python_multipart": "server",
    "segno": "server",
    "sqlalchemy": "server",
    "starlette": "server",
    "uvicorn": "server",
    "uvloop": "server",
    "httpx": "client",
    "dask": "dask",
    "distributed": "dask",
    "matplotlib": "plots",
    "pooch": "datasets",
    "psycopg": "postgres",
    "sqlcipher3": "sealed",
    "webauthn": "passkeys",
    "Crypto": "parties",
    "pyhpke": "parties",
}


def main() -> None:
    """Run the command line; refusals become one line on standard error and exit code 1."""
    try:
        app()
    except MasqueradeError as error:
        complain(error)
        sys.exit(1)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        complain(MissingExtra(f"this command needs {package}", EXTRAS[package]))
        sys.exit(1)
    except Exception as error:
        said = disk_trouble(error)
        if said is None:
            raise
        complain(OperationError(said))
        sys.exit(1)
