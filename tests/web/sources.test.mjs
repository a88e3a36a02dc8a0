// What the participant's modules may not contain.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";

const STATIC = new URL("../../src/masquerade/server/web/static/", import.meta.url);
const TEMPLATE = new URL("../templates/participant/app.html", STATIC);

/** Return the code of a module without its comments. */
function code(name) {
  const text = readFileSync(new URL(name, STATIC), "utf8");
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

/** Return every module that the participant's page loads, at once or when a page is opened. */
function modules() {
  const found = new Set(["app/main.js", "app/service_worker.js"]);
  for (const name of found) {
    for (const [, from] of code(name).matchAll(/(?:from\s+|\bimport\()"([^"]+)"/g)) {
      const path = posix.join(posix.dirname(name), from);
      assert.match(path, /^(aggregate|app|app\/kinds|mechanisms|words)\/[a-z0-9_]+\.js$/, `${name} imports ${from}`);
      found.add(path);
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
  /window\.open/, /postMessage/, /\.submit\(/, /console\./, /https?:/,
];

/** What few modules may do, and which. */
const RESERVED = [
  [/\bfetch\b/, ["app/api.js", "app/service_worker.js"]],
  [/\blocation\b/, ["app/main.js", "app/service_worker.js", "app/settings_page.js"]],
  [/\bcaches\b/, ["app/service_worker.js"]],
  [/\blocalStorage\b/, []],
  [/\bindexedDB\b/, ["app/database.js"]],
  // of which the first says so where plain http does not offer it
  [/\bsubtle\b/, ["aggregate/hpke.js", "aggregate/signature.js"]],
  // of modules whose hashes are in the page's template: pages, kinds of question, tickets, two parties,
  // a demonstration
  [/\bimport\((?!"\.\/\w+\.js"\))/, []],
  [/\bimport\(/, ["app/kinds/kinds.js", "app/main.js", "app/survey_views.js", "app/tickets.js", "app/two_parties.js", "words/language.js"]],
  // by given randomness, for test vectors
  [/\bshardFrom\b/, ["aggregate/prio3.js"]],
  [/\bsealFrom\b/, ["aggregate/hpke.js"]],
  [/new SystemCoins/, ["app/mask_demo.js", "app/participation.js", "app/survey_page.js"]],
  // to a panel's address, that the page's policy names
  [/"form"/, ["app/panel.js"]],
  [/\bURL\.createObjectURL\b/, ["app/ledger_page.js"]],
];

const KNOWN = {
  aggregate: [
    "bit_circuit", "field", "hpke", "prio3", "proof", "signature",
    "survey_circuit", "task", "turboshake", "xof",
  ],
  mechanisms: [
    "coins", "fractions", "lattice", "loss", "loss_tail", "losses", "mask",
    "noise", "portable", "room", "sets", "text", "two_layer",
  ],
  words: ["ar", "de", "en", "en_parties", "es", "formats", "fr", "language"],
  "app/kinds": ["choice", "comparison", "date", "kinds", "matrix", "nps", "number", "pair", "ranking", "rating", "several"],
  app: [
    "about_page", "agreement", "api", "blind_rsa", "budget", "components", "conditions", "database", "device",
    "dom", "home_page", "invitation", "label_kind", "languages", "ledger_page", "level_view",
    "linked_questions", "look", "main",
    "mask_demo", "numbers", "page_view", "pages", "panel", "participation", "promise", "question_view", "reach", "recovery", "rich_text", "screen",
    "service_worker", "settings_page", "sha256", "sha384", "split_encoding", "strength", "survey_page",
    "survey_text", "survey_views", "tickets", "two_parties", "two_party_views",
  ],
};

test("the page's modules are the ones we know", () => {
  const known = Object.entries(KNOWN).flatMap(([folder, names]) =>
    names.map((name) => `${folder}/${name}.js`),
  );
  assert.deepEqual(modules().sort(), known.sort());
});

test("aggregate, mechanisms and words import nothing of the app, nor of each other", () => {
  for (const name of modules().filter((each) => !each.startsWith("app/"))) {
    for (const [, from] of code(name).matchAll(/from\s+"([^"]+)"/g)) assert.match(from, /^\.\/\w/);
  }
});

for (const name of modules()) {
  test(`${name} uses nothing that could leak, run or be foreseen`, () => {
    for (const pattern of FORBIDDEN) assert.doesNotMatch(code(name), pattern);
  });
}

for (const [pattern, allowed] of RESERVED) {
  test(`${pattern} stands in ${allowed.join(" and ") || "no module"} only`, () => {
    assert.deepEqual(modules().filter((name) => pattern.test(code(name))).sort(), allowed);
  });
}

test("the service worker never touches the API", () => {
  assert.doesNotMatch(code("app/service_worker.js"), /api|put\(/);
});

test("no floating-point number is near the random path", () => {
  const path = code("mechanisms/coins.js") + code("mechanisms/mask.js").split("export function keepPercent")[0];
  assert.doesNotMatch(path, /\d\.\d|parseFloat|Math\./);
});

test("the page has no inline script, style or handler, and no form", () => {
  const html = readFileSync(TEMPLATE, "utf8");
  assert.doesNotMatch(html, /<style|style=|\son[a-z]+=|<form|https?:/);
  const scripts = [...html.matchAll(/<script([^>]*)>/g)];
  assert.equal(scripts.length, 1);
  for (const [, attributes] of scripts) assert.match(attributes, /type="module" src=.* integrity=/);
});

const BROWSERS = ["DOMParser", "createImageBitmap", "matchMedia", "requestAnimationFrame"];

test("a module calls nothing that it neither has nor imports", () => {
  const words = /^(async|await|catch|constructor|for|function|http|if|import|in|is|me|new|of|return|super|switch|typeof|while)$/;
  const strange = readdirSync(STATIC, { recursive: true })
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => {
      const text = code(name).replace(/"(?:[^"\\\n]|\\.)*"/g, '""').replace(/`[^`]*`/g, (one) => one.replace(/[a-z]+:\/\//g, ""));
      const called = [...text.matchAll(/(?<![.\w$#])([A-Za-z_$][\w$]*)\(/g)].map(([, one]) => one);
      return [...new Set(called)]
        .filter((one) => !words.test(one) && !(one in globalThis) && !BROWSERS.includes(one))
        .filter((one) => !new RegExp(`(?<![.\\w$])${one}(?![\\w$(])|function\\*? ${one}\\(|^\\s+(static |async |get |set |\\*)*${one}\\([^;]*\\) \\{$`, "m").test(text))
        .map((one) => `${name}: ${one}`);
    });
  assert.deepEqual(strange, []);
});
