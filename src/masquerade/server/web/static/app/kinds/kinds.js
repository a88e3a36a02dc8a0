// The kinds of question, by name: a device loads those that a survey asks. Written by
// tools/kinds.py from the modules of this folder.

import { allow } from "../dom.js";

const LOADERS = {
  choice: () => import("./choice.js"),
  comparison: () => import("./comparison.js"),
  date: () => import("./date.js"),
  matrix: () => import("./matrix.js"),
  nps: () => import("./nps.js"),
  number: () => import("./number.js"),
  pair: () => import("./pair.js"),
  ranking: () => import("./ranking.js"),
  rating: () => import("./rating.js"),
  several: () => import("./several.js"),
};

/** The kinds that are loaded. */
export const KINDS = new Map();

/** Return the kind of a question. */
export const kindOf = ({ kind }) => KINDS.get(kind);

/** Load the kinds of these names, those that there are; without a network it may fail. */
export function loadKinds(names) {
  const wanted = names.filter((name) => Object.hasOwn(LOADERS, name) && !KINDS.has(name));
  return Promise.all(
    wanted.map(async (name) => {
      allow(`kind-${name}`);
      KINDS.set(name, (await LOADERS[name]()).kind);
    }),
  );
}
