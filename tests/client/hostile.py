"""The table of servers that lie: the words of each, and a device's right reaction.

``python -m tests.client.hostile`` writes ``tests/vectors/hostile-server.json`` anew; the app and
the Python client both run it. `ABOUT` and `EXPECTED` say how it is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.client.honest_server import SURVEYS
from tests.client.invitation_lies import amounts, invitation_lies, mask_lies, words
from tests.client.participation_lies import (
    account_lies,
    draw_lies,
    opening_lies,
    reservation_lies,
)

FILE = Path(__file__).parent.parent / "vectors" / "hostile-server.json"

ABOUT = [
    "surveys: what an honest server answers in each step, with the level that is chosen, answers,",
    "  their codes, other answers (for a second attempt) and their codes.",
    "Steps: invitation (GET /surveys/{token}/invitation), reserve (POST /participations), open,",
    "  seal, send (PUT .../response), withdraw, abandon, me, ledger, invitations.",
    "cases: `survey` names one of surveys; `lies` has for each step in which the server lies",
    "  `change`, a list of {path, value} or {path, delete: true} on the honest body, in order; or",
    "  `status` and `body` in place of the honest ones; or `raw`, a body that is sent as it is.",
    "  `consent`: whether the person agrees to sending answers as they are (default false).",
    "  `caps`: the device's own caps {epsilon, clear}, where they are not the usual (10 and 0).",
    "  Where a case lies in abandon the device gives up after sealing; where in withdraw, it takes",
    "  back after sending; where in me or ledger, the account is looked at after sending.",
    "`expect` is one of `expected`.",
]

EXPECTED = {
    "refuses-invitation": "The invitation is the only request: nothing is reserved, no question "
    "is shown, nothing is drawn.",
    "refuses": "No question is shown, nothing is drawn, nothing is sealed or sent, at the latest "
    "when the questions come. With an honest server the same device can go on or begin anew.",
    "own-numbers": "All goes its way, and every number and sentence that is shown of levels, "
    "prices, the ledger and what is left is the device's own: the same as with the honest server.",
    "one-draw": "Whatever the server says now and later, and whatever is answered in a second "
    "attempt with an honest server, all requests together carry at most one commitment and one "
    "list of reports, and the device's own ledger has one response.",
    "begin-again": "Nothing was opened here: what was set aside is free on the device, and the "
    "survey can be begun again.",
    "over": "Another device with this secret got further: nothing is shown or drawn here, and the "
    "survey cannot be begun again here.",
    "stops-at-own-cap": "The response does not fit the device's own cap: nothing is reserved.",
}


def table() -> dict[str, Any]:
    """Return the whole table."""
    cases = [
        one
        for some in (
            amounts,
            words,
            mask_lies,
            invitation_lies,
            opening_lies,
            reservation_lies,
            draw_lies,
            account_lies,
        )
        for one in some()
    ]
    return {"about": ABOUT, "expected": EXPECTED, "surveys": SURVEYS, "cases": cases}


def written() -> str:
    """Return the table as its file holds it: a case a line."""
    whole = table()
    cases = ",\n".join(map(json.dumps, whole.pop("cases")))
    head = json.dumps(whole, indent=1)
    return f'{head[:-2]},\n "cases": [\n{cases}\n]}}\n'


if __name__ == "__main__":
    FILE.write_text(written())
