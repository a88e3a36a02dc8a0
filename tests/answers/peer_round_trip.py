"""Files as crowd-kit and Label Studio's converter read them; run by a Python that has both.

``PYTHON peer_round_trip.py crowdkit FOLDER`` reads ``claims.csv`` and writes the table again, and
the labels and posteriors of methods. ``... label_studio_sdk FOLDER`` reads ``tasks.json`` and
``config.xml`` and writes exports of each format.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def crowdkit(folder: Path) -> None:
    """Aggregate the claims by crowd-kit's methods."""
    methods: Any = import_module("crowdkit.aggregation")
    claims = import_module("pandas").read_csv(folder / "claims.csv")
    claims.to_csv(folder / "again.csv", index=False)
    methods.MajorityVote().fit_predict(claims).to_csv(folder / "majority.csv")
    skilled = methods.DawidSkene(n_iter=200, tol=0).fit(claims)
    skilled.labels_.to_csv(folder / "skilled.csv")
    skilled.probas_.to_csv(folder / "posteriors.csv")


def label_studio_sdk(folder: Path) -> None:
    """Export the tasks in each format that the converter writes for choices."""
    made: Any = import_module("label_studio_sdk.converter").Converter(
        str(folder / "config.xml"), str(folder), download_resources=False
    )
    for name in ("JSON", "JSON_MIN", "CSV"):
        place = str(folder / name.lower())
        made.convert(str(folder / "tasks.json"), place, name, is_dir=False)


if __name__ == "__main__":
    {"crowdkit": crowdkit, "label_studio_sdk": label_studio_sdk}[sys.argv[1]](Path(sys.argv[2]))
