// What answers and reports are called, and what a typed number stands for.

import assert from "node:assert/strict";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { answersTo, textOf } from "../../src/masquerade/server/web/static/app/conditions.js";
import { codeOfNumber, numberText, pointsOf } from "../../src/masquerade/server/web/static/app/numbers.js";

const WORDS = { skip: "Prefer not to say" };
const hours = { kind: "number", labels: [], min: 0, max: 14, step: 0.5, unit: "hours", device: {} };
const debt = { ...hours, min: -2, max: 1, step: 0.1, unit: "" };
const scale = {
  kind: "rating", labels: ["1", "2", "3", "4", "5"], min: 1, step: 1, allow_skip: true,
  device: { name: "randomized-response" },
};
const pair = {
  kind: "comparison", labels: ["Tea", "Coffee", "Either"], allow_skip: true,
  device: { name: "randomized-response" },
};

test("a question has as many answers as it offers", () => {
  assert.equal(answersTo(hours), 29);
  assert.equal(answersTo(scale), 6);
  assert.equal(answersTo(pair), 4);
  assert.equal(pointsOf(debt), 31);
});

test("every point of a scale is found again by the text it has", () => {
  for (const question of [hours, debt]) {
    for (let code = 0; code < pointsOf(question); code++) {
      assert.equal(codeOfNumber(question, numberText(question, code)), code);
    }
  }
});

test("numbers are read however people type them", () => {
  for (const text of ["7.5", " 7,5 ", "٧٫٥", "۷.۵", "07.50"]) {
    assert.equal(codeOfNumber(hours, text), 15, text);
  }
  assert.equal(codeOfNumber(debt, "-1.9"), 1);
  assert.equal(codeOfNumber(debt, "−1.9"), 1);
});

test("what is not on the scale is no answer, and is not moved to one that is", () => {
  for (const text of ["", "-", ".", "7.3", "14.5", "-1", "1e1", "0x1", "seven", "1 2", "NaN"]) {
    assert.equal(codeOfNumber(hours, text), null, text);
  }
});

test("reports beyond the scale are shown as they are", () => {
  assert.equal(textOf(hours, -20, WORDS), "−10 hours");
  assert.equal(textOf(hours, 15, WORDS), "7.5 hours");
  const noisy = { ...scale, allow_skip: false, device: { name: "discrete-gaussian", points: 5 } };
  assert.equal(textOf(noisy, 8, WORDS), "9");
  assert.equal(textOf(noisy, -3, WORDS), "−2");
});

test("options are called by their labels, and no answer by our word for it", () => {
  assert.equal(textOf(scale, 3, WORDS), "4");
  assert.equal(textOf(scale, 5, WORDS), "Prefer not to say");
  assert.equal(textOf(pair, 1, WORDS), "Coffee");
  assert.equal(textOf(pair, 2, WORDS), "Either");
  assert.equal(textOf(pair, 3, WORDS), "Prefer not to say");
});
