"""The surveyor in Python: surveys are made, opened, closed and read with a token."""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from masquerade.client.connection import Connection, Waiting, token_of
from masquerade.errors import ParameterError, ServerUnavailable, UnreadableFile
from masquerade.exact.number import in_range, one_of

if TYPE_CHECKING:
    import httpx
    import pyarrow as pa

    from masquerade.results import SurveyReports

_PAGE = 200
#: Addresses of a survey's files, by what they hold and their ending.
FILES = {
    ("results", ".json"): "results",
    ("results", ".csv"): "results.csv",
    ("results", ".xlsx"): "results.xlsx",
    ("results", ".sav"): "results.sav",
    ("results", ".pdf"): "report.pdf",
    ("reports", ".parquet"): "reports.parquet",
    ("reports", ".csv"): "reports.csv",
    ("reports", ".jsonl"): "reports.jsonl",
    ("reports", ".sav"): "persons.sav",
    ("codebook", ".json"): "codebook",
    ("document", ".json"): "document",
    ("dossier", ".md"): "dossier",
}


class Surveyor:
    """A server, as a program of a surveyor reaches it.

    What it may do is what the token may do. Every request can be sent again without harm, and is,
    where it is not known whether it arrived.

    Parameters
    ----------
    url : str
        Address of the server, such as ``"https://surveys.example.org"``.
    token : str
        Made on the page *API tokens*, or by ``masquerade token create`` on the server's computer.
        Keep it out of programs: read it from a file or from the environment.
    attempts : int
        How often a request is sent at most.
    patience : float
        Seconds that a result of many people is waited for, which the server works out once.
    progress : callable, optional
        Told while it is waited for: steps done, and of how many, 0 where that is not known.
    transport : httpx.BaseTransport, optional
        For tests and odd networks.

    Raises
    ------
    ParameterError
        The address is none, or goes over http to another network.

    Notes
    -----
    Methods raise what the server refuses: `Unauthenticated`, `Forbidden`, `NotFound`, `WrongState`,
    `ParameterError` with the fields that are wrong, `UnderWay` where a result of many people is not
    there in time, and `ServerUnavailable`.

    Examples
    --------
    >>> with Surveyor("http://localhost:8080", "mq_example") as surveyor:
    ...     surveyor.url
    'http://localhost:8080'
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        attempts: int = 5,
        patience: float = 3600.0,
        progress: Callable[[int, int], object] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        token = token.strip()
        if not token or any(not "!" <= one <= "~" for one in token):
            raise ParameterError(
                "the token is empty, or has spaces or other characters that no token has; copy it "
                "whole, such as mq_ with some forty letters."
            )
        self._connection = Connection(url, lambda: "", attempts=attempts, transport=transport)
        self._token = token
        in_range(patience, "patience", low=0)
        self._waiting = Waiting(patience, progress)

    @property
    def url(self) -> str:
        """Address of the server."""
        return self._connection.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close_connection()

    def close_connection(self) -> None:
        """Close all connections."""
        self._connection.close()

    # --- surveys

    def surveys(self) -> Iterator[Mapping[str, Any]]:
        """Yield the team's surveys and drafts, each with at least ``token`` and ``state``."""
        cursor = ""
        while True:
            page = self._ask("GET", f"/surveys?limit={_PAGE}&cursor={cursor}")
            yield from page["surveys"]
            cursor = page["next_cursor"] or ""
            if not cursor:
                return

    def create(
        self,
        document: Mapping[str, object] | str | Path | None = None,
        *,
        template: str | None = None,
        copy_of: str | None = None,
        key: str | None = None,
    ) -> Mapping[str, Any]:
        """Make a draft, and return it with its faults (``errors``) and its forecast.

        Parameters
        ----------
        document : mapping or path, optional
            A survey as the builder exports it (*Export as a file*), or the path of such a file.
        template : str, optional
            Name of a template in its place.
        copy_of : str, optional
            Token of a survey to copy in its place.
        key : str, optional
            Names the request: with the same key again no second draft is made. Default: a new one.
        """
        if isinstance(document, str | Path):
            document = _read_document(Path(document))
        given = {"document": document, "template": template, "copy_of": copy_of}
        named = {name: value for name, value in given.items() if value is not None}
        if len(named) != 1:
            raise ParameterError(
                f"{sorted(named) or 'nothing'} is given; give one of document, template, copy_of."
            )
        name = hashlib.sha256(key.encode()).hexdigest()[:32] if key else secrets.token_hex(16)
        return self._ask("POST", "/surveys", named, key=name)

    def survey(self, token: str) -> Mapping[str, Any]:
        """Return a survey or draft: its ``state``, document, link, and how many answered."""
        return self._ask("GET", _at(token))

    def change(self, token: str, changes: Mapping[str, object]) -> Mapping[str, Any]:
        """Change fields of a draft; of an open survey its last day (``closes``) or ``seats``."""
        return self._ask("PATCH", _at(token), changes, version=self._version(token))

    def open(self, token: str) -> Mapping[str, Any]:
        """Freeze a draft, and return the survey with the ``link`` at which people answer."""
        return self._ask("POST", f"{_at(token)}/open", {}, version=self._version(token))

    def close(self, token: str, *, grace_days: int = 0) -> Mapping[str, Any]:
        """Close a survey to new people; those under way can finish for so many days."""
        return self._ask("POST", f"{_at(token)}/close", {"grace_days": grace_days})

    def cancel(self, token: str) -> Mapping[str, Any]:
        """End a survey without results."""
        return self._ask("POST", f"{_at(token)}/cancel", {})

    def delete(self, token: str) -> None:
        """Delete a draft."""
        self._ask("DELETE", _at(token), version=self._version(token))

    def publish(self, token: str, *, published: bool = True) -> Mapping[str, Any]:
        """Let everybody see the results, or the team alone again."""
        return self._ask("POST", f"{_at(token)}/{'publish' if published else 'unpublish'}", {})

    def progress(self, token: str) -> Mapping[str, Any]:
        """Return how many answered, by level where that may be told."""
        return self._ask("GET", f"{_at(token)}/progress")

    # --- results

    def result(self, token: str, *, language: str | None = None) -> Mapping[str, Any]:
        """Return the result of a closed survey: the numbers of the results page.

        `language`: one of the survey's, for its texts; by default they are as they were written.
        """
        return self._ask("GET", f"{_at(token)}/results{_spoken(language)}")

    def table(self, token: str, *, language: str | None = None) -> pa.Table:
        """Return the numbers of the result as a tidy table, a row a figure.

        `to_pandas` of the table, or ``polars.from_arrow``, gives a data frame. `language`: one of
        the survey's, for labels.
        """
        import pyarrow as pa
        from pyarrow import csv

        return csv.read_csv(pa.BufferReader(self._file(token, "results", ".csv", language)))

    def reports(self, token: str) -> SurveyReports:
        """Return the masked reports of a closed survey with their codebook, for analyses."""
        from masquerade.results import read_reports

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reports.parquet"
            path.write_bytes(self._file(token, "reports", ".parquet"))
            return read_reports(path)

    def export(
        self, token: str, path: str | Path, what: str = "results", *, language: str | None = None
    ) -> Path:
        """Write a file of a survey, and return its path.

        Parameters
        ----------
        token : str
        path : path
            Its ending says the format.
        what : {"results", "reports", "codebook", "document", "dossier"}
            results: .json, .csv, .xlsx, .sav or .pdf. reports: .parquet, .csv or .jsonl, or .sav
            with a row a person. codebook, document: .json.
            dossier, the data protection summary and the record for an ethics board: .md.
        language : str, optional
            Of the dossier ``"en"`` (default) or ``"de"``; of results one of the survey's languages,
            for its texts. Other files have the survey as it was written.
        """
        file = Path(path)
        content = self._file(token, what, file.suffix, language)
        try:
            file.write_bytes(content)
        except OSError as error:
            raise UnreadableFile(f"{file} cannot be written: {error.strerror}.") from error
        return file

    def _file(self, token: str, what: str, ending: str, language: str | None = None) -> bytes:
        name = FILES.get((what, ending))
        if name is None:
            known = sorted(f"{kind} as {end}" for kind, end in FILES)
            raise ParameterError(
                f"there is no export of {what} as {ending or 'a file without an ending'}; expected "
                f"one of {', '.join(known)}."
            )
        if language is not None and what not in ("results", "dossier"):
            raise ParameterError(
                f"{what} has no language {language!r}: codes are the same in all of them, and the "
                "definition has all texts. Leave language out.",
                field="language",
            )
        if what == "dossier":
            language = language or "en"
            one_of(language, "language", ("en", "de"))
        path = f"{_at(token)}/{name}{_spoken(language)}"
        return self._connection.as_program(self._token, "GET", path, waiting=self._waiting)

    def _version(self, token: str) -> int | None:
        version = self.survey(token).get("version")
        return version if isinstance(version, int) else None

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        version: int | None = None,
    ) -> Mapping[str, Any]:
        match = None if version is None else f'"v{version}"'
        content = self._connection.as_program(
            self._token, method, path, body, key=key, match=match, waiting=self._waiting
        )
        try:
            found: Mapping[str, Any] = json.loads(content) if content else {}
        except (ValueError, RecursionError):  # no JSON, or nested too deeply
            raise ServerUnavailable(
                f"{self._connection.url} does not answer like a Masquerade server; check the "
                "address."
            ) from None
        return found


def _at(token: str) -> str:
    return f"/surveys/{token_of(token)}"


def _spoken(language: str | None) -> str:
    return "" if language is None else f"?language={quote(language, safe='')}"


def _read_document(path: Path) -> Mapping[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(
            f"{path} is no survey of Masquerade: {error}. Files of other tools are read by "
            "masquerade surveys import."
        ) from error
    if not isinstance(found, dict):
        raise UnreadableFile(f"{path} is no survey of Masquerade: it holds no JSON object.")
    return found
