"""Reports that a device seals in Node are opened, checked and added up in Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.aggregate.device import reports_add_up

from masquerade.aggregate.hpke import Kem

SCRIPT = Path(__file__).parents[1] / "web" / "aggregate" / "device.mjs"


@pytest.mark.parametrize("kem", Kem)
def test_reports_of_a_device_add_up(node: str, kem: Kem) -> None:
    """Every kind of block comes through both halves, encrypted with each key exchange."""

    def seal(request: dict[str, Any]) -> dict[str, Any]:
        done = subprocess.run(
            [node, str(SCRIPT)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    reports_add_up(kem, seal)
