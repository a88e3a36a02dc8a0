// Preferences: the shared vectors, which tests/preference/test_vectors.py runs too, and what the
// module may not do.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { SystemCoins } from "../../src/masquerade/server/web/static/mechanisms/coins.js";
import {
  direction,
  orientation,
  reportPreference,
} from "../../src/masquerade/server/web/static/mechanisms/preference.js";
import { FixedWords } from "./fixed_words.mjs";

const MODULE = new URL("../../src/masquerade/server/web/static/mechanisms/preference.js", import.meta.url);
const VECTORS = new URL("../vectors/preference.json", import.meta.url);
const cases = JSON.parse(readFileSync(VECTORS));
const named = (name) => cases.find((shared) => shared.mechanism === name).device;

for (const shared of cases) {
  test(`the device reports as Python does: ${shared.name}`, () => {
    const source = new FixedWords(shared.words);
    const report = reportPreference(shared.device, shared.records, source);
    assert.deepEqual(report.map(Number), shared.report);
    assert.equal(source.used, shared.words.length);
  });
}

test("whole numbers as BigInts give the same report", () => {
  const shared = cases.find(({ name }) => name.includes("large numbers"));
  const records = shared.records.map((record) => record.map(BigInt));
  const report = reportPreference(shared.device, records, new FixedWords(shared.words));
  assert.deepEqual(report.map(Number), shared.report);
});

test("a direction is never longer than its length, and opposite for the opposite record", () => {
  let state = 7n;
  const draw = () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return (state >> 40n) - (1n << 23n);
  };
  for (let i = 0; i < 2000; i++) {
    const record = [draw(), draw() >> 7n, draw() >> 15n];
    const found = direction(record);
    assert.ok(found.reduce((sum, number) => sum + number * number, 0n) <= 1n << 24n);
    const opposite = record.map((number) => -number);
    assert.deepEqual(direction(opposite), found.map((number) => -number));
    if (orientation(record) === orientation(opposite)) assert.ok(record.every((n) => n === 0n));
  }
});

test("randomness of the system gives choices and directions of the right kind", () => {
  const source = new SystemCoins();
  const records = [[1, 2, 0], [0, -3, 1], [0, 0, 0]];
  const choices = reportPreference(named("choice-response"), records, source);
  assert.equal(choices.length, 3);
  for (const choice of choices) assert.ok(choice === 1n || choice === -1n);
  const device = { ...named("direction-selection"), features: 3, candidates: 1024, best: 362 };
  const point = reportPreference(device, records, source);
  assert.equal(point.length, 3);
  for (const number of point) assert.ok(number >= -32n && number <= 32n);
});

// A choice kept with probability 0.731 in 20,000 draws: further than 5.2 standard deviations from
// that happens once in 5e6 runs.
test("a choice is kept as often as the mechanism says", () => {
  const { device } = cases.find(({ name }) => name === "choice-response 1 3 features");
  const records = Array.from({ length: 20000 }, () => [1, 0, 0]);
  const report = reportPreference(device, records, new SystemCoins());
  const kept = report.filter((choice) => choice === 1n).length / 20000;
  const wanted = 1 - Number(device.first) / Number(device.total);
  assert.ok(Math.abs(kept - wanted) < 5.2 * Math.sqrt((wanted * (1 - wanted)) / 20000), `${kept}`);
});

test("what is drawn does not depend on the records", () => {
  for (const name of ["choice-response", "direction-selection"]) {
    const shared = cases.findLast((each) => each.mechanism === name && each.records.length > 2);
    const taken = [1, -1, 0].map((sign) => {
      const source = new FixedWords(shared.words);
      reportPreference(shared.device, shared.records.map((r) => r.map((x) => sign * x)), source);
      return source.used;
    });
    assert.deepEqual(new Set(taken), new Set([shared.words.length]));
  }
});

test("forms that are no mechanism, and records that are no numbers, are refused unseen", () => {
  const selection = named("direction-selection");
  const choice = named("choice-response");
  const wrong = [
    { ...choice, name: "none" }, { ...choice, symbols: 3 }, { ...choice, last: "5" },
    { ...selection, best: 0 }, { ...selection, best: selection.candidates },
    { ...selection, numerator: "99999999999999999999" }, { ...selection, candidates: 1.5 },
    { ...selection, candidates: 1 << 20 }, { ...selection, features: 0 },
    { ...selection, features: -1 }, { ...selection, total: "-4" },
  ];
  for (const device of wrong) {
    const source = new FixedWords([]);
    assert.throws(() => reportPreference(device, [[1]], source), RangeError);
  }
  for (const records of [[[0.5]], [["7"]], [[NaN]], [[null]]]) {
    const source = new FixedWords([]);
    assert.throws(
      () => reportPreference(choice, records, source),
      (error) => error instanceof RangeError && !/0\.5|7|NaN|null/.test(error.message),
    );
  }
  const source = new FixedWords([]);
  assert.throws(() => reportPreference(selection, [[1, 2, 3]], source), RangeError);
});

test("the module has no floating-point number and no way out", () => {
  const code = readFileSync(MODULE, "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "")
    .replace(/"[^"\n]*"|`[^`]*`/g, '""');
  assert.doesNotMatch(code, /\d\.\d|\de-?\d|Math\.|parseFloat|parseInt|\bNumber\(/);
  assert.doesNotMatch(code, /fetch|XMLHttp|sendBeacon|console|document|window|localStorage/);
  for (const [, literal] of code.matchAll(/[/%]\s*(\d\w*)/g)) assert.match(literal, /n$/);
});
