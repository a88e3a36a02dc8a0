"""Write the registry of the device's kinds of question, from the modules of its folder.

``python -m tools.kinds`` writes ``kinds.js`` and ``every.js`` of ``static/app/kinds``; with
``--check`` it fails where they are not what it would write.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import masquerade

FOLDER = Path(masquerade.__file__).parent / "server/web/static/app/kinds"
REGISTRY, EVERY = "kinds.js", "every.js"
TEXT = """\
// The kinds of question, by name: a device loads those that a survey asks. Written by
// tools/kinds.py from the modules of this folder.

import {{ allow }} from "../dom.js";

const LOADERS = {{
{loaders}
}};

/** The kinds that are loaded. */
export const KINDS = new Map();

/** Return the kind of a question. */
export const kindOf = ({{ kind }}) => KINDS.get(kind);

/** Load the kinds of these names, those that there are; without a network it may fail. */
export function loadKinds(names) {{
  const wanted = names.filter((name) => Object.hasOwn(LOADERS, name) && !KINDS.has(name));
  return Promise.all(
    wanted.map(async (name) => {{
      allow(`kind-${{name}}`);
      KINDS.set(name, (await LOADERS[name]()).kind);
    }}),
  );
}}
"""
ALL = """\
// Every kind of question, loaded at once: for the surveyors' pages. Written by tools/kinds.py from
// the modules of this folder.

import {{ KINDS }} from "./kinds.js";
{imports}

for (const kind of [{names}]) KINDS.set(kind.name, kind);
"""


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of the kinds of a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.js") if path.name not in (REGISTRY, EVERY))


def registry(folder: Path = FOLDER) -> dict[str, str]:
    """Return the texts of the registry of a folder, by the name of the file."""
    kinds = names(folder)
    imports = "\n".join(f'import {{ kind as {name} }} from "./{name}.js";' for name in kinds)
    loaders = "\n".join(f'  {name}: () => import("./{name}.js"),' for name in kinds)
    return {
        REGISTRY: TEXT.format(loaders=loaders),
        EVERY: ALL.format(imports=imports, names=", ".join(kinds)),
    }


def main() -> int:
    """Write the registry, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the file is another")
    arguments = parser.parse_args()
    for name, text in registry().items():
        path = FOLDER / name
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{path} is not current; run python -m tools.kinds.\n")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
