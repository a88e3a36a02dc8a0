"""The team's pages: members, roles, invitations; and API tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form
from starlette.responses import Response

from masquerade.errors import MasqueradeError, NotFound, ParameterError
from masquerade.server.accounts.teams import EDITOR, INVITATION_DAYS, RIGHTS, ROLE_WORDS
from masquerade.server.http.pages import qr_code
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, Member, base_address, require
from masquerade.server.routes.dependencies import HexId
from masquerade.server.routes.forms import Text, form, page

TEAM, TOKENS = "/team", "/tokens"

routes = APIRouter(include_in_schema=False)
Manager = Annotated[Actor, Depends(require("team:manage"))]


@page(routes, TEAM)
def team_page(
    actor: Member, *, error: MasqueradeError | None = None, link: str = "", **typed: Any
) -> Response:
    services, own = actor.services, actor.account.id
    manages = actor.may("team:manage")
    teams = [member.team for member in services.teams.of_account(own)]
    context = {
        "members": services.teams.members(actor.team.id),
        "invitations": services.invitations.of_team(actor.team.id) if manages else [],
        "others": [team for team in teams if team.id != actor.team.id],
        "roles": ROLE_WORDS,
        "role": EDITOR,
        "days": INVITATION_DAYS,
        "link": link,
    }
    if link:
        context |= {**typed, "qr": qr_code(link)}
    return actor.page("surveyor/team.html", context, error=error)


@form(routes, f"{TEAM}/name", then=TEAM, refused=team_page)
@audited("renamed the team")
def rename(actor: Manager, name: Text = "") -> None:
    actor.services.teams.rename(actor.team.id, name)


@form(routes, f"{TEAM}/invitations", then=TEAM, refused=team_page)
@audited("invited somebody")
def invite(actor: Manager, note: Text = "", role: Text = EDITOR) -> Response:
    token = actor.services.invitations.create(actor.team.id, role=role, note=note)
    # Shown once and here only, as only a hash of it is kept.
    link = f"{base_address(actor.request)}/join/{token}"
    return team_page(actor, link=link, note=note.strip(), role=role)


@form(routes, f"{TEAM}/invitations/{{invitation}}/withdraw", then=TEAM)
@audited("took an invitation back")
def withdraw(actor: Manager, invitation: HexId) -> None:
    actor.services.invitations.withdraw(actor.team.id, invitation)


@form(routes, f"{TEAM}/members/{{account}}/role", then=TEAM, refused=team_page)
@audited("changed a member's role")
def set_role(actor: Manager, account: HexId, role: Text = "") -> None:
    actor.services.teams.set_role(actor.team.id, account, role)


@form(routes, f"{TEAM}/members/{{account}}/remove", then=TEAM, refused=team_page)
@audited("removed a member")
def remove(actor: Manager, account: HexId) -> None:
    actor.services.teams.remove(actor.team.id, account)


@form(routes, f"{TEAM}/leave", then="/sign-in", refused=team_page)
@audited("left the team")
def leave(actor: Member) -> None:
    actor.services.teams.remove(actor.team.id, actor.account.id)


@form(routes, f"{TEAM}/switch", then="/surveys")
@audited(None)
def switch(actor: Member, team: Text = "") -> None:
    services, session = actor.services, actor.session
    if session is None or team not in {
        member.team.id for member in services.teams.of_account(actor.account.id)
    }:
        raise NotFound("you are in no such team.")
    services.sessions.switch(session, team)


@page(routes, TOKENS)
def tokens_page(
    actor: Member,
    *,
    error: MasqueradeError | None = None,
    token: str = "",
    name: str = "",
    scopes: list[str] | None = None,
    until: str = "",
) -> Response:
    everybodys = actor.may("team:manage")
    context = {
        "tokens": [
            t
            for t in actor.services.tokens.of_team(actor.team.id)
            if everybodys or t.account == actor.account.id
        ],
        "everybodys": everybodys,
        "rights": {right: words for right, words in RIGHTS.items() if actor.may(right)},
        "token": token,
        "name": name,
        "chosen": scopes if error else ["survey:read", "results:read"],
        "until": until,
        "base": base_address(actor.request),
    }
    return actor.page("surveyor/tokens.html", context, error=error)


@form(routes, TOKENS, then=TOKENS, refused=tokens_page)
@audited("made a token")
def create_token(
    actor: Member,
    scopes: Annotated[list[str], Form(default_factory=list)],
    name: Text = "",
    until: Text = "",
) -> Response:
    # Nobody gives a token more than they have; later it is cut to their role of the day as well.
    beyond = [scope for scope in scopes if scope in RIGHTS and not actor.may(scope)]
    if beyond:
        raise ParameterError(f"your role, {actor.role}, does not have {beyond[0]!r}.")
    token = actor.services.tokens.create(
        actor.account.id, actor.team.id, name=name, scopes=scopes, until=until or None
    )
    # Shown once and here only, as only a hash of it is kept.
    return tokens_page(actor, token=token, name=name)


@form(routes, f"{TOKENS}/{{token}}/revoke", then=TOKENS)
@audited("revoked a token")
def revoke(actor: Member, token: HexId) -> None:
    account = None if actor.may("team:manage") else actor.account.id
    actor.services.tokens.revoke(actor.team.id, token, account=account)
