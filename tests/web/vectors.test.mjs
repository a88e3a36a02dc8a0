// The shared vectors, which tests/mechanisms/test_vectors.py and test_noise_vectors.py run too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { maskAnswers } from "../../src/masquerade/server/web/static/mechanisms/mask.js";
import {
  discreteGaussian,
  discreteLaplace,
} from "../../src/masquerade/server/web/static/mechanisms/noise.js";
import { FixedWords } from "./fixed_words.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url)));

const masked = [...read("mechanisms.json"), ...read("lattice.json"), ...read("sets.json")];
const noises = read("noise.json");
const NOISE = { "discrete-gaussian": discreteGaussian, "discrete-laplace": discreteLaplace };

test("there are at least forty shared cases of each kind", () => {
  for (const name of ["mechanisms.json", "lattice.json", "sets.json", "noise.json"]) {
    assert.ok(read(name).length >= 40, name);
  }
});

for (const shared of masked) {
  test(`the device reports as Python does: ${shared.name}`, () => {
    const source = new FixedWords(shared.words);
    assert.deepEqual(maskAnswers(shared.device, shared.answers, source), shared.reports);
    assert.equal(source.used, shared.words_used);
  });
}

for (const shared of noises) {
  test(`the device draws as Python does: ${shared.name}`, () => {
    const source = new FixedWords(shared.words);
    const fraction = shared.fraction.map(BigInt);
    const draws = shared.draws.map(() => String(NOISE[shared.noise](source, fraction)));
    assert.deepEqual(draws, shared.draws);
    assert.equal(source.used, shared.words.length);
  });
}
