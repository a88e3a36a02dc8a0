"""Surveys between two parties: a team's helpers, their approval, and the adding up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field

from masquerade.server.http.bodies import StrictBody
from masquerade.server.http.outgoing import LONGEST_ADDRESS
from masquerade.server.parties.team_helpers import Helper
from masquerade.server.routes.audit import audited
from masquerade.server.routes.authorization import Actor, base_address, require


class NewHelper(StrictBody):
    """A helper, as its operator has given its address, fingerprint and token to a surveyor."""

    address: Annotated[str, Field(max_length=LONGEST_ADDRESS)]
    token: Annotated[str, Field(max_length=200)]
    fingerprint: Annotated[str, Field(max_length=100)]


helpers = APIRouter(prefix="/api/v1/helpers", tags=["two parties"])
surveys = APIRouter(prefix="/api/v1/surveys/{token}", tags=["two parties"])
Owner = Annotated[Actor, Depends(require("team:manage"))]
Reader = Annotated[Actor, Depends(require("survey:read"))]
Writer = Annotated[Actor, Depends(require("survey:write"))]
HelperId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


@helpers.get("", summary="The helpers that a team works with")
def listing(actor: Reader) -> dict[Literal["helpers"], list[Helper]]:
    return {"helpers": actor.services.helpers.list(actor.team.id)}


@helpers.post("", status_code=201, summary="Add a helper, or enter another token of one")
@audited("added a helper")
def add(actor: Owner, new: NewHelper) -> Helper:
    return actor.services.helpers.add(
        actor.team.id, address=new.address, token=new.token, fingerprint=new.fingerprint
    )


@helpers.delete("/{helper}", status_code=204, summary="Forget a helper")
@audited("removed a helper")
def remove(actor: Owner, helper: HelperId) -> None:
    actor.services.helpers.remove(actor.team.id, helper)


@surveys.post("/helper", summary="Ask the helper to approve a draft, or look what it decided")
@audited("asked the helper to approve a survey")
def ask(request: Request, actor: Writer, token: str, again: bool = False) -> Mapping[str, object]:
    """Propose the survey to its helper; with `again` also one that the helper refused."""
    drafts = actor.services.drafts
    draft = drafts.draft(token, team=actor.team.id)
    survey, figures = drafts.review(draft.document).require()
    return actor.services.proposals.ask(
        survey,
        token=token,
        team=actor.team.id,
        leader=base_address(request),
        people=max(1, figures["asked"]),
        closes=draft.document.plan.closes,
        again=again,
    )


@surveys.get("/helper", summary="How the helper's approval of a draft stands")
def approval(actor: Reader, token: str) -> Mapping[str, object]:
    drafts = actor.services.drafts
    survey, _ = drafts.review(drafts.draft(token, team=actor.team.id).document).require()
    proposals = actor.services.proposals
    standing = proposals.standing(token, survey)
    if standing is not None:
        return standing
    # Approved in another wording, which this draft can no more open with.
    nothing = dict.fromkeys(("task", "state", "reason", "day", "last_day"))
    return {**nothing, "changed": proposals.was_approved(token)}


@surveys.get("/aggregation", summary="How far the two parties have added up a survey")
def aggregation(actor: Reader, token: str) -> Mapping[str, object]:
    return actor.services.aggregation.progress(actor.survey(token).token)
