// Which questions are shown, and what those that are not are answered with.

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkQuestions } from "../../src/masquerade/server/web/static/promise.js";
import {
  codesShown,
  nextShown,
  shownOf,
} from "../../src/masquerade/server/web/static/shown.js";

const when = (question, ...answers) => ({ question, answers });
const QUESTIONS = [
  { id: "a", labels: ["Yes", "No"], allow_skip: true, show_if: null },
  { id: "b", labels: ["x", "y", "z"], allow_skip: true, show_if: when("a", "Yes") },
  { id: "c", labels: ["1", "2"], allow_skip: true, show_if: when("b", "y", "z") },
  { id: "d", labels: ["p", "q"], allow_skip: false },
];

test("a question is shown after one of its answers, to whoever was shown that question", () => {
  assert.deepEqual(shownOf(QUESTIONS, {}), [true, false, false, true]);
  assert.deepEqual(shownOf(QUESTIONS, { a: 0, b: 2 }), [true, true, true, true]);
  assert.deepEqual(shownOf(QUESTIONS, { a: 0, b: 0 }), [true, true, false, true]);
  // Answers given before the first one was changed decide nothing.
  assert.deepEqual(shownOf(QUESTIONS, { a: 1, b: 2, c: 0 }), [true, false, false, true]);
  assert.deepEqual(shownOf(QUESTIONS, { a: 2, b: 2 }), [true, false, false, true]);
});

test("what is not shown is answered with no answer, whatever was typed before", () => {
  assert.deepEqual(codesShown(QUESTIONS, { a: 1, b: 2, c: 0, d: 1 }), [1, 3, 2, 1]);
  assert.deepEqual(codesShown(QUESTIONS, { a: 0, b: 1, c: 0, d: 1 }), [0, 1, 0, 1]);
});

test("going on and back skips what is not shown", () => {
  assert.equal(nextShown(QUESTIONS, { a: 1 }, 0, 1), 3);
  assert.equal(nextShown(QUESTIONS, { a: 1 }, 3, -1), 0);
  assert.equal(nextShown(QUESTIONS, { a: 0 }, 0, 1), 1);
  assert.equal(nextShown(QUESTIONS, { a: 1 }, 3, 1), 4);
  assert.equal(nextShown(QUESTIONS, { a: 1 }, 4, -1), 3);
  assert.equal(nextShown(QUESTIONS, {}, 0, -1), -1);
});

test("a condition without a masked no answer, or on a later question, is refused", () => {
  const device = { name: "randomized-response", first: "1", last: "1", total: "6" };
  const asked = QUESTIONS.map((question) => {
    const symbols = question.labels.length + (question.allow_skip ? 1 : 0);
    const form = { ...device, symbols };
    return { kind: "choice", ...question, device: form, mechanism: String(symbols) };
  });
  checkQuestions(asked);
  const bare = { ...asked[3], show_if: when("a", "Yes") };
  assert.throws(() => checkQuestions([...asked.slice(0, 3), bare]), /question d/);
  const late = { ...asked[0], show_if: when("d", "p") };
  assert.throws(() => checkQuestions([late, ...asked.slice(1)]), /question a/);
});
