// The survey as it is hashed: a text from which everything is taken that is shown once the
// questions are opened, so that what is shown is what was promised.

import { answersTo } from "./answers.js";
import {
  BrokenPromise,
  isRecord,
  TWO_PARTIES,
  isText,
  requireThat,
  same,
} from "./invitation.js";
import { codesOf } from "../mechanisms/mask.js";
import { deviceOf, latticeOfText } from "../mechanisms/text.js";
import { sha256OfText } from "./sha256.js";

const ABOUT = ["title", "description", "template", "topic", "reveal"];
const USUAL_ESTIMATOR = "eb"; // which is left out
const FIELDS = {
  choice: ["options", "allow_skip"],
  several: ["options", "most", "allow_skip"],
  rating: ["low", "high", "low_label", "high_label", "allow_skip"],
  number: ["low", "high", "step", "unit"],
  comparison: ["item_a", "item_b", "tie", "allow_skip"],
};
const MOST_LABELS = 100;
const MOST_POINTS = 2 ** 32;

/** Return what of an invitation must still be so when the questions are shown. */
export function promiseOf(invitation) {
  const { hash, kinds, questions, linked, estimator, levels, parties } = invitation;
  return {
    ...Object.fromEntries(ABOUT.map((name) => [name, invitation[name]])),
    hash, kinds, questions, linked, estimator,
    levels: Object.fromEntries(levels.map(({ name, mechanisms }) => [name, mechanisms])),
    ...(parties && { parties: { ...parties, rho: levels[0].rho } }),
  };
}

/**
 * Return the questions that a survey's text asks at a level, or throw `BrokenPromise` where it is
 * not the survey that was promised.
 *
 * @param {string} text
 * @param {object} promise of `promiseOf`
 * @param {string} level name of the one that was chosen
 */
export function questionsOf(text, promise, level) {
  // Half a surrogate pair has no UTF-8: texts that differ in one would have the same hash.
  requireThat(isText(text) && !/\p{Surrogate}/u.test(text), "the survey");
  requireThat(sha256OfText(text) === promise?.hash, "the survey");
  let survey;
  try {
    survey = JSON.parse(text);
  } catch {
    throw new BrokenPromise("the survey cannot be read.");
  }
  requireThat(isRecord(survey), "the survey");
  const { questions, levels, estimator = USUAL_ESTIMATOR } = survey;
  const names = [...ABOUT, "questions", "levels", ...(Object.hasOwn(survey, "estimator") ? ["estimator"] : [])];
  if (promise.parties) names.push("trust", "two_parties");
  requireThat(Object.keys(survey).length === names.length, "what a survey holds");
  for (const name of ABOUT) requireThat(survey[name] === promise[name], `the ${name}`);
  requireThat(estimator === promise.estimator, "the estimator");
  requireThat(same(levels, promise.levels) && Object.hasOwn(levels, level), "the levels");
  requireThat(Array.isArray(questions) && questions.length === promise.questions, "the questions");
  if (promise.parties) checkParties(survey, promise.parties);
  const masks = promise.parties ? null : levels[level];
  const read = questions.map((question, place) => readQuestion(question, masks?.[place] ?? null));
  requireThat(new Set(read.map(({ id }) => id)).size === read.length, "a question's id");
  const kinds = {};
  for (const { kind } of read) kinds[kind] = (kinds[kind] ?? 0) + 1;
  requireThat(same(kinds, promise.kinds), "what the questions are");
  checkConditions(read);
  // Where sums have noise, the cost of one answer is that of all.
  const linked = promise.parties ? [] : linkedOf(read);
  requireThat(same(linked, promise.linked), "which questions decide over others");
  return read;
}

/** Throw unless the survey names the two parties and the cost that the invitation named. */
function checkParties({ trust, two_parties: terms }, parties) {
  requireThat(trust === TWO_PARTIES && isRecord(terms), "whom to trust");
  for (const name of ["helper", "operator", "fingerprint", "minimum", "rho"]) {
    requireThat(terms[name] === parties[name], `the second party's ${name}`);
  }
}

