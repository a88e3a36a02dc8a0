// Every language says everything, and amounts never look better than they are.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import {
  amountText,
  beliefPercent,
  factorText,
} from "../../src/masquerade/server/web/static/words/formats.js";
import { ENGLISH_PARTIES } from "../../src/masquerade/server/web/static/words/en_parties.js";
import { addEnglish, LANGUAGES as NAMES, loadLanguage, preferredLanguage, setLanguage } from "../../src/masquerade/server/web/static/words/language.js";

const APP = new URL("../../src/masquerade/server/web/static/app/", import.meta.url);
addEnglish({ parties: ENGLISH_PARTIES });
for (const { code } of NAMES) await loadLanguage(code);
const LANGUAGES = NAMES.map(({ code }) => setLanguage(code));
setLanguage("en");

/** Return each name with the kind of what it stands for. */
function outline(value, name = "") {
  if (Array.isArray(value)) return [`${name} ×${value.length}`];
  if (typeof value === "function") return [`${name}(${value.length})`];
  if (typeof value !== "object") return [name];
  return Object.entries(value).flatMap(([key, inner]) => outline(inner, `${name}.${key}`));
}

test("the list of languages says of each what its words say", () => {
  const said = LANGUAGES.map(({ code, name, direction }) => ({ code, name, direction }));
  assert.deepEqual(said, NAMES);
});

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
  const english = LANGUAGES.find(({ code }) => code === "en");
  const arabic = LANGUAGES.find(({ code }) => code === "ar");
  for (const { code, name, direction, ...rest } of [english, arabic]) {
    for (const sentence of sentences(rest)) {
      assert.notEqual(sentence.trim(), "");
      const wrong = code === "en" ? /[\u0600-\u06ff]/ : /\b(?!SHA|Masquerade)[A-Za-z]{4,}/;
      // A name of a program stands as it is typed, isolated from what is read from the right.
      const spoken = sentence.replace(/\u2066[^\u2069]*\u2069/g, "");
      assert.doesNotMatch(spoken, wrong, `${name} ${direction}`);
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
  assert.equal(arabic.home.questions(100), "100 سؤال");
  assert.equal(arabic.direction, "rtl");
  setLanguage("en");
});

test("each language has the same numbers and parameters in a sentence", () => {
  const [english, ...others] = LANGUAGES;
  for (const other of others) {
    for (const name of ["belief", "beliefTogether", "beliefAlone", "price", "beyondRest", "noise"]) {
      const said = other.levels[name](73.5);
      assert.match(said, /73[.,]5/, `${other.code}: ${said}`);
      assert.equal(typeof english.levels[name](73.5), "string");
    }
    assert.match(other.settings.capMeans(1), /2[.,]8/, other.code);
    assert.notEqual(other.welcome.stays, english.welcome.stays, other.code);
  }
});

test("the first language of a person that we speak is chosen", () => {
  assert.equal(preferredLanguage(["it-IT", "ar-EG", "en"]), "ar");
  assert.equal(preferredLanguage(["en-US", "ar"]), "en");
  assert.equal(preferredLanguage(["fr-CA"]), "fr");
  assert.equal(preferredLanguage(["it"]), "en");
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

test("each sentence on a belief says at least what the loss allows, alike in every language", () => {
  const digits = (text) => [...text.replace(/1 \S+ 1,000,000/g, "").matchAll(/\d[\d,.]*/g)]
    .map(([one]) => Number(one.replaceAll(",", "").replace(/\.$/, "")));
  for (let tail = 0; tail < 15; tail += 0.0137) {
    const exact = 100 / (1 + Math.exp(-tail));
    const percent = beliefPercent(tail);
    assert.ok(percent >= exact - 1e-9 && percent < exact + 1, `${tail}: ${percent}`);
    for (const code of ["en", "ar"]) {
      const { levels, parties, settings } = setLanguage(code);
      for (const say of [levels.belief, levels.beliefTogether, levels.beliefAlone, parties.belief]) {
        const numbers = digits(say(percent)).filter((one) => one !== 50);
        assert.deepEqual(numbers, percent === 50 ? [] : [percent], say(percent));
      }
      for (const say of [levels.together, settings.capMeans]) {
        const [factor, ...more] = digits(say(tail));
        if (Math.exp(tail) > 1e6) assert.equal(factor, undefined, say(tail));
        else assert.ok(factor >= Math.exp(tail) * (1 - 1e-9) && factor <= Math.exp(tail) + 1, say(tail));
        assert.deepEqual(more, []);
      }
    }
  }
  setLanguage("en");
});

test("a chance of more is a sentence of its own, and delta is nowhere called one", () => {
  for (const code of ["en", "ar"]) {
    const said = setLanguage(code);
    for (const sentence of [said.levels.rarely, said.settings.capMeans(1)]) {
      assert.match(sentence, /1[^\d]+1,000,000/);
    }
    const [, , , delta] = said.method.explainText;
    assert.match(delta, code === "en" ? /not the chance that somebody learns more/ : /وليست احتمال/);
  }
  setLanguage("en");
});

test("what is written from left to right stands apart in a language from right to left", () => {
  const { method, levels } = setLanguage("ar");
  const sentence = method.statement("1.5", "0.000001", "2");
  assert.match(sentence, /\u2066ε = 1\.5\u2069/);
  assert.match(sentence, /\u2066δ = 0\.000001\u2069/);
  for (const say of [levels.belief, levels.beliefTogether, levels.beliefAlone]) {
    assert.match(say(81.5), /81\.5\s?[%٪]/);
  }
  setLanguage("en");
});

test("what was spent is said to be of surveys that were fixed beforehand", () => {
  const [english, arabic] = ["en", "ar"].map((code) => LANGUAGES.find((one) => one.code === code)).map(({ method }) => method.statement("5", "0.000001", 0));
  assert.match(english, /as if all surveys had been fixed beforehand/);
  assert.match(arabic, /محددة مسبقاً/);
});
