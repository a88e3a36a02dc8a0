"""Run the steps of the container image and of the conda package without an engine for either.

Run with ``python -m tools.recipes [image | conda]``; both where none is named. Each runs in a new
folder and in new environments of Python, from the files of the last commit, with a clean set of
environment variables. What cannot be repeated without an engine is said: another user, and the
packages that the base image or the channel would bring.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WAIT = 120
"""Seconds for the server to be ready, and to end."""

#: Folders of the image; each is below a new folder here.
_OF_THE_IMAGE = re.compile(r"(?<![\w./:])/(?=(?:opt|source|wheels|var/lib)\b)")
_REFERENCE = re.compile(r"\$\{\{ (\w+) \}\}")


def main() -> None:
    """Run the steps of the recipes that are named."""
    named = sys.argv[1:] or list(RECIPES)
    for name in named:
        with tempfile.TemporaryDirectory(prefix="recipe-") as folder:
            started = time.perf_counter()
            RECIPES[name](Path(folder))
            say(f"{name}: every step ran, in {time.perf_counter() - started:.0f} s")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions, each with its arguments on one line."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in joined.split("\n")]


def below(folder: Path, text: str) -> str:
    """Return a line of the Dockerfile with the image's folders below another folder.

    Examples
    --------
    >>> below(Path("/new"), "python -m venv /opt/build && ls /wheels/*.whl src/wheels")
    'python -m venv /new/opt/build && ls /new/wheels/*.whl src/wheels'
    """
    return _OF_THE_IMAGE.sub(f"{folder}/", text)


def without_root(command: str) -> str:
    """Return a command of the image without its own user, whom only root can make.

    Examples
    --------
    >>> without_root("useradd --uid 1 masquerade && install --directory --owner=masquerade data")
    'install --directory data'
    """
    parts = [part for part in command.split(" && ") if not part.strip().startswith("useradd ")]
    return re.sub(r" --owner=\w+", "", " && ".join(parts))


def image(folder: Path) -> None:
    """Run the Dockerfile's steps, start the server, ask for its health, and stop it."""
    source, environment = checkout(folder / "checkout"), clean(folder)
    base = next(words for name, words in instructions() if name == "ARG")
    wanted = re.search(r"python:(\d+\.\d+)", base)
    assert wanted is not None
    python = interpreter(wanted.group(1))
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(python)
    at = folder
    for name, words in instructions():
        words = below(folder, words)
        if name == "WORKDIR":
            at = Path(words)
            at.mkdir(parents=True, exist_ok=True)
        elif name == "COPY" and "--from" not in words:
            *files, to = words.split()
            for file in files:
                copy(source / file, at / to)
        elif name == "RUN":
            command = without_root(words)
            say(f"RUN {command}")
            subprocess.run(command, shell=True, check=True, cwd=at, env=environment)
        elif name == "ENV":
            for variable in shlex.split(words):
                key, _, value = variable.partition("=")
                environment[key] = value.replace("$PATH", environment["PATH"])
    serve(at, environment)


def serve(at: Path, environment: dict[str, str]) -> None:
    """Start the image's command on a free port, wait until it is healthy, and end it."""
    last = dict(instructions())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    health = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    health = [word.replace(f":{last['EXPOSE']}/", f":{port}/") for word in health]
    environment = environment | {"MASQUERADE_PORT": port, "MASQUERADE_HOST": "127.0.0.1"}
    path = environment["PATH"]
    words = json.loads(last["CMD"])
    server = subprocess.Popen(
        [str(shutil.which(words[0], path=path)), *words[1:]], cwd=at, env=environment
    )
    try:
        end = time.monotonic() + WAIT
        check = [str(shutil.which(health[0], path=path)), *health[1:]]
        while subprocess.run(check, env=environment, stderr=subprocess.DEVNULL).returncode:
            if server.poll() is not None or time.monotonic() > end:
                sys.exit("the image's server does not become healthy.")
            time.sleep(0.5)
    finally:
        server.send_signal(getattr(signal, last["STOPSIGNAL"]))
        code = server.wait(WAIT)
    if code not in (0, -signal.SIGTERM):
        sys.exit(f"the image's server ended with {code} when it was asked to stop.")
    say(f"the server was healthy, and ended with {code} at {last['STOPSIGNAL']}")


def recipe() -> dict[str, Any]:
    """Return conda's recipe, with the values of its context filled in."""
    import yaml

    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    context = yaml.safe_load(text)["context"]
    filled = _REFERENCE.sub(lambda found: context.get(found[1], found[0]), text)
    read: dict[str, Any] = yaml.safe_load(filled)
    return read


def pip_names(requirements: list[str]) -> list[str]:
    """Return conda's requirements as pip takes them, without Python itself.

    Examples
    --------
    >>> pip_names(["python >=3.11", "pip", "numpy >=1.26"])
    ['pip', 'numpy>=1.26']
    """
    return [one.replace(" ", "") for one in requirements if one.split()[0] != "python"]


def conda(folder: Path) -> None:
    """Build conda's package into an environment with its requirements, and run its tests there."""
    found, environment = recipe(), clean(folder)
    source = checkout(folder / "checkout")
    place = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, env=environment)
    python = str(place / "bin" / "python")
    environment["PATH"] = f"{place / 'bin'}:{environment['PATH']}"
    needed = found["requirements"]
    names = pip_names([*needed["host"], *needed["run"]])
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", *names], check=True, env=environment)
    script = found["build"]["script"].replace("${{ PYTHON }}", python)
    say(script)
    subprocess.run(script, shell=True, check=True, cwd=source, env=environment)
    work = folder / "work"
    work.mkdir()
    for test in found["tests"]:
        for name in test.get("python", {}).get("imports", []):
            subprocess.run([python, "-c", f"import {name}"], check=True, cwd=work, env=environment)
        if test.get("python", {}).get("pip_check"):
            subprocess.run([*pip, "check"], check=True, env=environment)
        for line in test.get("script", []):
            say(line)
            subprocess.run(line, shell=True, check=True, cwd=work, env=environment)


def clean(folder: Path) -> dict[str, str]:
    """Return the environment variables of a new machine; where packages come from is kept."""
    (folder / "home").mkdir()
    kept = {k: v for k, v in os.environ.items() if k.startswith("PIP_") or k == "SSL_CERT_FILE"}
    found = {"HOME": str(folder / "home"), "PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    return kept | found | {"LANG": "C.UTF-8"}


def checkout(folder: Path) -> Path:
    """Return a folder with the files of the last commit."""
    clone = ["git", "clone", "--quiet", "--no-hardlinks", "--depth=1", f"file://{ROOT}"]
    subprocess.run([*clone, str(folder)], check=True)
    return folder


def copy(source: Path, to: Path) -> None:
    """Copy a file into a folder, or the content of a folder, as the image's COPY does."""
    if source.is_dir():
        shutil.copytree(source, to, dirs_exist_ok=True)
    else:
        shutil.copy2(source, to)


def interpreter(version: str) -> str:
    """Return a Python of a version: this one, one of the path, or one that pyenv keeps."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    # What the path finds may be a stand-in of pyenv that knows no such version.
    for found in filter(None, [shutil.which(f"python{version}"), *map(str, reversed(kept))]):
        if subprocess.run([found, "--version"], capture_output=True).returncode == 0:
            return found
    sys.exit(f"Python {version} is not here; install it, or put its python{version} on the path.")


RECIPES = {"image": image, "conda": conda}

if __name__ == "__main__":
    main()
