// What the participant's modules may not contain.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../src/masquerade/server/web/static/", import.meta.url);
const TEMPLATE = new URL("../templates/participate.html", STATIC);

/** Return the code of a module without its comments. */
function code(name) {
  const text = readFileSync(new URL(name, STATIC), "utf8");
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

/** Return every module that the participant's page loads. */
function modules() {
  const found = new Set(["participate.js"]);
  for (const name of found) {
    for (const [, from] of code(name).matchAll(/from\s+"([^"]+)"/g)) {
      assert.match(from, /^\.\/[a-z]+\.js$/, `${name} imports ${from}`);
      found.add(from.slice(2));
    }
  }
  return [...found];
}

const FORBIDDEN = [
  // randomness that can be foreseen, and what plain http does not offer
  /Math\.random/, /crypto\.subtle/, /randomUUID/,
  // ways for a text to become code
  /innerHTML/, /outerHTML/, /insertAdjacentHTML/, /document\.write/, /\beval\b/, /new Function/,
  // ways out of the page
  /XMLHttpRequest/, /sendBeacon/, /WebSocket/, /EventSource/, /\.cookie/, /\bhistory\b/,
  /\blocation\b/, /document\.title/, /window\.open/, /postMessage/, /\.submit\(/, /"form"/,
  /console\./, /\bimport\(/, /https?:/,
];

test("the page's modules are the ones we know", () => {
  assert.deepEqual(modules().sort(), [
    "coins.js", "dom.js", "lattice.js", "mask.js", "noise.js", "participate.js", "send.js",
    "store.js", "views.js", "words.js",
  ]);
});

for (const name of modules()) {
  test(`${name} uses nothing that could leak, run or be foreseen`, () => {
    for (const pattern of FORBIDDEN) assert.doesNotMatch(code(name), pattern);
  });
}

test("only send.js makes requests", () => {
  const requesting = modules().filter((name) => /\bfetch\b/.test(code(name)));
  assert.deepEqual(requesting, ["send.js"]);
});

test("no floating-point number is near the random path", () => {
  const path = code("coins.js") + code("mask.js").split("export function keepPercent")[0];
  assert.doesNotMatch(path, /\d\.\d|parseFloat|Math\./);
});

test("the page has no inline script, style or handler, and no form", () => {
  const html = readFileSync(TEMPLATE, "utf8");
  assert.doesNotMatch(html, /<style|style=|\son[a-z]+=|<form|https?:/);
  for (const [, attributes] of html.matchAll(/<script([^>]*)>/g)) {
    assert.match(attributes, /src="\/static\/|type="application\/json"/);
  }
});
