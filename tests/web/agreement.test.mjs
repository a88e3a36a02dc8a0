// What a device checks of two parties' agreement, with a helper's key of its own.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import {
  agreedTask,
  BrokenAgreement,
  checkApproval,
  checkHelper,
  noiseOf,
  sealedReport,
  taskAddress,
} from "../../src/masquerade/server/web/static/app/agreement.js";
import { hex, sha256, text } from "../../src/masquerade/server/web/static/aggregate/hpke.js";
import { fingerprintOf } from "../../src/masquerade/server/web/static/aggregate/signature.js";
import { One, Whole } from "../../src/masquerade/server/web/static/aggregate/survey_circuit.js";
import { taskConfiguration } from "../../src/masquerade/server/web/static/aggregate/task.js";

const HELPER = "https://helper.example";
const SURVEY_HASH = "ab".repeat(32);
const [OPENING, EXPIRES] = [1000, 9000];
const { subtle } = globalThis.crypto;

async function newPublicKey() {
  const pair = await subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
  return new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
}

/** Return what an honest invitation promises; `change` is of what the helper signed. */
async function promised(change = {}) {
  const pair = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  const publicKey = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
  const config = async (id) => hex([id, 0, 16, 0, 1, 0, 1, 0, 65, ...await newPublicKey()]);
  const terms = JSON.stringify({
    collector: await config(3), expires: EXPIRES, helper: await config(2), leader: await config(1),
    noise: ["20/1"], survey: SURVEY_HASH, verification_seed: "00".repeat(32),
  });
  const configuration = taskConfiguration({
    info: text("abc"), leaderUrl: "https://leader.example", helperUrl: HELPER, opening: OPENING,
    duration: EXPIRES - OPENING, minBatchSize: 20, algorithm: 1, circuit: new Uint8Array(4),
    terms: await sha256(text(terms)), ...change,
  });
  const said = new Uint8Array([...text("masquerade helper approves task"), 0, ...configuration]);
  const hashed = { name: "ECDSA", hash: "SHA-256" };
  const signature = new Uint8Array(await subtle.sign(hashed, pair.privateKey, said));
  const approval = {
    task: hex(await sha256(configuration)), configuration: hex(configuration), terms,
    public_key: hex(publicKey), signature: hex(signature),
  };
  const fingerprint = await fingerprintOf(publicKey);
  const parties = { helper: HELPER, operator: "They", fingerprint, minimum: 20, approval };
  return { token: "abc", hash: SURVEY_HASH, parties };
}

test("what the helper signed for this survey holds", async () => {
  await checkApproval(await promised(), OPENING);
});

const LIES = {
  "another key": ["key", ({ parties }) => (parties.fingerprint = "0".repeat(32))],
  "a signature of nobody": ["signature", ({ parties }) => (parties.approval.signature = "01".repeat(64))],
  "a signature that is none": ["terms", ({ parties }) => (parties.approval.signature = "x")],
  "another survey": ["survey", (promise) => (promise.hash = "cd".repeat(32))],
  "another token": ["survey", (promise) => (promise.token = "abd")],
  "another minimum": ["terms", ({ parties }) => (parties.minimum = 2)],
  "another address": ["terms", ({ parties }) => (parties.helper = "https://other.example")],
  "other noise": ["terms", ({ parties: { approval } }) => (approval.terms = approval.terms.replace("20/1", "1/9"))],
  "another task": ["terms", ({ parties }) => (parties.approval.task = "00".repeat(32))],
};
for (const [name, [reason, lie]] of Object.entries(LIES)) {
  test(`${name} is refused`, async () => {
    const promise = await promised();
    lie(promise);
    await assert.rejects(checkApproval(promise, OPENING), { reason });
  });
}

test("terms that are over are refused", async () => {
  await assert.rejects(checkApproval(await promised(), EXPIRES), { reason: "late" });
});

test("a helper that says anything else at its own address is refused", async () => {
  const promise = await promised();
  const { approval, operator, helper: address } = promise.parties;
  const honest = { ...approval, operator, address };
  checkHelper(promise, honest);
  for (const name of ["configuration", "terms", "public_key", "signature", "operator", "address"]) {
    assert.throws(() => checkHelper(promise, { ...honest, [name]: "other" }), { reason: "helper" });
  }
  assert.throws(() => checkHelper(promise, null), { reason: "helper" });
});

test("noise and addresses are Python's", () => {
  const ten = Array.from({ length: 10 }, () => new One(5));
  assert.deepEqual(noiseOf(ten, "0.5"), ten.map(() => "20/1"));
  assert.equal(noiseOf(ten, "1.234567")[0], "10000000/1234567");
  assert.deepEqual(noiseOf([new One(2), new Whole(10)], "0.5"), ["3/1", "300/1"]);
  assert.equal(taskAddress(`${"00".repeat(31)}01`), `${"A".repeat(42)}E`);
});

const SHARED = JSON.parse(await readFile(new URL("../vectors/agreements.json", import.meta.url)));

/** Do what the app does with an invitation, from its checks to the sealed report. */
async function answered({ token, approval, said }) {
  const { two_parties: terms, questions } = JSON.parse(SHARED.text);
  const { helper, operator, fingerprint, minimum, rho } = { ...terms, ...said };
  const parties = { helper, operator, fingerprint, minimum, rho, approval };
  const promise = { token, hash: SHARED.hash, parties };
  await checkApproval(promise, SHARED.now);
  checkHelper(promise, { ...approval, operator: terms.operator, address: terms.helper });
  const [lunch, wait] = questions;
  const asked = [
    { ...lunch, labels: lunch.options },
    { ...wait, labels: [], min: wait.low, max: wait.high },
  ];
  return sealedReport(await agreedTask(promise, asked, SHARED.text), [0, 3], [true, true]);
}

for (const shared of SHARED.cases) {
  test(`as in Python, ${shared.holds ? "answered" : "refused"}: ${shared.name}`, async () => {
    if (shared.holds) assert.ok((await answered(shared)).bytes > 500);
    else await assert.rejects(answered(shared), BrokenAgreement);
  });
}
