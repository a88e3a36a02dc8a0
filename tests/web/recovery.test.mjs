// The recovery words: the same vectors as tests/client/test_recovery.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { secretAt, secretOf, wordsOf } from "../../src/masquerade/server/web/static/app/recovery.js";

const vectors = JSON.parse(
  readFileSync(new URL("../vectors/recovery.json", import.meta.url), "utf8"),
);

test("a secret has its nine words, and they lead back to it", () => {
  for (const { secret, words } of vectors.words) {
    assert.deepEqual(wordsOf(secret), words);
    assert.deepEqual(secretOf(words.join(" ")), { secret });
  }
});

test("capitals and what stands between the words do not matter", () => {
  for (const { text, secret } of vectors.read) assert.deepEqual(secretOf(text), { secret });
});

test("a slip is found, and its kind is said", () => {
  for (const { text, fault } of vectors.refused) assert.equal(secretOf(text).fault, fault, text);
});

test("what is no secret has no words", () => {
  for (const text of ["", "0".repeat(31), "0".repeat(33), "G".repeat(32), "A".repeat(32)]) {
    assert.throws(() => wordsOf(text), RangeError);
  }
});

test("a server sees what is made for its address", () => {
  for (const { secret, origin, sent } of vectors.sent) assert.equal(secretAt(secret, origin), sent);
});
