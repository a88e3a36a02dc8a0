"""What this computer remembers of a person's part in each survey: one file a survey."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from masquerade.client.atomic_files import delete_file, locked, make_folder, replace_file
from masquerade.client.urls import token_of
from masquerade.errors import UnreadableFile

Record = dict[str, Any]


class Records:
    """The records of one person on one server.

    A record is on the disk when a change returns, and no two changes of one record overlap, in
    whatever processes they run.

    Parameters
    ----------
    folder : Path
        Made when first needed, readable by its owner only.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def surveys(self) -> list[str]:
        """Return the tokens of all surveys of which something is remembered."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def read(self, survey: str) -> Record | None:
        """Return what is remembered, or None.

        Raises
        ------
        UnreadableFile
            The file was damaged by something else.
        """
        path = self._path(survey)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise UnreadableFile(f"{path} cannot be read: {type(error).__name__}.") from error
        if not isinstance(found, dict) or "step" not in found:
            raise UnreadableFile(f"{path} is not a record of a participation.")
        return found

    def change(
        self, survey: str, change: Callable[[Record | None], Record | None]
    ) -> Record | None:
        """Replace a record by what `change` makes of it, and return that; None deletes it.

        Where `change` returns what it was given, nothing is written; where it raises, nothing
        changes.
        """
        path = self._path(survey)
        make_folder(self.folder)
        with locked(self.folder / ".lock"):
            old = self.read(survey)
            new = change(old)
            if new is None:
                delete_file(path)
            elif new is not old:
                replace_file(path, json.dumps(new, ensure_ascii=False, allow_nan=False))
        return new

    def _path(self, survey: str) -> Path:
        return self.folder / f"{token_of(survey)}.json"
