import assert from "node:assert/strict";
import { test } from "node:test";

import {
  SystemCoins,
  randomName,
  uniformBelow,
} from "../../src/masquerade/server/web/static/mechanisms/coins.js";
import { FixedWords } from "./fixed_words.mjs";

test("every bit of a word is a fair coin (20,000 words, false alarm below 1e-6)", () => {
  const coins = new SystemCoins();
  const draws = 20000;
  const ones = new Array(64).fill(0);
  for (let draw = 0; draw < draws; draw++) {
    const word = coins.nextWord();
    for (let bit = 0; bit < 64; bit++) ones[bit] += Number((word >> BigInt(bit)) & 1n);
  }
  // 64 two-sided tests at 1e-8 each: 5.73 standard errors.
  for (const count of ones) assert.ok(Math.abs(count - draws / 2) < 5.8 * Math.sqrt(draws / 4));
});

test("small integers are uniform (30,000 draws a bound, false alarm below 1e-6)", () => {
  const draws = 30000;
  // Quantiles of chi-square at 1 - 1e-7 for 2, 4 and 6 degrees of freedom, rounded up.
  for (const [bound, most] of [[3, 32.3], [5, 38.3], [7, 43.4]]) {
    const counts = new Array(bound).fill(0);
    const coins = new SystemCoins();
    for (let draw = 0; draw < draws; draw++) counts[Number(uniformBelow(coins, BigInt(bound)))]++;
    const mean = draws / bound;
    const statistic = counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
    assert.ok(statistic < most, `bound ${bound}: chi-square ${statistic}`);
  }
});

test("a word at or above the largest multiple is rejected, and the next one is taken", () => {
  const bound = 3n; // 2^64 = 3 * 6148914691236517205 + 1, so exactly one word is rejected
  const source = new FixedWords([(1n << 64n) - 1n, (1n << 64n) - 2n]);
  assert.equal(uniformBelow(source, bound), 2n);
  assert.equal(source.used, 2);
});

test("bounds of 1 and 2^64 take any word", () => {
  const top = (1n << 64n) - 1n;
  assert.equal(uniformBelow(new FixedWords([top]), 1n), 0n);
  assert.equal(uniformBelow(new FixedWords([top]), 1n << 64n), top);
});

test("a bound that is no whole number from 1 to 2^64 is refused", () => {
  for (const bound of [0n, -1n, (1n << 64n) + 1n, 5, "5"]) {
    assert.throws(() => uniformBelow(new FixedWords([1]), bound), RangeError);
  }
});

test("names are 128 bits in hexadecimal, and differ", () => {
  const names = new Set(Array.from({ length: 1000 }, randomName));
  assert.equal(names.size, 1000);
  for (const name of names) assert.match(name, /^[0-9a-f]{32}$/);
});
