// Two-party reports as Python makes them, of tests/vectors/two-parties.json, and what is refused.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { Encoding } from "../../src/masquerade/server/web/static/app/split_encoding.js";
import {
  One,
  Some,
  Vector,
  Whole,
  prio3Survey,
} from "../../src/masquerade/server/web/static/aggregate/survey_circuit.js";
import { Task } from "../../src/masquerade/server/web/static/aggregate/task.js";
import { TurboShake128 } from "../../src/masquerade/server/web/static/aggregate/turboshake.js";
import { visibility } from "../../src/masquerade/server/web/static/app/conditions.js";
import { bytes, hex } from "./aggregate/bytes.mjs";
import { blocksOf, termsOf } from "./aggregate/device.mjs";

const cases = JSON.parse(
  readFileSync(new URL("../vectors/two-parties.json", import.meta.url), "utf8"),
);
const sha256 = (data) => createHash("sha256").update(data).digest("hex");

test("the stream of RFC 9861 comes out", () => {
  const stream = new TurboShake128(new Uint8Array(0), 0x1f);
  assert.equal(
    hex(stream.read(32)), "1e415f1c5983aff2169217277d17bb538cd945a397ddec541f1ce41af2c1b74c",
  );
});

for (const { domain, message, stream } of cases.streams) {
  test(`a stream of ${message.length / 2} bytes in domain ${domain} is Python's`, () => {
    assert.equal(hex(new TurboShake128(bytes(message), domain).read(400)), stream);
    const inParts = new TurboShake128(bytes(message), domain);
    const read = [1, 166, 1, 170, 62].map((length) => hex(inParts.read(length)));
    assert.equal(read.join(""), stream);
  });
}

/** Check task and split report of a case against what Python made. */
async function requireSame(shared, blocks) {
  const vdaf = prio3Survey(blocks);
  assert.equal(hex(vdaf.circuit.configuration()), shared.configuration);
  const task = await Task.of(vdaf, termsOf(shared));
  assert.equal(hex(task.id), shared.task);
  assert.equal(task.time, shared.time);
  const [nonce, rand] = [bytes(shared.nonce), bytes(shared.rand)];
  const split = vdaf.shardFrom(shared.measurement, task.context, nonce, rand);
  const shares = [split.publicShare, ...split.inputShares];
  assert.deepEqual(shares.map((share) => [share.length, sha256(share)]), shared.shares);
}

for (const [place, shared] of cases.surveys.entries()) {
  test(`answers are encoded and split as Python does: survey ${place}`, async () => {
    const { questions, codes } = shared;
    const encoding = new Encoding(questions, shared.choices);
    const given = Object.fromEntries(questions.map(({ id }, each) => [id, codes[each] ?? undefined]));
    const measurement = encoding.measurement(codes, visibility(questions, given));
    assert.deepEqual(measurement, shared.measurement);
    await requireSame(shared, encoding.blocks);
  });
}

for (const [place, shared] of cases.circuits.entries()) {
  test(`blocks are encoded and split as Python does: circuit ${place}`, async () => {
    const blocks = blocksOf(shared);
    const encoded = prio3Survey(blocks).circuit.encode(shared.measurement);
    assert.equal(encoded.join(""), shared.encoded);
    await requireSame(shared, blocks);
  });
}

const [whole, several, vector] = [new Whole(5), new Some(3, 2), new Vector(2, 3)];
const hostile = [
  [new One(3), [3, -1, 0.5, "0", "__proto__", null, undefined, NaN, Infinity, 1n, true, [0]]],
  [whole, [6, -1, 2.5, "2", null, 2 ** 53, 2n]],
  [several, [[true, true, true], [true, false], [1, 0, 0], ["", "", ""], {}, null, "abc"]],
  [new Some(3), [[true, true], [true, true, true, true], [true, true, 2]]],
  [vector, [[3, 1], [4, 0], [0], [0, 0, 0], [0.5, 0], ["1", 0], null]],
];
for (const [block, answers] of hostile) {
  for (const answer of answers) {
    test(`a ${block.constructor.name} refuses ${String(answer)}`, () => {
      assert.throws(() => prio3Survey([block]).shard([answer], new Uint8Array(0)), RangeError);
    });
  }
}

test("a block, a chunk or a survey that cannot be is refused", () => {
  for (const make of [
    () => new One(0), () => new One(1.5), () => new One("3"), () => new Some(2, 3),
    () => new Some(2, 0.5), () => new Whole(0), () => new Vector(0, 3), () => prio3Survey([]),
    () => prio3Survey([new One(3), new One(3)]).shard([1], new Uint8Array(0)),
  ]) {
    assert.throws(make, RangeError);
  }
});

