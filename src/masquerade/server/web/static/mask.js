// The mask: turns answers into reports. The device's half of mechanisms/, equal to it word for word
// (both halves run tests/vectors/mechanisms.json).
//
// Answers and reports are codes: 0 for the first option, 1 for the second, and so on.
// A `device` form comes from `Mechanism.device_form()`:
//   {"symbols": 5, "first": "…", "last": "…", "total": "…"}
// A person draws one whole number `other` from first to last, once for all answers masked together.
// Each other symbol is then reported with probability other / total, the answer itself otherwise.

import { uniformBelow } from "./coins.js";

/**
 * Return the device form in whole numbers, or throw where it cannot be a mechanism.
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
  return Number((BigInt(answer) + shift) % symbols);
}

/**
 * Return a report for each answer of one person.
 *
 * @param {object} device form of the mechanism
 * @param {number[]} answers codes below device.symbols
 * @param {{nextWord(): bigint}} source where randomness comes from
 * @returns {number[]}
 */
export function maskAnswers(device, answers, source) {
  const { first, last, total, symbols } = readDevice(device);
  for (const answer of answers) {
    if (!Number.isInteger(answer) || answer < 0 || answer >= Number(symbols)) {
      // The message must not carry the answer: messages end up in logs.
      throw new RangeError("an answer is not one of the mechanism's symbols.");
    }
  }
  const other = first === last ? first : first + uniformBelow(source, last - first + 1n);
  return answers.map((answer) => move(answer, other, uniformBelow(source, total), symbols));
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

/** Return how many of 100 answers are reported as they are, to show to people. */
export function keepPercent(device) {
  const { first, last, total, symbols } = readDevice(device);
  const flipTwice = (symbols - 1n) * (first + last);
  return Number(((2n * total - flipTwice) * 1000000n) / (2n * total)) / 10000;
}

/**
 * Throw unless a question's numbers agree: as many symbols as there are answers to choose from, the
 * same numbers wherever the mechanism's name is the same, and the masking that the page promises.
 */
export function checkQuestions(questions) {
  const forms = new Map();
  for (const question of questions) {
    const form = JSON.stringify(Object.values(readDevice(question.device)).map(String));
    const answers = question.labels.length + (question.allow_skip ? 1 : 0);
    const promised = question.keep_percent ?? keepPercent(question.device);
    if (
      question.device.symbols !== answers ||
      (forms.get(question.mechanism) ?? form) !== form ||
      Math.abs(keepPercent(question.device) - promised) > 0.1
    ) {
      throw new RangeError(`question ${question.id}: the mask is not the one that is promised.`);
    }
    forms.set(question.mechanism, form);
  }
}
