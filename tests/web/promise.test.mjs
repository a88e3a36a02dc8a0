// A device answers only where the masks are as strong as the level that was chosen.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  checkPromise,
  checkQuestions,
  keptAt,
  lossOf,
} from "../../src/masquerade/server/web/static/promise.js";

/** What Python's levels make of questions: rho, the device's form. */
const HIGH = 1 / 18;
const FIVE = {
  name: "randomized-response", symbols: 5,
  first: "818248792246976669", last: "818248792246976669", total: "4611686018427387900",
};
const NOISE = { name: "discrete-gaussian", points: 101, variance: ["90000", "1"] };

const response = (symbols, other, total) => ({
  name: "randomized-response", symbols, first: String(other), last: String(other),
  total: String(total),
});
const rating = (id, device, mechanism = "m") => ({
  id, kind: "rating", labels: ["1", "2", "3", "4", "5"], allow_skip: false, device, mechanism,
});
const number = (device) => ({
  id: "n", kind: "number", labels: [], min: 0, max: 100, step: 1, unit: "", allow_skip: false,
  device, mechanism: "g",
});

test("the loss of a mask is that of its level", () => {
  assert.ok(Math.abs(lossOf(FIVE) - HIGH) < 1e-6);
  assert.ok(Math.abs(lossOf(NOISE) - HIGH) < 1e-12);
});

test("for two options the loss is epsilon tanh(epsilon / 2), the largest there is", () => {
  for (const [other, total] of [[1, 4], [1, 3], [4, 10], [1, 100]]) {
    const epsilon = Math.log((total - other) / other);
    const bound = epsilon * Math.tanh(epsilon / 2);
    assert.ok(Math.abs(lossOf(response(2, other, total)) - bound) < 1e-9 * bound + 1e-12);
  }
});

test("masks of the promised level are accepted", () => {
  checkPromise({ rho: HIGH }, [rating("q", FIVE)]);
  checkPromise({ rho: 3 * HIGH }, [rating("q", FIVE), rating("r", FIVE), number(NOISE)]);
});

test("masks that are weaker, more of them than were paid for, or none at all are refused", () => {
  const weaker = [
    [rating("q", response(5, 15, 100))],
    [rating("q", FIVE), rating("r", FIVE)],
    [number({ ...NOISE, variance: ["10000", "1"] })],
    [rating("q", response(5, 0, 100))],
  ];
  for (const questions of weaker) {
    assert.throws(() => checkPromise({ rho: HIGH }, questions), /weaker/);
  }
});

test("where a level promises no limit, only the form of the masks is checked", () => {
  checkPromise({ rho: "inf" }, [rating("q", response(5, 0, 1))]);
  assert.throws(() => checkPromise({ rho: "inf" }, [rating("q", response(4, 0, 1))]), RangeError);
});

test("a mask of another size than its question, or two of one name, are refused", () => {
  checkQuestions([rating("q", FIVE), number(NOISE)]);
  const wrong = [
    [{ ...rating("q", FIVE), allow_skip: true }],
    [{ ...rating("q", FIVE), labels: ["1", "2"] }],
    [number({ ...NOISE, points: 100 })],
    [rating("q", FIVE), rating("r", response(5, 1, 100))],
    [rating("q", { ...FIVE, name: "unheard-of" })],
  ];
  for (const questions of wrong) assert.throws(() => checkQuestions(questions), RangeError);
});

test("the example of a level keeps as many answers as the level's own mask", () => {
  const kept = 1 - (4 * 818248792246976669) / 4611686018427387900;
  assert.ok(Math.abs(keptAt(HIGH, 5) - kept) < 1e-5);
});
