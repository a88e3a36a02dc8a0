// Every language says everything, and amounts never look better than they are.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import {
  amountText,
  beliefPercent,
  factorText,
} from "../../src/masquerade/server/web/static/words/formats.js";
import { LANGUAGES, preferredLanguage, setLanguage } from "../../src/masquerade/server/web/static/words/language.js";

const APP = new URL("../../src/masquerade/server/web/static/app/", import.meta.url);

/** Return each name with the kind of what it stands for. */
function outline(value, name = "") {
  if (Array.isArray(value)) return [`${name} ×${value.length}`];
  if (typeof value === "function") return [`${name}(${value.length})`];
  if (typeof value !== "object") return [name];
  return Object.entries(value).flatMap(([key, inner]) => outline(inner, `${name}.${key}`));
}

test("all languages have the same names for words of the same kinds", () => {
  const [first, ...others] = LANGUAGES.map((language) => outline(language).sort());
  for (const other of others) assert.deepEqual(other, first);
});

test("no word is empty or left in the other alphabet", () => {
  const sentences = (value) => {
    if (typeof value === "string") return [value];
    if (typeof value === "object") return Object.values(value).flatMap(sentences);
    return [];
  };
  const [english, arabic] = LANGUAGES;
  for (const { code, name, direction, ...rest } of [english, arabic]) {
    for (const sentence of sentences(rest)) {
      assert.notEqual(sentence.trim(), "");
      const wrong = code === "en" ? /[\u0600-\u06ff]/ : /\b(?!SHA|Masquerade)[A-Za-z]{4,}/;
      assert.doesNotMatch(sentence, wrong, `${name} ${direction}`);
    }
  }
});

test("every word that a view asks for is there", () => {
  const names = new Set(outline(LANGUAGES[0]).map((name) => name.split(/[( ]/)[0]));
  const groups = new Set([...names].map((name) => name.split(".")[1]));
  for (const file of readdirSync(APP).filter((name) => /_(view|views|page)\.js$/.test(name))) {
    const text = readFileSync(new URL(file, APP), "utf8");
    for (const [, group, word] of text.matchAll(/words\(\)\.(\w+)\.(\w+)/g)) {
      assert.ok(groups.has(group), `${file}: ${group}`);
      const found = [...names].some((name) => name.startsWith(`.${group}.${word}`));
      assert.ok(found, `${file}: ${group}.${word}`);
    }
  }
});

test("Arabic counts as Arabic does", () => {
  const arabic = setLanguage("ar");
  assert.equal(arabic.home.questions(1), "سؤال واحد");
  assert.equal(arabic.home.questions(2), "سؤالان");
  assert.equal(arabic.home.questions(3), "3 أسئلة");
  assert.equal(arabic.home.questions(11), "11 سؤالاً");
  assert.equal(arabic.home.questions(100), "100 سؤالاً");
  assert.equal(arabic.direction, "rtl");
  setLanguage("en");
});

test("the first language of a person that we speak is chosen", () => {
  assert.equal(preferredLanguage(["fr-FR", "ar-EG", "en"]), "ar");
  assert.equal(preferredLanguage(["en-US", "ar"]), "en");
  assert.equal(preferredLanguage(["fr"]), "en");
  assert.equal(preferredLanguage([]), "en");
});

test("amounts are rounded up, and what has no limit says so", () => {
  assert.equal(amountText(0.4922801, "en"), "0.493");
  assert.equal(amountText(0, "en"), "0");
  assert.equal(amountText("inf", "en"), "∞");
  assert.equal(factorText(1, "en"), "2.8");
  assert.equal(factorText(0, "en"), "1");
  assert.equal(factorText(20, "en"), null);
  assert.equal(factorText("inf", "en"), null);
  assert.equal(beliefPercent(0), 50);
  assert.equal(beliefPercent(1), 74);
  assert.equal(beliefPercent(6.8), 99.9);
  assert.equal(beliefPercent(20), 100);
  assert.equal(beliefPercent("inf"), 100);
});
