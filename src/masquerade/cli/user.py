"""``masquerade user``: accounts of surveyors, for the operator of the server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masquerade.cli.options import AsJson, Config, DataDir, choice
from masquerade.cli.terminal import show, show_rows
from masquerade.errors import OperationError, ParameterError

if TYPE_CHECKING:
    from masquerade.server.accounts.accounts import Account
    from masquerade.server.accounts.teams import Team
    from masquerade.server.services import Services

#: Who did it, in the audit log; no login is like it.
_HERE = "(command line)"

user = typer.Typer(
    no_args_is_help=True, help="Manage the accounts of surveyors, the people who run surveys."
)

token = typer.Typer(
    no_args_is_help=True, help="Manage the tokens by which programs act for surveyors."
)

Login = Annotated[str, typer.Argument(help="Login: the name with which the person signs in.")]
_ROLES = ("owner", "editor", "viewer", "auditor")
Role = Annotated[
    str,
    choice(
        *_ROLES,
        help="What the person may do. owner: everything. editor: make surveys, and see "
        "results and single masked reports. viewer: see surveys and results. auditor: "
        "check masks, ledger, audit log and settings.",
    ),
]
TeamName = Annotated[
    str | None,
    typer.Option("--team", help="Name of the team. Default: the first team of the server."),
]
FromStdin = Annotated[
    bool,
    typer.Option(
        "--password-stdin", help="Read the password from standard input, and do not ask for it."
    ),
]


@user.command()
def add(
    login: Login,
    role: Role = "editor",
    name: Annotated[
        str | None,
        typer.Option(help="Name of the person, as the team sees it. Default: the login."),
    ] = None,
    team: TeamName = None,
    password_stdin: FromStdin = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make an account for a surveyor. The command asks for the password.

    If there is no team of the name in --team, the team is made too, and its first member has to be
    an owner. As long as the first team has no owner who can sign in, serve prints the owner's link.

    Example: masquerade user add ann --role editor
    """
    from masquerade.server.accounts.teams import OWNER, check_role

    check_role(role)
    with _services(data_dir, config) as services:
        teams = services.teams
        known = _team(services, team)
        if known is None and role != OWNER:
            raise ParameterError(
                f"there is no team {team!r} yet, and its first member has to be an owner: "
                "add --role owner, or check the name with masquerade user list."
            )
        password = _new_password(stdin=password_stdin)
        who = {"login": login, "name": name or login, "password": password}
        if known is None:
            account = teams.found(str(team), **who)
        else:
            account = teams.add(known.id, role=role, **who)
        _log(services, account, "made an account")
        result = {"login": account.login, "team": known.name if known else team, "role": role}
        show(result, as_json=as_json, title="New account")


@user.command("list")
def list_(data_dir: DataDir = None, config: Config = None, as_json: AsJson = False) -> None:
    """List all accounts, with their teams and roles.

    Example: masquerade user list
    """
    with _services(data_dir, config) as services:
        members = [
            {
                "login": member.account.login,
                "name": member.account.name,
                "team": member.team.name,
                "role": member.role,
                "password": member.account.has_password,
                "codes": member.account.has_totp,
                "passkeys": len(services.passkeys.of_account(member.account.id)),
            }
            for member in services.teams.members()
        ]
    if as_json:
        show({"accounts": members}, as_json=True, title="Accounts")
        return
    from rich.console import Console

    words = {"password": "password", "codes": "code", "passkeys": "passkey"}
    columns = ("login", "name", "team", "role")
    rows = [
        (
            *(member[key] for key in columns),
            ", ".join(word for key, word in words.items() if member[key]) or "the owner's link",
        )
        for member in members
    ]
    show_rows(Console(), (*columns, "signs in with"), rows, lines=False)


