// The mask: turns answers into reports. The device's half of mechanisms/, equal to it word for word
// (both halves run tests/vectors/mechanisms.json and lattice.json).
//
// Answers are codes: 0 for the first option or point, 1 for the second, and so on; "no answer",
// where it is masked, is the code after the last. A `device` form comes from
// `Mechanism.device_form()`; its name says how to read it. A response has
//   {"symbols": 5, "first": "…", "last": "…", "total": "…"}
// A person draws one whole number `other` from first to last, once for all answers masked together.
// Each other symbol is then reported with probability other / total, the answer itself otherwise.

import { uniformBelow } from "./coins.js";
import { readDiscreteGaussian, readDiscreteLaplace, readRounding } from "./lattice.js";

const CHOICES = ["first", "second", "tie"];

/** How to read each mechanism; `codes` is the number of different answers. */
const MECHANISMS = new Map([
  ["randomized-response", readResponse],
  ["two-layer", readResponse],
  ["quantised-response", readQuantisedResponse],
  ["discrete-gaussian", (device) => eachByItself(readDiscreteGaussian(device))],
  ["discrete-laplace", (device) => eachByItself(readDiscreteLaplace(device))],
]);

/**
 * Return a response's device form in whole numbers, or throw where it cannot be a mechanism.
 */
export function readDevice(device) {
  const first = BigInt(device.first);
  const last = BigInt(device.last);
  const total = BigInt(device.total);
  const symbols = BigInt(device.symbols);
  const possible =
    symbols >= 2n && first >= 0n && first <= last && total >= 1n && last * (symbols - 1n) <= total;
  if (!possible) throw new RangeError("this is not a mechanism: its numbers do not fit together.");
  return { first, last, total, symbols };
}

/**
 * Return the report of one answer from an integer `drawn`, uniform below the total.
 *
 * A draw below `other` moves the answer by one symbol, the next `other` draws by two, and so on;
 * every draw from (symbols - 1) * other up keeps it. The same operations run for every answer.
 */
export function move(answer, other, drawn, symbols) {
  const step = drawn / (other > 0n ? other : 1n) + 1n;
  const shift = drawn < other * (symbols - 1n) ? step : 0n;
  return (BigInt(answer) + shift) % symbols;
}

function readResponse(device) {
  const { first, last, total, symbols } = readDevice(device);
  return {
    codes: symbols,
    start(source) {
      const other = first === last ? first : first + uniformBelow(source, last - first + 1n);
      return (answer) => move(answer, other, uniformBelow(source, total), symbols);
    },
  };
}

/** Each answer is rounded to a level, which is then an answer to randomized response. */
function readQuantisedResponse(device) {
  const { codes, symbols, round } = readRounding(device);
  const response = readDevice(device);
  if (response.symbols !== symbols || response.first !== response.last) {
    throw new RangeError("this is not a mechanism: its numbers do not fit together.");
  }
  const mask = (answer, source) => {
    const symbol = round(answer, source);
    return move(symbol, response.first, uniformBelow(source, response.total), symbols);
  };
  return eachByItself({ codes, mask });
}

function eachByItself({ codes, mask }) {
  return { codes, start: (source) => (answer) => mask(answer, source) };
}

function readMechanism(device) {
  const read = MECHANISMS.get(device.name);
  if (!read) throw new RangeError(`${device.name} is not a mechanism that this device knows.`);
  return read(device);
}

/**
 * Return a report for each answer of one person.
 *
 * @param {object} device form of the mechanism
 * @param {number[]} answers codes
 * @param {{nextWord(): bigint}} source where randomness comes from
 * @returns {number[]} codes again, or for noise on a lattice whole numbers of steps from its first
 *   point, negative ones and ones beyond the last point included
 */
export function maskAnswers(device, answers, source) {
  const { codes, start } = readMechanism(device);
  for (const answer of answers) {
    if (!Number.isInteger(answer) || answer < 0 || answer >= codes) {
      // The message must not carry the answer: messages end up in logs.
      throw new RangeError("an answer is not one of those that the mechanism masks.");
    }
  }
  const report = start(source);
  // A report beyond 2^53, of which only the widest noise is capable, is rounded here: after the
  // noise, where it betrays nothing.
  return answers.map((answer) => Number(report(BigInt(answer))));
}

/**
 * Return the report of one comparison: "first", "second", or "tie" where the mechanism has three
 * symbols. It is randomized response.
 */
export function maskChoice(device, choice, source) {
  if (device.name !== "randomized-response" || ![2, 3].includes(device.symbols)) {
    throw new RangeError("this is not a mechanism for comparisons.");
  }
  return CHOICES[maskAnswers(device, [CHOICES.indexOf(choice)], source)[0]];
}

/**
 * Return a report for each question of a survey.
 *
 * Questions with the same mechanism text are masked together, in question order, so that a
 * two-layer mechanism draws the person's private number once for all of them.
 *
 * @param {{mechanism: string, device: object}[]} questions
 * @param {number[]} answers one code per question
 * @param {{nextWord(): bigint}} source
 * @returns {number[]}
 */
export function maskResponse(questions, answers, source) {
  if (answers.length !== questions.length) {
    throw new RangeError(`${answers.length} answers for ${questions.length} questions.`);
  }
  const together = new Map();
  questions.forEach((question, index) => {
    together.set(question.mechanism, [...(together.get(question.mechanism) ?? []), index]);
  });
  const reports = new Array(questions.length);
  for (const indices of together.values()) {
    const { device } = questions[indices[0]];
    const masked = maskAnswers(device, indices.map((index) => answers[index]), source);
    indices.forEach((index, place) => {
      reports[index] = masked[place];
    });
  }
  return reports;
}

/** Return how many of 100 answers a response reports as they are, to show to people. */
export function keepPercent(device) {
  const { first, last, total, symbols } = readDevice(device);
  const flipTwice = (symbols - 1n) * (first + last);
  return Number(((2n * total - flipTwice) * 1000000n) / (2n * total)) / 10000;
}

/** Return how many different answers a mechanism masks. */
export function codesOf(device) {
  return Number(readMechanism(device).codes);
}
