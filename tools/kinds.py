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
// the modules of this folder. A kind is an object with
//
//   name       of the kind, in definitions
//   fields     of a definition, besides kind, id, text and show_if
//   texts      fields of a definition that people read, besides text: texts, or lists of texts
//   optional   fields that a definition leaves out where they are at the value given here
//   decides    whether the answer can decide which other questions are shown
//   cannotDecide  why it cannot, for whoever writes a survey; absent where it can
//   leaves(definition)           what conditions on it name: "labels", "interval" or "places"; the
//              first is usual
//   leafWords  words between a question and the labels that a condition names
//   ends(definition)             ends of a first interval
//   checkLeaf(question, leaf)    throws where a condition is none on answers to the question
//   meets(question, code, leaf)  whether an answer meets a condition; "no answer" meets none
//   decidingCodes(question, leaves)  codes, between them all that these conditions or masks tell
//              apart; null where there are too many to go through
//   shuffled(definition)  how many options, from the first on, may stand in any order; absent:
//              none. `asked.order` has the codes of all in the order in which they stand
//   crossable  whether two parties can count it in a cross table
//   form(definition)             the fields of the device's form, of any draft
//   check(definition, form)      throws `BrokenPromise` where it is no question of this kind
//   answers(question)            number of codes of answers, "prefer not to say" included
//   skipCode(question)           code of "prefer not to say"
//   maskedAnswers(question)      number of codes that a mask takes, where several answers have one
//   fits(question, device)       whether a mask is one for this kind
//   draw(place, answering)       elements in which an answer is given
//   group(question)              name of those that stand on one screen, or null
//   drawGroup(rows)              elements for all of them, each {{place, answering}}
//   missing(question, said)      sentence where somebody goes on without an answer
//   text(question, code, said)   name of an answer, and of a report unless there is sentText
//   sentText(question, report, said)  name of a report
//   maskedCode(question, code)   code that a mask takes: the place of the answer's label
//   split(question, {{bins, summed}})  how two parties add it up: see split_encoding.js

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
