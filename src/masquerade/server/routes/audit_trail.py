"""Writes every change by a surveyor into the audit log, whichever route made it."""

from __future__ import annotations

from typing import Final

from fastapi.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masquerade.server.audit.audit_log import AuditLog
from masquerade.server.http.metrics import route_of

READING = ("GET", "HEAD", "OPTIONS")

_SURVEY, _API = "/surveys/{token}", "/api/v1/surveys/{token}"

#: What changes nothing of the team's.
UNLOGGED: Final = {
    ("POST", f"{_API}/curve"),
    ("POST", f"{_API}/preview"),
    ("POST", f"{_API}/validate"),
    ("POST", "/account/passkeys/begin"),
    ("POST", "/sign-out"),
    ("POST", "/team/switch"),
}

#: What is written of each route; of one that is not here, its method and address.
ACTIONS: Final = {
    ("POST", "/api/v1/surveys"): "made a draft",
    ("PATCH", _API): "changed a draft or survey",
    ("DELETE", _API): "deleted a draft",
    ("POST", f"{_API}/open"): "opened a survey",
    ("POST", f"{_API}/close"): "closed a survey",
    ("POST", f"{_API}/cancel"): "cancelled a survey",
    ("POST", f"{_API}/publish"): "published results",
    ("POST", f"{_API}/unpublish"): "took published results back",
    ("POST", f"{_API}/selection-runs"): "ran a selection",
    ("POST", f"{_API}/codes/check"): "checked completion codes",
    ("GET", f"{_API}/reports.{{kind}}"): "took reports away",
    ("POST", "/surveys/new"): "made a draft",
    ("POST", "/surveys/import"): "imported a draft",
    ("POST", f"{_SURVEY}/copy"): "copied a survey",
    ("POST", f"{_SURVEY}/delete"): "deleted a draft",
    ("POST", f"{_SURVEY}/open"): "opened a survey",
    ("POST", f"{_SURVEY}/close"): "closed a survey",
    ("POST", f"{_SURVEY}/extend"): "gave a survey more time",
    ("POST", f"{_SURVEY}/cancel"): "cancelled a survey",
    ("POST", f"{_SURVEY}/publish"): "published results",
    ("POST", f"{_SURVEY}/unpublish"): "took published results back",
    ("POST", f"{_SURVEY}/seats"): "changed how many people a survey takes",
    ("POST", f"{_SURVEY}/waves"): "ran a selection",
    ("POST", f"{_SURVEY}/codes"): "checked completion codes",
    # A GET that changes something: it signs in.
    ("GET", "/owner"): "signed in by the owner's link",
    ("POST", "/sign-in"): "signed in",
    ("POST", "/sign-in/passkey"): "signed in",
    ("POST", "/account/codes"): "turned codes on for their account",
    ("POST", "/account/codes/remove"): "turned codes off for their account",
    ("POST", "/account/name"): "renamed their account",
    ("POST", "/account/passkeys"): "added a passkey to their account",
    ("POST", "/account/passkeys/{credential}/remove"): "removed a passkey of their account",
    ("POST", "/account/password"): "changed their password",
    ("POST", "/account/sessions/end"): "ended their other sessions",
    ("POST", "/join/{token}"): "joined the team",
    ("POST", "/join/{token}/me"): "joined the team",
    ("POST", "/join/{token}/sign-in"): "joined the team",
    ("POST", "/team/invitations"): "invited somebody",
    ("POST", "/team/invitations/{invitation}/withdraw"): "took an invitation back",
    ("POST", "/team/leave"): "left the team",
    ("POST", "/team/members/{account}/remove"): "removed a member",
    ("POST", "/team/members/{account}/role"): "changed a member's role",
    ("POST", "/team/name"): "renamed the team",
    ("POST", "/tokens"): "made a token",
    ("POST", "/tokens/{token}/revoke"): "revoked a token",
    ("POST", "/api/v1/funds/deposits"): "paid in",
    ("POST", "/api/v1/funds/withdrawals"): "took money out",
    ("POST", "/api/v1/funds/surveys/{token}"): "gave a survey more money",
    ("POST", "/api/v1/funds/payouts/{payout}/paid"): "paid out",
    ("POST", "/api/v1/funds/payouts/{payout}/refused"): "refused to pay out",
    # Reading, but it takes away where people want to be paid.
    ("GET", "/api/v1/funds/payouts.csv"): "took the list of payouts away",
    ("POST", "/funds/deposits"): "paid in",
    ("POST", "/funds/withdrawals"): "took money out",
    ("POST", "/funds/surveys/{token}"): "gave a survey more money",
    ("POST", "/funds/payouts"): "settled payouts",
    ("GET", "/funds/payouts.csv"): "took the list of payouts away",
    ("POST", "/api/v1/webhooks"): "added a webhook",
    ("DELETE", "/api/v1/webhooks/{webhook}"): "removed a webhook",
    ("POST", "/api/v1/webhooks/{webhook}/test"): "tested a webhook",
    ("POST", "/webhooks"): "added a webhook",
    ("POST", "/webhooks/{webhook}/remove"): "removed a webhook",
    ("POST", "/webhooks/{webhook}/test"): "tested a webhook",
}

_OBJECTS = ("token", "account", "webhook")
_NOT_OBJECTS = ("/join/", "/tokens/")  # there it is a secret, or its hash


class AuditTrail:
    """Adds an entry for each change that a surveyor's request made.

    The entry is written when the change is done and before its answer is sent: nobody is told of a
    change that is not in the log.
    """

    def __init__(self, app: ASGIApp, *, log: AuditLog) -> None:
        self.app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and log what it did."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def watch(message: Message) -> None:
            # What was refused changed nothing.
            if message["type"] == "http.response.start" and message["status"] < 400:
                await self._write(scope)
            await send(message)

        await self.app(scope, receive, watch)

    async def _write(self, scope: Scope) -> None:
        state = scope.get("state", {})
        # Who signs in, or joins by an invitation, is nobody's actor yet.
        actor = state.get("member") or state.get("actor")
        action = action_of(scope["method"], route_of(scope))
        if actor is None or action is None:
            return
        await run_in_threadpool(
            self._log.add,
            actor.team.id,
            account=actor.account.id,
            login=actor.account.login,
            action=action,
            object=_object(scope),
        )


def action_of(method: str, route: str) -> str | None:
    """Return what is written of a request that was answered; None where nothing is."""
    words = ACTIONS.get((method, route))
    if words is None and method not in READING and (method, route) not in UNLOGGED:
        words = f"{method} {route}"
    return words


def _object(scope: Scope) -> str:
    if scope["path"].startswith(_NOT_OBJECTS):
        return ""
    found = scope.get("path_params", {})
    return next((str(found[name]) for name in _OBJECTS if name in found), "")
