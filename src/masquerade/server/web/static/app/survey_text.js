// The survey as it is hashed: a text from which everything is taken that is shown once the
// questions are opened, so that what is shown is what was promised.

import { TWO_PARTIES } from "./invitation.js";
import { checkCondition } from "./conditions.js";
import { KINDS, kindOf } from "./kinds/kinds.js";
import { beforeOpening, inLanguage, languagesOfSurvey } from "./languages.js";
import { hangTogether, linkedAtMost, linkedOf } from "./linked_questions.js";
import { LAYOUT_FIELDS, readLayout, shuffled } from "./pages.js";
import { BrokenPromise, isRecord, isText, requireThat, same } from "./promise.js";
import { codesOf } from "../mechanisms/mask.js";
import { deviceOf, latticeOfText } from "../mechanisms/text.js";
import { sha256OfText } from "./sha256.js";

const ABOUT = ["title", "description", "template", "topic", "reveal"];
const USUAL_ESTIMATOR = "eb"; // which is left out
const BLANK = {
  allow_skip: false, low_label: "", high_label: "", min: null, max: null, step: null, unit: "",
  most: null,
};

/** Return what of an invitation must still be so when the questions are shown. */
export function promiseOf(invitation) {
  const { hash, kinds, questions, linked, draw = null, estimator, levels, parties } = invitation;
  const { look = null, reach = {} } = invitation;
  return {
    ...Object.fromEntries(ABOUT.map((name) => [name, invitation[name]])),
    hash, kinds, questions, linked, estimator, look,
    ...(draw && { draw }),
    levels: Object.fromEntries(levels.map(({ name, mechanisms }) => [name, mechanisms])),
    ...(invitation.languages && { languages: invitation.languages }),
    ...(parties && { parties: { ...parties, sums: levels[0].sums } }),
    ...(Object.keys(reach).length > 0 && { reach }),
  };
}

/**
 * Return the questions that a survey's text asks at a level, or throw `BrokenPromise` where it is
 * not the survey that was promised.
 *
 * @param {string} text
 * @param {object} promise of `promiseOf`
 * @param {string} level name of the one that was chosen
 * @param {number[][]|null} pairs places of the two items that each vote on a list is about
 */
export function questionsOf(text, promise, level, pairs = null) {
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
  const { questions, levels, estimator = USUAL_ESTIMATOR, look = null } = survey;
  const optional = ["estimator", "look", "asked", "together", ...LAYOUT_FIELDS].filter((name) => Object.hasOwn(survey, name));
  const names = [...ABOUT, "questions", "levels", ...optional];
  if (promise.parties) names.push("trust", "two_parties");
  if (promise.languages) names.push("languages");
  const { reach = {} } = promise;
  names.push(...Object.keys(reach));
  for (const [name, said] of Object.entries(reach)) requireThat(same(survey[name], said), `the ${name}`);
  requireThat(Object.keys(survey).length === names.length, "what a survey holds");
  for (const name of ABOUT) requireThat(survey[name] === promise[name], `the ${name}`);
  requireThat(estimator === promise.estimator, "the estimator");
  requireThat(same(look, promise.look ?? null), "the survey's look");
  requireThat(same(levels, promise.levels) && Object.hasOwn(levels, level), "the levels");
  requireThat(Array.isArray(questions) && questions.length === promise.questions, "the questions");
  if (promise.parties) checkParties(survey, promise.parties);
  const masks = promise.parties ? null : levels[level];
  const read = questions.map((question, place) => readQuestion(question, masks?.[place] ?? null));
  requireThat(new Set(read.map(({ id }) => id)).size === read.length, "a question's id");
  checkLanguages(survey, promise.languages ?? null);
  const kinds = {};
  for (const { kind } of read) kinds[kind] = (kinds[kind] ?? 0) + 1;
  requireThat(same(kinds, promise.kinds), "what the questions are");
  checkConditions(read);
  // Where sums have noise, the cost of one answer is that of all.
  const alike = read.map((_, place) => Object.values(levels).map((texts) => texts[place]).join(" "));
  const linked = promise.parties ? [] : linkedOf(read, alike).groups;
  // Earlier versions counted all that one answer decides over, which is never less.
  const either = [linked, promise.parties ? [] : linkedAtMost(read)];
  requireThat(either.some((groups) => same(groups, promise.linked)), "which questions decide over others");
  checkDraw(survey, read, promise.draw ?? null);
  readLayout(survey, read);
  return withPairs(read, pairs, Boolean(promise.parties));
}

/** Throw unless the languages are those promised, and each translation is one of a question. */
function checkLanguages(survey, promised) {
  const spoken = languagesOfSurvey(survey);
  requireThat(same(beforeOpening(spoken), promised), "the languages");
  for (const code of spoken?.languages.slice(1) ?? []) {
    for (const question of inLanguage(survey, code, labelsOf).questions) {
      kindOf(question).check(question, kindOf(question).form(question));
    }
  }
}

const labelsOf = (definition) => kindOf(definition).form(definition).labels;

/**
 * Return the questions of a participation as somebody reads them in a language of the survey. The
 * text was checked when it was opened.
 */
export function questionsIn({ text, promise, level, pairs = null, questions }, code) {
  const known = promise.languages?.languages.includes(code);
  if (!known) return questions;
  const survey = inLanguage(JSON.parse(text), code, labelsOf); // its own texts in the first language
  const masks = promise.parties ? null : survey.levels[level];
  const shown = survey.questions.map((one, place) => formOf(one, masks?.[place] ?? null));
  const split = Boolean(promise.parties);
  return withPairs(shown, pairs, split).map((question) => ({ ...question, language: code }));
}

