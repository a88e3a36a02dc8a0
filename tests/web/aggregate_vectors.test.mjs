// The standard's official test vectors, which tests/aggregate/test_vectors.py runs too.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { FIELD_128 } from "../../src/masquerade/server/web/static/aggregate/field.js";
import { Prio3 } from "../../src/masquerade/server/web/static/aggregate/prio3.js";
import { deriveSeed, expand } from "../../src/masquerade/server/web/static/aggregate/xof.js";
import {
  One,
  Some,
  SurveyCircuit,
} from "../../src/masquerade/server/web/static/aggregate/survey_circuit.js";
import { bytes, hex } from "./aggregate/bytes.mjs";
import { replay } from "./aggregate/official.mjs";

const FOLDER = new URL("../vectors/aggregate/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER)));
const names = readdirSync(FOLDER)
  .filter((name) => name.startsWith("Prio3"))
  .map((name) => name.slice(0, -".json".length));

test("all vectors of the standard are here", () => assert.equal(names.length, 25));

for (const name of names) {
  test(`${name} comes out byte by byte, and a bad one is refused at the step it names`, () => {
    const vector = read(name);
    const wanted = vector.operations.map(({ operation, success }) => [operation, success]);
    assert.deepEqual(replay(name, vector), wanted);
    assert.equal(name.includes("_bad_"), wanted.some(([, success]) => !success));
  });
}

test("the vector of the extendable output function comes out", () => {
  const vector = read("XofTurboShake128");
  const [seed, dst, binder] = [vector.seed, vector.dst, vector.binder].map(bytes);
  assert.equal(hex(deriveSeed(seed, dst, binder)), vector.derived_seed);
  const drawn = expand(FIELD_128, seed, dst, binder, vector.length);
  assert.equal(hex(FIELD_128.encode(drawn)), vector.expanded_vec_field128);
});

const surveys = [
  ["Prio3Histogram_0", 4, ({ length }) => new One(length)],
  ["Prio3Histogram_2", 4, ({ length }) => new One(length)],
  ["Prio3MultihotCountVec_0", 5, ({ length, max_weight: most }) => new Some(length, most)],
  ["Prio3MultihotCountVec_2", 5, ({ length, max_weight: most }) => new Some(length, most)],
];
for (const [name, algorithm, blockOf] of surveys) {
  test(`a survey of one question is split as the standard's circuit: ${name}`, () => {
    const vector = read(name);
    const circuit = new SurveyCircuit([blockOf(vector)], vector.chunk_length);
    const vdaf = new Prio3(algorithm, circuit);
    for (const report of vector.reports) {
      const [context, nonce, rand] = [vector.ctx, report.nonce, report.rand].map(bytes);
      const split = vdaf.shardFrom([report.measurement], context, nonce, rand);
      assert.equal(hex(split.publicShare), report.public_share);
      assert.deepEqual(split.inputShares.map(hex), report.input_shares);
    }
  });
}
