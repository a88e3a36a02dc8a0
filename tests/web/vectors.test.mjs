// The shared vectors, which tests/mechanisms/test_vectors.py runs too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { maskAnswers } from "../../src/masquerade/server/web/static/mask.js";
import { GivenWords } from "./given_words.mjs";

const cases = JSON.parse(readFileSync(new URL("../vectors/mechanisms.json", import.meta.url)));

test("there are at least forty shared cases", () => assert.ok(cases.length >= 40));

for (const shared of cases) {
  test(`the device reports as Python does: ${shared.name}`, () => {
    const source = new GivenWords(shared.words);
    assert.deepEqual(maskAnswers(shared.device, shared.answers, source), shared.reports);
    assert.equal(source.used, shared.words_used);
  });
}