/** Throw unless as many blocks of questions that hang together are asked as was promised. */
function checkDraw({ asked, together = [] }, questions, draw) {
  requireThat(asked === draw?.asked, "how many questions are drawn");
  const known = (ids) =>
    Array.isArray(ids) && ids.length > 1 && ids.every((id) => questions.some((one) => one.id === id));
  requireThat(Array.isArray(together) && together.every(known), "which questions are drawn");
  requireThat(draw || !together.length, "which questions are drawn");
  requireThat(!draw || same(draw.blocks, hangTogether(questions, together)), "which questions are drawn");
}

/** Return how a survey's text lays out its questions, in one of its languages; see `readLayout`. */
export const layoutOfText = (text, questions, code = null) =>
  readLayout(inLanguage(JSON.parse(text), code, labelsOf), questions);

/** Return how a survey ends: its last words in each of its languages, and where it leads to. */
export function endingOf(text) {
  const { thanks = "", return_address: address = "", languages } = JSON.parse(text);
  const others = Object.entries(languages?.texts ?? {}).map(([code, texts]) => [code, texts.thanks ?? thanks]);
  return { thanks, address, others: Object.fromEntries(others) };
}

/**
 * Return pairs of each list without an item in common, drawn on this device; null without lists.
 * Two parties add up the votes, and nobody is told which pairs they are on. The text need not be
 * checked: of one that cannot be read there are none, and `questionsOf` says what is wrong.
 */
export function drawnPairs(text, source) {
  try {
    const lists = JSON.parse(text).questions.filter((one) => kindOf(one).takesPair && one.votes > 0);
    const pairs = lists.flatMap(({ items, votes }) => {
      const order = shuffled([...items.keys()], source).slice(0, 2 * votes);
      return Array.from({ length: votes }, (_, at) => [order[2 * at], order[2 * at + 1]]);
    });
    return lists.length ? pairs : null;
  } catch {
    return null;
  }
}

/**
 * Return the questions with the items that are shown: pairs of their list, none of them twice.
 *
 * @param {boolean} split whether two parties add up the votes; then no item comes twice, and what
 *   they need to know of a list stands in its questions
 */
function withPairs(questions, pairs, split) {
  let [list, seen, left, at] = [{ items: [] }, new Set(), 0, 0];
  const shown = questions.map((question) => {
    const kind = kindOf(question);
    const begins = kind.takesPair && question.votes > 0;
    requireThat(left === 0 || (kind.takesPair && !begins), "the votes on a list");
    if (!kind.takesPair) return question;
    if (begins) [list, seen, left] = [question, new Set(), question.votes];
    requireThat(left-- > 0, "the votes on a list");
    const pair = pairs?.[at++];
    const places = Array.isArray(pair) && pair.length === 2 &&
      pair.every((place) => Number.isInteger(place) && place >= 0 && place < list.items.length);
    requireThat(places && pair[0] !== pair[1], "a pair");
    const name = `${Math.min(...pair)} ${Math.max(...pair)}`;
    const once = split ? pair : [name];
    requireThat(!once.some((one) => seen.has(one)), "a pair");
    once.forEach((one) => seen.add(one));
    const shown = kind.shown(question, list, pair);
    return split ? { ...shown, pair, ...(begins && { listed: list.items.length }) } : shown;
  });
  requireThat(left === 0, "the votes on a list");
  requireThat(at === (pairs?.length ?? 0), "the pairs");
  return shown;
}

/** Throw unless the survey names the two parties that the invitation named. */
function checkParties({ trust, two_parties: terms }, parties) {
  requireThat(trust === TWO_PARTIES && isRecord(terms), "whom to trust");
  for (const name of ["helper", "operator", "fingerprint", "minimum"]) {
    requireThat(terms[name] === parties[name], `the second party's ${name}`);
  }
}

function readQuestion(definition, mechanism) {
  requireThat(isRecord(definition) && KINDS.has(definition.kind), "a question");
  const kind = kindOf(definition);
  const { id, text, show_if: condition = null } = definition;
  // A field that is left out at its usual value stands only where it has another.
  const further = Object.entries(kind.optional ?? {}).filter(([name]) => Object.hasOwn(definition, name));
  requireThat(further.every(([name, usual]) => !same(definition[name], usual)), "a question");
  const names = [...kind.fields, ...further.map(([name]) => name)];
  const expected = ["kind", "id", "text", ...names, ...(condition ? ["show_if"] : [])];
  requireThat(
    Object.keys(definition).length === expected.length &&
      expected.every((name) => Object.hasOwn(definition, name)),
    "a question",
  );
  requireThat(isText(id) && isText(text) && text.trim(), "a question's text");
  kind.check(definition, kind.form(definition));
  const question = formOf(definition, mechanism);
  requireThat(typeof question.allow_skip === "boolean", "whether a question can be left out");
  if (mechanism !== null) checkMask(question);
  return question;
}

/** Return a question in the form in which a device draws it; `mechanism` is its mask, or null. */
export function formOf(definition, mechanism) {
  const { kind, id, text, show_if: condition = null, allow_skip: skip = false } = definition;
  const device = mechanism && deviceOf(mechanism);
  const common = { id, kind, text, show_if: condition, mechanism, device };
  return { ...common, ...BLANK, allow_skip: skip, ...kindOf(definition).form(definition) };
}

/** Throw unless the mask has as many answers as the question, on the same scale. */
function checkMask(question) {
  const { device, mechanism, min, step } = question;
  const kind = kindOf(question);
  requireThat(codesOf(device) === (kind.maskedAnswers ?? kind.answers)(question), "a mask");
  requireThat(kind.fits(question, device), "how many answers a mask has");
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
      requireThat(question.allow_skip, "a condition");
      checkCondition(condition, earlier);
    }
    earlier.set(question.id, question);
  }
}
