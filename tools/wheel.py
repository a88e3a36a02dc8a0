"""Build the wheel twice, compare, and try it in a clean environment.

Run with ``python tools/wheel.py [FOLDER]`` (default ``dist``). It needs the network or an index for
the build backend and for what the wheel depends on.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "masquerade"

#: Packages that the base install brings beside masquerade; pip and setuptools aside.
MOST_PACKAGES = 16

COUNT = """
from importlib.metadata import distributions
names = {d.metadata["Name"].lower() for d in distributions()}
print(*sorted(names - {"masquerade", "pip", "setuptools", "wheel"}))
"""

EVERY_HELP = """
import contextlib, io, typer
from masquerade.cli import app

def words_of(command, words=()):
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from words_of(below, (*words, name))

command = typer.main.get_command(app)
for words in words_of(command):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        command([*words, "--help"], standalone_mode=False)
    assert "Usage" in said.getvalue(), words
"""

NO_SHELF = """
import importlib.util
assert importlib.util.find_spec("masquerade_papers") is None, "the wheel brings the shelf"
"""


def main() -> None:
    """Build, compare and try; stop with a reason where something is wrong."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    wheel = build(folder)
    with tempfile.TemporaryDirectory() as other:
        again = build(Path(other))
        if digest(wheel) != digest(again):
            sys.exit(f"{wheel.name} has other bytes when it is built again.")
    require_complete(wheel)
    try_out(wheel)
    sys.stdout.write(f"{digest(wheel)}  {wheel}\n")


def build(folder: Path) -> Path:
    """Return the wheel, built into `folder` as of the last commit."""
    commit = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    when = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(commit, text=True).strip()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    subprocess.run(
        [*pip, "--no-deps", "--no-cache-dir", "--wheel-dir", str(folder), str(ROOT)],
        env={**os.environ, "SOURCE_DATE_EPOCH": when},
        check=True,
    )
    return max(folder.glob("masquerade-*.whl"), key=lambda path: path.stat().st_mtime)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def require_complete(wheel: Path) -> None:
    """Stop where a file of the source is not in the wheel, or another one is.

    What belongs to a checkout alone, as the shelf of the papers does, is such another one.
    """
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    tracked = subprocess.check_output(["git", "-C", str(SOURCE), "ls-files", "-z"], text=True)
    expected = {f"masquerade/{name}" for name in tracked.split("\0") if name}
    if inside != expected:
        sys.exit(f"missing {sorted(expected - inside)}, not of the source {inside - expected}.")


def try_out(wheel: Path) -> None:
    """Install the wheel in a clean environment, count packages and ask every command for help.

    The shelf of the papers must not be in it.
    """
    with tempfile.TemporaryDirectory() as place:
        environment = Path(place)
        python = str(environment / "bin" / "python")
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--no-compile", str(wheel)], check=True)
        seconds = time.perf_counter() - started
        files = [path for path in (environment / "lib").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files if not path.is_symlink()) / 1e6
        packages = subprocess.check_output([python, "-c", COUNT], text=True).split()
        subprocess.run([python, "-c", EVERY_HELP], cwd=place, check=True)
        subprocess.run([python, "-c", NO_SHELF], cwd=place, check=True)
    what = f"{len(packages)} packages beside masquerade, {size:.0f} MB, {seconds:.0f} s"
    sys.stdout.write(f"{what}: {' '.join(packages)}\n")
    if len(packages) > MOST_PACKAGES:
        sys.exit(f"the base install brings more than {MOST_PACKAGES} packages.")


if __name__ == "__main__":
    main()