test("an answer that does not fit its question is refused, and no other is put in its place", () => {
  const mood = { id: "mood", kind: "choice", labels: ["a", "b"], allow_skip: false };
  const why = { ...mood, id: "why", allow_skip: true, show_if: { question: "mood", answers: ["a"] } };
  const age = { id: "age", kind: "number", min: 0, max: 9, step: 1 };
  const encoding = new Encoding([mood, why, age]);
  assert.deepEqual(encoding.measurement([0, 2, 9], [true, true, true]), [0, 2, 9]);
  assert.deepEqual(encoding.measurement([1, null, 0], [true, false, true]), [1, 3, 0]);
  for (const [codes, asked] of [
    [[2, 2, 9], [true, true, true]], // a skip that is not offered
    [[0, 3, 9], [true, true, true]], // "not asked" by hand
    [[0, null, 9], [true, true, true]], // asked and left out
    [[1, 0, 9], [true, false, true]], // not asked and answered
    [[null, null, 9], [false, false, true]], // asked of all and not asked
    [[0, 2, 10], [true, true, true]],
    [[0, 2, 1.5], [true, true, true]],
    [[0, 2], [true, true]],
  ]) {
    assert.throws(() => encoding.measurement(codes, asked), RangeError, String(codes));
  }
});

test("a set of options that the question does not allow is refused", () => {
  const pets = { id: "pets", kind: "several", labels: ["a", "b", "c"], most: 2, allow_skip: true };
  const encoding = new Encoding([pets]);
  assert.deepEqual(encoding.measurement([5], [true]), [[true, false, true], 0]);
  assert.deepEqual(encoding.measurement([8], [true]), [[false, false, false], 1]);
  for (const code of [7, 9, 16, -1, 0.5, null]) {
    assert.throws(() => encoding.measurement([code], [true]), RangeError, String(code));
  }
  assert.throws(() => encoding.measurement([null], [false]), RangeError);
});

test("an encoding that Python refuses is refused here", () => {
  const ask = (id, count) => ({ id, kind: "choice", labels: new Array(count).fill("x") });
  const number = { id: "n", kind: "number", min: 0, max: 9, step: 1 };
  for (const [questions, choices] of [
    [[], {}],
    [[ask("a", 2), ask("a", 2)], {}],
    [[ask("a", 2)], { bins: 1 }],
    [[ask("a", 2)], { bins: 65 }],
    [[ask("a", 2)], { sums: ["a"] }],
    [[ask("a", 2)], { sums: ["b"] }],
    [[ask("a", 2)], { cross: [["a", "a"]] }],
    [[ask("a", 2)], { cross: [["a", "b"]] }],
    [[ask("a", 16), ask("b", 17)], { cross: [["a", "b"]] }],
    [[ask("a", 2), number], { cross: [["a", "n"]], sums: ["n"] }],
    [[ask("a", 2), { ...ask("s", 2), kind: "several" }], { cross: [["a", "s"]] }],
  ]) {
    assert.throws(() => new Encoding(questions, choices), RangeError, JSON.stringify(choices));
  }
});

test("terms that do not fit a task are refused", async () => {
  const [shared] = cases.circuits;
  const vdaf = prio3Survey(blocksOf(shared));
  for (const change of [
    { info: new Uint8Array(0) }, { info: new Uint8Array(256) }, { info: "text" },
    { leaderUrl: "" }, { helperUrl: "https://bücher.example/" }, { duration: 0 },
    { duration: -1 }, { opening: 0.5 }, { minBatchSize: -1 }, { terms: new Uint8Array(31) },
  ]) {
    await assert.rejects(Task.of(vdaf, { ...termsOf(shared), ...change }), RangeError);
  }
});

test("two reports of one answer have no bytes in common but those of the task", () => {
  const vdaf = prio3Survey([new One(3)]);
  const [first, second] = [0, 1].map(() => vdaf.shard([1], new Uint8Array(0)));
  assert.notDeepEqual(first.nonce, second.nonce);
  assert.notDeepEqual(first.publicShare, second.publicShare);
  assert.notDeepEqual(first.inputShares, second.inputShares);
});

test("without the system's randomness nothing is split", (context) => {
  context.mock.getter(globalThis, "crypto", () => undefined);
  assert.throws(() => prio3Survey([new One(3)]).shard([1], new Uint8Array(0)), /no secure randomness/);
});

test("given randomness of another length is refused", () => {
  const vdaf = prio3Survey([new One(3)]);
  for (const [nonce, rand] of [[15, 128], [16, 127], [16, 160]]) {
    const given = [new Uint8Array(nonce), new Uint8Array(rand)];
    assert.throws(() => vdaf.shardFrom([1], new Uint8Array(0), ...given), RangeError);
  }
});
