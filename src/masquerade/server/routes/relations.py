"""The page on which a surveyor relates one question of a closed survey to others."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from masquerade.errors import MasqueradeError, ParameterError, UnderWay
from masquerade.server.results.cache import require_finished
from masquerade.server.results.relations import MOST_PREDICTORS, relatable, relation_view
from masquerade.server.routes.authorization import Actor, require

routes = APIRouter(include_in_schema=False)
Reader = Annotated[Actor, Depends(require("results:read"))]


@routes.get("/surveys/{token}/relations")
def relations_page(
    actor: Reader,
    token: str,
    outcome: Annotated[str, Query(max_length=200)] = "",
    predictor: Annotated[list[str] | None, Query(max_length=100)] = None,
) -> Response:
    record, chosen = actor.survey(token), predictor or []
    require_finished(record)
    view, refused = None, None
    if outcome or chosen:
        try:
            if not chosen:
                raise ParameterError("no predictor was chosen; choose at least one.")
            view = relation_view(actor.services.relations.found(record, outcome, chosen))
        except UnderWay:  # a page that shows how far it is, and looks again
            raise
        except MasqueradeError as error:  # the page says why, above the form that was sent
            refused = error
    context = {
        "record": record,
        "questions": relatable(record.survey),
        "outcome": outcome,
        "chosen": chosen,
        "most": MOST_PREDICTORS,
        "view": view,
        "query": urlencode([("outcome", outcome), *(("predictor", one) for one in chosen)]),
    }
    return actor.page("surveyor/relations.html", context, error=refused)