@user.command()
def password(
    login: Login,
    keep_codes: Annotated[
        bool,
        typer.Option(
            "--keep-codes", help="Leave the one-time codes of the person's phone turned on."
        ),
    ] = False,
    password_stdin: FromStdin = False,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Set a new password for an account. The command asks for the password.

    All sessions of the account end. One-time codes are turned off, because the person may have lost
    the phone; --keep-codes leaves them on.

    Example: masquerade user password ann
    """
    with _services(data_dir, config) as services:
        account = services.accounts.by_login(login)
        services.accounts.set_password(account.id, _new_password(stdin=password_stdin))
        if not keep_codes:
            services.accounts.ask_for_no_codes(account.id)
        services.sessions.end_others(account.id)
        _log(services, account, "set a new password")
        codes = account.has_totp and keep_codes
        show({"login": account.login, "codes": codes}, as_json=as_json, title="New password")


@user.command()
def role(
    login: Login,
    role: Annotated[
        str,
        choice(
            *_ROLES,
            help="What the person may do. owner: everything. editor: make surveys, and see "
            "results and single masked reports. viewer: see surveys and results. auditor: "
            "check masks, ledger, audit log and settings.",
            argument=True,
        ),
    ],
    team: TeamName = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change the role of an account in a team. An account that is not in the team joins it.

    Example: masquerade user role ann viewer
    """
    with _services(data_dir, config) as services:
        account = services.accounts.by_login(login)
        into = _team(services, team)
        if into is None:
            raise ParameterError(f"there is no team {team!r}; see masquerade user list.")
        services.teams.put(into.id, account.id, role)
        _log(services, account, f"made a member {role}", team=into.id)
        result = {"login": account.login, "team": into.name, "role": role}
        show(result, as_json=as_json, title="Role")


@user.command()
def remove(
    login: Login,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Remove an account, with its memberships, sessions, tokens and passkeys.

    The surveys stay with the team. Nobody can use the login again.

    Example: masquerade user remove ann
    """
    with _services(data_dir, config) as services:
        account = services.accounts.by_login(login)
        teams = _teams_of(services, account)
        services.teams.disable(account.id)
        for team in teams:
            _log(services, account, "ended an account", team=team)
        show({"login": account.login, "removed": True}, as_json=as_json, title="Removed")


@token.command("create")
def create(
    login: Login,
    name: Annotated[str, typer.Option(help="What the token is for.")] = "command line",
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="A right of the token, such as results:read; give the option for each. Default: "
            "survey:read, survey:write, results:read and reports:read. It never has more rights "
            "than the account's role.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Last day on which it works, such as 2027-06-30.")
    ] = None,
    team: TeamName = None,
    data_dir: DataDir = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a token by which a program acts for a surveyor. It is shown this once.

    Example: masquerade token create ann --name "weekly results" --scope results:read
    """
    from masquerade.server.accounts.teams import EDITOR, ROLES

    with _services(data_dir, config, new=False) as services:
        account = services.accounts.by_login(login)
        into = _team(services, team)
        if into is None or into.id not in _teams_of(services, account):
            raise ParameterError(
                f"{login} is in no team {team or 'of that name'}; see masquerade user list."
            )
        made = services.tokens.create(
            account.id, into.id, name=name, scopes=scope or sorted(ROLES[EDITOR]), until=until
        )
        _log(services, account, "made a token", team=into.id)
        show(
            {"token": made, "login": account.login, "team": into.name},
            as_json=as_json,
            title="Token",
        )


@contextmanager
def _services(
    data_dir: Path | None, config: Path | None, *, new: bool = True
) -> Iterator[Services]:
    from masquerade.server.services import Services
    from masquerade.server.settings import Settings

    settings = Settings.from_environment(data_dir=data_dir, config=config, make_folder=False)
    _require_database(settings.sqlite_file, new=new)
    services = Services.open(
        settings.database,
        key=settings.database_key,
        server_key=settings.with_server_key().server_key,
        time_zone=settings.time_zone,
    )
    try:
        yield services
    finally:
        services.close()


def _require_database(file: Path | None, *, new: bool) -> None:
    """Refuse an SQLite file that is not there, unless it may be `new`, and a demonstration."""
    if file is None or file.is_file():
        return
    from masquerade.server.settings import DEMONSTRATION

    if file.with_name(DEMONSTRATION).is_file():
        raise OperationError(
            f"{file.parent} holds a demonstration: everybody who reaches it is its owner, so that "
            "it needs no accounts and no tokens. For surveys of your own run masquerade serve with "
            "another folder."
        )
    if new:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    raise OperationError(
        f"there is no database at {file}; name its folder with --data-dir, or begin with "
        "masquerade serve, which makes it."
    )


def _log(services: Services, account: Account, action: str, *, team: str | None = None) -> None:
    """Write an action into the audit logs of a team, or of all teams of an account."""
    for one in _teams_of(services, account) if team is None else [team]:
        services.audit_log.add(one, account="", login=_HERE, action=action, object=account.id)


def _teams_of(services: Services, account: Account) -> list[str]:
    members = services.teams.members()
    return [member.team.id for member in members if member.account.id == account.id]


def _team(services: Services, name: str | None) -> Team | None:
    teams = services.teams
    return teams.first() if name is None else teams.named(name)


def _new_password(*, stdin: bool) -> str:
    if stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise ParameterError(
            "the command cannot ask for the password, because standard input is not a "
            "terminal. Add --password-stdin to read the password from standard input."
        )
    return str(typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True))
