import assert from "node:assert/strict";
import { test } from "node:test";

import {
  keepPercent,
  maskAnswers,
  maskResponse,
  move,
} from "../../src/masquerade/server/web/static/mechanisms/mask.js";
import { FixedWords } from "./fixed_words.mjs";

const device = (symbols, first, last, total) => ({
  name: first === last ? "randomized-response" : "two-layer",
  symbols,
  first: String(first),
  last: String(last),
  total: String(total),
});

test("over all draws, each other symbol is reported `other` times and the answer the rest", () => {
  for (const symbols of [2, 3, 5]) {
    for (const other of [0, 1, 4]) {
      const total = 4 * symbols + 3;
      for (let answer = 0; answer < symbols; answer++) {
        const counts = new Array(symbols).fill(0);
        for (let drawn = 0; drawn < total; drawn++) {
          counts[move(answer, BigInt(other), BigInt(drawn), BigInt(symbols))]++;
        }
        const expected = new Array(symbols).fill(other);
        expected[answer] = total - other * (symbols - 1);
        assert.deepEqual(counts, expected);
      }
    }
  }
});

test("the private number is drawn once for all answers masked together", () => {
  const form = device(2, 0, 9, 10);
  // The private number is 4: draws below 4 flip, from 4 up they keep.
  const source = new FixedWords([4, 3, 4, 0, 9]);
  assert.deepEqual(maskAnswers(form, [0, 0, 1, 1], source), [1, 0, 0, 1]);
  assert.equal(source.used, 5);
});

test("questions with the same mechanism text share one private number, in question order", () => {
  const questions = [
    { mechanism: "a", device: device(2, 0, 9, 10) },
    { mechanism: "b", device: device(3, 1, 1, 10) },
    { mechanism: "a", device: device(2, 0, 9, 10) },
  ];
  // a's number, a's two answers, then b's answer, which has no number to draw.
  const source = new FixedWords([4, 3, 9, 1]);
  assert.deepEqual(maskResponse(questions, [0, 0, 1], source), [1, 2, 1]);
  assert.equal(source.used, 4);
});

test("no error carries an answer", () => {
  for (const answer of [77, -77, 77.5, "77", undefined]) {
    assert.throws(
      () => maskAnswers(device(2, 1, 1, 10), [answer], new FixedWords([1])),
      (error) => error instanceof RangeError && !/77|undefined/.test(error.message),
    );
  }
});

test("numbers that are no mechanism are refused before anything is drawn", () => {
  const impossible = [
    device(1, 0, 0, 10),
    device(2, 3, 2, 10),
    device(2, -1, 2, 10),
    device(3, 0, 6, 10),
    device(2, 0, 0, 0),
  ];
  for (const form of impossible) {
    const source = new FixedWords([1, 1]);
    assert.throws(() => maskAnswers(form, [0], source), RangeError);
    assert.equal(source.used, 0);
  }
  const known = { name: "randomized-response", symbols: 2 };
  assert.throws(() => maskAnswers(known, [0], new FixedWords([1])));
});

test("the share of answers kept is that of the mean private number", () => {
  assert.equal(keepPercent(device(2, 25, 25, 100)), 75);
  assert.equal(keepPercent(device(5, 0, 10, 100)), 80);
});
