// Whether the masks that came with the questions are those the level promised. What is computed
// here decides whether this device answers at all; it never decides what it reports.

import { answersTo } from "./domain.js";
import { codesOf, readDevice } from "./mask.js";

const SLACK = 1e-4; // amounts are printed rounded; a mask is off by far more, or not at all

/**
 * Throw unless the questions can be masked as the level promises.
 *
 * @param {{rho: number, epsilon_event: number|string}} level as the invitation gave it
 * @param {object[]} questions with their mechanisms' device forms
 */
export function checkPromise(level, questions) {
  checkQuestions(questions);
  const limit = amount(level.rho);
  if (limit === Infinity) return;
  const total = questions.reduce((sum, { device }) => sum + lossOf(device), 0);
  if (!(total <= limit * (1 + SLACK) + SLACK * questions.length)) {
    throw new RangeError("the masks are weaker than the level that was promised.");
  }
}

/**
 * Throw unless a question's numbers agree: as many codes as there are answers to choose from, and
 * the same numbers wherever the mechanism's name is the same.
 */
export function checkQuestions(questions) {
  const forms = new Map();
  for (const question of questions) {
    const { device, mechanism } = question;
    const form = JSON.stringify(Object.entries(device).sort().map(String));
    if (codesOf(device) !== answersTo(question) || (forms.get(mechanism) ?? form) !== form) {
      throw new RangeError(`question ${question.id}: the mask does not fit the question.`);
    }
    forms.set(mechanism, form);
  }
  checkConditions(questions);
}

/** Throw unless whoever is not shown a question can send a masked "no answer" to it. */
function checkConditions(questions) {
  const earlier = new Set();
  for (const { id, show_if: condition, allow_skip: skip } of questions) {
    if (condition && !(skip && earlier.has(condition.question))) {
      throw new RangeError(`question ${id}: nobody could tell when it is shown.`);
    }
    earlier.add(id);
  }
}

/**
 * Return the chance, of 1, that one of `symbols` options is sent as it is at a loss of `rho`: an
 * example of what a level does.
 */
export function keptAt(rho, symbols) {
  let [low, high] = [1 / symbols, 1];
  for (let round = 0; round < 40; round++) {
    const keep = (low + high) / 2;
    if (ofResponse(keep, (1 - keep) / (symbols - 1), symbols) <= rho) low = keep;
    else high = keep;
  }
  return low;
}

/** Return the zero-concentrated loss of one answer, rho; "inf" is how the server writes no limit. */
export function lossOf(device) {
  if (device.name === "discrete-gaussian") {
    const [numerator, denominator] = device.variance.map(Number);
    return ((device.points - 1) ** 2 * denominator) / (2 * numerator);
  }
  if (device.name === "discrete-laplace") {
    const [numerator, denominator] = device.scale.map(Number);
    return ofPure(((device.points - 1) * denominator) / numerator);
  }
  const { first, last, total, symbols } = readDevice(device);
  // Of a mask that each person draws, the mean: what one report shows.
  const other = (Number(first) + Number(last)) / 2 / Number(total);
  const keep = 1 - (Number(symbols) - 1) * other;
  return ofResponse(keep, other, Number(symbols));
}

/** Return a loss as a number. */
export function amount(value) {
  return typeof value === "number" ? value : Infinity;
}

/** Every mechanism of pure loss epsilon has a rho of at most this. */
function ofPure(epsilon) {
  return epsilon * Math.tanh(epsilon / 2);
}

/** Return the largest Renyi divergence of an order over that order, of randomized response. */
function ofResponse(keep, other, symbols) {
  if (other <= 0) return Infinity;
  let most = (keep - other) * Math.log(keep / other);
  for (let exponent = -8; exponent <= 12; exponent += 0.05) {
    const order = 1 + 2 ** exponent;
    const logs = [
      order * Math.log(keep) + (1 - order) * Math.log(other),
      order * Math.log(other) + (1 - order) * Math.log(keep),
      symbols > 2 ? Math.log((symbols - 2) * other) : -Infinity,
    ];
    const top = Math.max(...logs);
    const sum = logs.reduce((all, each) => all + Math.exp(each - top), 0);
    most = Math.max(most, (top + Math.log(sum)) / (order - 1) / order);
  }
  return most;
}
