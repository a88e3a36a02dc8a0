"""Whether the address that people are given leads to a server of ours."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from masquerade.server.operations.database_checks import CheckResult, ok, problem, skipped, warning

CHECK = "address"
_SECONDS = 5.0
_MOST_BYTES = 10_000
_HEALTH = "/healthz"
#: What a proxy answers while the server behind it is away.
_AWAY = (502, 503, 504)


def address_findings(url: str | None) -> Iterator[CheckResult]:
    """Yield what answers at `public_url`, by one request; nothing where there is no such setting.

    A proxy that serves a path of another site and cuts it off is not seen in any request that
    arrives: pages come, and all that they load is asked of the other site.
    """
    if url is None:
        return
    try:
        with urlopen(f"{url}{_HEALTH}", timeout=_SECONDS) as answer:
            ours = _is_health(answer.read(_MOST_BYTES))
        said = "with something else"
    except HTTPError as error:
        error.close()
        if error.code in _AWAY:
            yield warning(CHECK, f"{url} answers with {error.code}: is the server started?")
            return
        ours, said = False, f"with {error.code}"
    except (URLError, OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", None) or error
        yield skipped(CHECK, f"not looked at: {url} cannot be reached from here ({why}).")
        return
    if ours:
        yield ok(CHECK, f"{url} leads to a server of Masquerade.")
        return
    yield problem(
        CHECK,
        f"{url}{_HEALTH} is answered {said}, and not by this server, whose pages load everything "
        "from there. Let the proxy pass every path of this host name on, from / downwards: a "
        "server is not served below a path of another site.",
    )


def _is_health(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("status") == "ok" and "version" in found
