// The randomness that protects a person is in whole numbers from the first word to the report.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../src/masquerade/server/web/static/", import.meta.url);
/** Return the code of a module without its comments and texts. */
function code(name) {
  const text = readFileSync(new URL(name, STATIC), "utf8");
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "")
    .replace(/"[^"\n]*"|`[^`]*`/g, '""');
}

/** Return what of mask.js masks, without what is shown about it. */
const masking = () => code("mechanisms/mask.js").split("export function keepPercent")[0];

const random = { "coins.js": code("mechanisms/coins.js").split("export function randomName")[0] };
for (const name of ["noise.js", "lattice.js", "sets.js"]) random[name] = code(`mechanisms/${name}`);
random["mask.js"] = masking();

const modules = ["app", "app/kinds", "mechanisms", "words"].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, STATIC))
    .filter((file) => file.endsWith(".js"))
    .map((file) => `${folder}/${file}`),
);

for (const name of modules) {
  test(`${name} draws nothing that can be foreseen and reads no floating-point number`, () => {
    assert.doesNotMatch(code(name), /Math\.random|parseFloat|randomUUID/);
  });
}

test("modules of the random path import from the random path only", () => {
  for (const name of Object.keys(random)) {
    const text = readFileSync(new URL(`mechanisms/${name}`, STATIC), "utf8");
    for (const [, from] of text.matchAll(/from "\.\/([^"]+)"/g)) assert.ok(from in random, from);
  }
});

test("noise has no numbers but BigInts, so that every division is one of whole numbers", () => {
  assert.doesNotMatch(random["noise.js"], /\bNumber\b|\bMath\b|\bparse|\bBigInt\(/);
  const literals = random["noise.js"].match(/(?<![\w$])\d[\w.]*/g);
  assert.ok(literals.length > 20);
  for (const literal of literals) assert.match(literal, /^\d+n$/);
});

for (const name of ["coins.js", "lattice.js", "mask.js"]) {
  test(`${name} divides BigInts only`, () => {
    const text = random[name];
    assert.doesNotMatch(text, /\d\.\d|\de-?\d|Math\.|parseInt|parseFloat|\*\* *-/);
    // A division of a BigInt by anything else throws, and here one side of each is a BigInt for
    // certain: no Number is made but of the finished report.
    const made = text.match(/\bNumber\((?!\))/g) ?? [];
    assert.equal(made.length, name === "mask.js" ? 1 : 0);
    for (const [, literal] of text.matchAll(/[/%]\s*(\d\w*)/g)) assert.match(literal, /n$/);
  });
}
