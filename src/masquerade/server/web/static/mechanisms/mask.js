// The mask: turns answers into reports. The device's half of mechanisms/, equal to it word for word
// (both halves run tests/vectors/mechanisms.json and lattice.json).
//
// Answers are codes: 0 for the first option or point, 1 for the second, and so on; "no answer",
// where it is masked, is the code after the last. Of a question with several answers, a code is a
// row of bits: bit i, of value 2^i, stands for option i, and the bit after the last for "no answer".
// A `device` form comes from
// `Mechanism.device_form()`; its name says how to read it. A response has
//   {"symbols": 5, "first": "…", "last": "…", "total": "…"}
// A person draws one whole number `other` from first to last, once for all answers masked together.
// Each other symbol is then reported with probability other / total, the answer itself otherwise.

import { uniformBelow } from "./coins.js";
import { readOrders, readSubsets } from "./sets.js";
import { readDiscreteGaussian, readDiscreteLaplace, readRounding } from "./lattice.js";

const MOST_BITS = 52; // numbers are whole up to 2^53

/** How to read each mechanism; `codes` is the number of different answers. */
const MECHANISMS = new Map([
  ["randomized-response", readResponse],
  ["two-layer", readResponse],
  ["quantised-response", readQuantisedResponse],
  ["bitwise-response", readBitwiseResponse],
  ["subset-selection", readSubsets],
  ["masked-order", (device) => readOrders(device, move)],
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

/**
 * Return in how many bits two answers to a question with several answers can differ: two sets of at
 * most m of k options in min(k, 2m), a set and "no answer" in m + 1.
 */
export function changedBits({ options, most, null: masked }) {
  const between = 2 * most < options ? 2 * most : options; // two sets
  return masked && most >= between ? most + 1 : between;
}

/** Each bit is flipped by itself, with probability other / total. */
function readBitwiseResponse(device) {
  const [other, total] = [BigInt(device.other), BigInt(device.total)];
  const { options, most, null: masked } = device;
  const bits = options + (masked ? 1 : 0);
  const whole = [options, most].every(Number.isInteger) && typeof masked === "boolean";
  const fits = options >= 2 && bits <= MOST_BITS && most >= 1 && most <= options;
  if (!whole || !fits || other < 0n || total < 1n || 2n * other > total) {
    throw new RangeError("this is not a mechanism: its numbers do not fit together.");
  }
  const skip = 1n << BigInt(options);
  const countOf = (row) => row.toString(2).replaceAll("0", "").length;
  return {
    codes: 1n << BigInt(bits),
    // A larger set would lose more than was promised.
    allows: (row) => row === skip || (row < skip && countOf(row) <= most),
    start: (source) => (row) => {
      let report = 0n;
      for (let bit = 0n; bit < BigInt(bits); bit++) {
        report |= move((row >> bit) & 1n, other, uniformBelow(source, total), 2n) << bit;
      }
      return report;
    },
  };
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
  const { codes, allows = () => true, start } = readMechanism(device);
  for (const answer of answers) {
    const whole = Number.isInteger(answer) && answer >= 0 && answer < codes;
    if (!whole || !allows(BigInt(answer))) {
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

/** Return how many of 100 people send an option as they ticked it, or did not. */
export function keepPercentOfBits({ other, total }) {
  return Number(((BigInt(total) - BigInt(other)) * 1000000n) / BigInt(total)) / 10000;
}

/** Return how many different codes a mechanism masks. */
export function codesOf(device) {
  return Number(readMechanism(device).codes);
}