function readQuestion(question, mechanism) {
  requireThat(isRecord(question) && Object.hasOwn(FIELDS, question.kind), "a question");
  const { kind, id, text, show_if: condition = null } = question;
  const expected = ["kind", "id", "text", ...FIELDS[kind], ...(condition ? ["show_if"] : [])];
  requireThat(
    Object.keys(question).length === expected.length &&
      expected.every((name) => Object.hasOwn(question, name)),
    "a question",
  );
  requireThat(isText(id) && isText(text) && text.trim(), "a question's text");
  const made = {
    id, kind, text, show_if: condition, mechanism,
    device: mechanism && deviceOf(mechanism),
    allow_skip: kind === "number" ? false : question.allow_skip,
    low_label: "", high_label: "", min: null, max: null, step: null, unit: "", most: null,
    ...READ[kind](question),
  };
  requireThat(typeof made.allow_skip === "boolean", "whether a question can be left out");
  requireThat(made.labels.every((label) => isText(label) && label), "an answer");
  requireThat(new Set(made.labels).size === made.labels.length, "an answer");
  requireThat(kind === "number" || isCountOfLabels(made.labels.length), "the answers");
  if (mechanism !== null) checkMask(made);
  return made;
}

const isCountOfLabels = (count) => count >= 2 && count <= MOST_LABELS;

const READ = {
  choice({ options }) {
    requireThat(Array.isArray(options), "the answers");
    return { labels: options };
  },
  several({ options, most }) {
    requireThat(Array.isArray(options), "the answers");
    const limit = Number.isInteger(most) && most >= 1 && most <= options.length;
    requireThat(most === null || limit, "how many answers can be given");
    return { labels: options, most };
  },
  rating({ low, high, low_label: lowLabel, high_label: highLabel }) {
    requireThat(Number.isSafeInteger(low) && Number.isSafeInteger(high), "a scale");
    requireThat(isCountOfLabels(high - low + 1) && isText(lowLabel) && isText(highLabel), "a scale");
    const labels = Array.from({ length: high - low + 1 }, (_, code) => String(low + code));
    return { labels, low_label: lowLabel, high_label: highLabel, min: low, max: high, step: 1 };
  },
  number({ low, high, step, unit }) {
    requireThat([low, high, step].every(Number.isFinite) && isText(unit), "a scale");
    const steps = (high - low) / step;
    requireThat(step > 0 && Math.round(steps) >= 1 && steps < MOST_POINTS, "a scale");
    requireThat(Math.abs(steps - Math.round(steps)) < 1e-6 * steps, "a scale");
    return { labels: [], min: low, max: high, step, unit };
  },
  comparison({ item_a: a, item_b: b, tie }) {
    requireThat([a, b, tie].every(isText), "what is compared");
    return { labels: tie ? [a, b, tie] : [a, b], item_a: a, item_b: b };
  },
};

/** Throw unless the mask has as many answers as the question, on the same scale. */
function checkMask(question) {
  const { device, mechanism, min, step } = question;
  const several = question.kind === "several";
  requireThat(codesOf(device) === answersTo(question), "a mask");
  requireThat(several === (device.name === "bitwise-response"), "a mask");
  const { labels, most, allow_skip: skip } = question;
  requireThat(
    !several || (device.most === (most ?? labels.length) && device.null === skip),
    "how many answers a mask has",
  );
  if (device.points === undefined) return;
  const lattice = latticeOfText(mechanism);
  const near = ([top, bottom], value) =>
    Math.abs(Number(top) / Number(bottom) - value) <= 1e-9 * Math.max(1, Math.abs(value));
  requireThat(near(lattice.low, min) && near(lattice.step, step), "a mask's scale");
}

/** Throw unless whoever is not shown a question can send a masked "no answer" to it. */
function checkConditions(questions) {
  const earlier = new Map();
  for (const question of questions) {
    const { show_if: condition } = question;
    if (condition !== null) {
      const known = isRecord(condition) && Object.keys(condition).length === 2;
      const before = known ? earlier.get(condition.question) : undefined;
      const { answers } = condition;
      requireThat(before && !["number", "several"].includes(before.kind) && question.allow_skip, "a condition");
      requireThat(
        Array.isArray(answers) && answers.every((answer) => before.labels.includes(answer)),
        "a condition",
      );
      const count = new Set(answers).size;
      requireThat(count >= 1 && count < before.labels.length + before.allow_skip, "a condition");
    }
    earlier.set(question.id, question);
  }
}

/** Return for each question that decides over others its place and theirs, however far. */
function linkedOf(questions) {
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  const below = questions.map((_, place) => new Set([place]));
  for (let place = questions.length - 1; place >= 0; place--) {
    const condition = questions[place].show_if;
    if (!condition) continue;
    for (const each of below[place]) below[places.get(condition.question)].add(each);
  }
  return below
    .filter((group) => group.size > 1)
    .map((group) => [...group].sort((one, other) => one - other));
}
