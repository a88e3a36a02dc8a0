// Which questions are shown, and what those that are not are answered with.

import assert from "node:assert/strict";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { readInvitation } from "../../src/masquerade/server/web/static/app/invitation.js";
import { BrokenPromise } from "../../src/masquerade/server/web/static/app/promise.js";
import { sha256OfText } from "../../src/masquerade/server/web/static/app/sha256.js";
import {
  answerCodes,
  nextVisible,
  visibility,
} from "../../src/masquerade/server/web/static/app/conditions.js";
import { promiseOf, questionsOf } from "../../src/masquerade/server/web/static/app/survey_text.js";
import { surveyOf } from "./example_survey.mjs";

const when = (question, ...answers) => ({ question, answers });
const QUESTIONS = [
  { id: "a", kind: "choice", labels: ["Yes", "No"], allow_skip: true, show_if: null },
  { id: "b", kind: "choice", labels: ["x", "y", "z"], allow_skip: true, show_if: when("a", "Yes") },
  { id: "c", kind: "choice", labels: ["1", "2"], allow_skip: true, show_if: when("b", "y", "z") },
  { id: "d", kind: "choice", labels: ["p", "q"], allow_skip: false },
];

test("a question is shown after one of its answers, to whoever was shown that question", () => {
  assert.deepEqual(visibility(QUESTIONS, {}), [true, false, false, true]);
  assert.deepEqual(visibility(QUESTIONS, { a: 0, b: 2 }), [true, true, true, true]);
  assert.deepEqual(visibility(QUESTIONS, { a: 0, b: 0 }), [true, true, false, true]);
  // Answers given before the first one was changed decide nothing.
  assert.deepEqual(visibility(QUESTIONS, { a: 1, b: 2, c: 0 }), [true, false, false, true]);
  assert.deepEqual(visibility(QUESTIONS, { a: 2, b: 2 }), [true, false, false, true]);
});

test("what is not shown is answered with no answer, whatever was typed before", () => {
  assert.deepEqual(answerCodes(QUESTIONS, { a: 1, b: 2, c: 0, d: 1 }), [1, 3, 2, 1]);
  assert.deepEqual(answerCodes(QUESTIONS, { a: 0, b: 1, c: 0, d: 1 }), [0, 1, 0, 1]);
});

test("going on and back skips what is not shown", () => {
  assert.equal(nextVisible(QUESTIONS, { a: 1 }, 0, 1), 3);
  assert.equal(nextVisible(QUESTIONS, { a: 1 }, 3, -1), 0);
  assert.equal(nextVisible(QUESTIONS, { a: 0 }, 0, 1), 1);
  assert.equal(nextVisible(QUESTIONS, { a: 1 }, 3, 1), 4);
  assert.equal(nextVisible(QUESTIONS, { a: 1 }, 4, -1), 3);
  assert.equal(nextVisible(QUESTIONS, {}, 0, -1), -1);
});

test("a condition without a masked no answer, or on a later question, is refused", () => {
  const asked = QUESTIONS.map(({ id, labels, allow_skip: skip, show_if: condition }) => ({
    kind: "choice", id, text: `${id}?`, options: labels, allow_skip: skip,
    ...(condition ? { show_if: condition } : {}),
  }));
  const read = (questions, linked) => {
    const mechanisms = questions.map(({ options, allow_skip: skip }) =>
      `randomized-response:options=${options.length},epsilon=1${skip ? ",null=true" : ""}`);
    const survey = surveyOf({ questions, linked, levels: { high: mechanisms } });
    const promise = promiseOf(readInvitation(survey.invitation("t"), "t"));
    return questionsOf(survey.text, promise, "high");
  };
  const linked = [[0, 1, 2]];
  assert.equal(read(asked, [[0, 1, 2], [1, 2]]).length, 4); // as earlier versions counted
  assert.equal(read(asked, linked).length, 4);
  const bare = { ...asked[3], show_if: when("a", "Yes") };
  assert.throws(() => read([...asked.slice(0, 3), bare], linked), /condition/);
  const late = { ...asked[0], show_if: when("d", "p") };
  assert.throws(() => read([late, ...asked.slice(1)], linked), /condition/);
  assert.throws(() => read(asked, []), /decide over others/);
  assert.throws(() => read(asked, [[0, 1], [1, 2]]), /decide over others/);
});

test("a question that is called like a part of every object has no answer before one is given", () => {
  for (const id of ["constructor", "__proto__", "toString"]) {
    const questions = [
      { id, kind: "choice", labels: ["Yes", "No"], allow_skip: false, show_if: null },
      { id: "b", kind: "choice", labels: ["x", "y"], allow_skip: true, show_if: when(id, "Yes") },
    ];
    assert.deepEqual(answerCodes(questions, {}), [undefined, 2]);
    const answers = { [id]: 1 };
    assert.deepEqual(answerCodes(questions, { ...answers }), [1, 2]);
  }
});

test("two texts that differ in half a surrogate pair cannot stand for each other", () => {
  const questions = [
    { kind: "choice", id: "a", text: "?", options: ["FIRST", "SECOND"], allow_skip: false },
    {
      kind: "choice", id: "b", text: "?", options: ["y", "n"], allow_skip: true,
      show_if: when("a", "FIRST"),
    },
  ];
  const masks = [
    "randomized-response:options=2,epsilon=1",
    "randomized-response:options=2,epsilon=1,null=true",
  ];
  const made = surveyOf({ levels: { high: masks }, questions, linked: [[0, 1]] });
  const raw = (first, second) => made.text.replaceAll("FIRST", first).replaceAll("SECOND", second);
  const texts = [raw("\ud800", "\ud801"), raw("\ud801", "\ud800")];
  const [hash, other] = texts.map(sha256OfText);
  assert.equal(hash, other); // both halves are written as one replacement character
  const promise = { ...promiseOf(readInvitation(made.invitation("t"), "t")), hash };
  for (const text of texts) {
    assert.throws(() => questionsOf(text, promise, "high"), BrokenPromise);
  }
});
