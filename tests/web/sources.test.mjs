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
  const found = new Set(["app.js", "offline.js"]);
  for (const name of found) {
    for (const [, from] of code(name).matchAll(/from\s+"([^"]+)"/g)) {
      assert.match(from, /^\.\/[a-z0-9]+\.js$/, `${name} imports ${from}`);
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
  /window\.open/, /postMessage/, /\.submit\(/, /"form"/, /console\./, /\bimport\(/, /https?:/,
];

/** What few modules may do, and which. */
const RESERVED = [
  [/\bfetch\b/, ["api.js", "offline.js"]],
  [/\blocation\b/, ["app.js", "offline.js", "settingspage.js"]],
  [/\bcaches\b/, ["offline.js"]],
  [/\blocalStorage\b/, ["device.js"]],
  [/\bindexedDB\b/, ["database.js"]],
  [/new SystemCoins/, ["maskdemo.js", "surveypage.js"]],
  [/\bURL\.createObjectURL\b/, ["ledgerpage.js"]],
];

test("the page's modules are the ones we know", () => {
  assert.deepEqual(modules().sort(), [
    "aboutpage.js", "api.js", "app.js", "arabic.js", "batteryview.js", "budget.js", "coins.js",
    "concentrated.js", "database.js", "device.js", "dom.js", "domain.js", "english.js",
    "figures.js", "fractions.js", "gaussianroom.js", "gaussiantail.js", "homepage.js",
    "invitation.js", "lattice.js", "ledgerpage.js", "levelview.js", "losses.js", "mask.js", "maskdemo.js",
    "mechanismtext.js", "noise.js", "offline.js", "participation.js", "pieces.js",
    "plainarabic.js", "plainenglish.js", "plainpage.js", "questionview.js", "recovery.js",
    "rewardview.js", "screen.js", "settingspage.js", "sha256.js", "shown.js", "strength.js",
    "surveypage.js", "surveytext.js", "surveyviews.js", "twolayer.js", "words.js",
  ]);
});

for (const name of modules()) {
  test(`${name} uses nothing that could leak, run or be foreseen`, () => {
    for (const pattern of FORBIDDEN) assert.doesNotMatch(code(name), pattern);
  });
}

for (const [pattern, allowed] of RESERVED) {
  test(`${pattern} stands in ${allowed.join(" and ")} only`, () => {
    assert.deepEqual(modules().filter((name) => pattern.test(code(name))).sort(), allowed);
  });
}

test("the service worker never touches the API", () => {
  assert.doesNotMatch(code("offline.js"), /api|put\(/);
});

test("no floating-point number is near the random path", () => {
  const path = code("coins.js") + code("mask.js").split("export function keepPercent")[0];
  assert.doesNotMatch(path, /\d\.\d|parseFloat|Math\./);
});

test("the page has no inline script, style or handler, and no form", () => {
  const html = readFileSync(TEMPLATE, "utf8");
  assert.doesNotMatch(html, /<style|style=|\son[a-z]+=|<form|https?:/);
  const scripts = [...html.matchAll(/<script([^>]*)>/g)];
  assert.equal(scripts.length, 1);
  for (const [, attributes] of scripts) assert.match(attributes, /type="module" src=.* integrity=/);
});
