// Codes of answers, their words, and which questions are shown after the answers so far. Codes are
// those of mechanisms/mask.js: 0 for the first option or point. What is shown is decided here, where
// the answers are: whoever is not shown a question answers it with "no answer", which is masked like
// every other answer, so that nobody can tell who was asked.

import { kindOf } from "./kinds/kinds.js";
import { symbolsOf } from "../mechanisms/sets.js";
import { isRecord, requireThat } from "./promise.js";

/** Return the code of "prefer not to say": after those of all answers. */
export const skipCode = (question) => kindOf(question).skipCode(question);

/** Return the number of codes of a question's answers, "prefer not to say" included. */
export const answersTo = (question) => kindOf(question).answers(question);

/** Return what an answer or a report is called; `words` has the names that are ours. */
export const textOf = (question, code, words) => kindOf(question).text(question, code, words);

/** Return what a report is called. */
export function sentTextOf(question, report, words) {
  const kind = kindOf(question);
  const text = (code) => (kind.sentText ?? kind.text)(question, code, words);
  // Of many answers a set is sent.
  if (question.device?.name !== "subset-selection") return text(report);
  return symbolsOf(report, question.device).map(text).join(" · ");
}

/** Return the code that a mask takes for an answer: its own, unless several answers have one label. */
export const maskedCode = (question, code) => kindOf(question).maskedCode?.(question, code) ?? code;

/** Return the code given to a question, or undefined; its id may be any text, `constructor` too. */
export function answerTo(answers, id) {
  return Object.hasOwn(answers, id) ? answers[id] : undefined;
}

const MOST_LEAVES = 32;
const MOST_DEPTH = 6;
const RULES = ["all", "any", "none"];

/** Return the rule of a condition that combines others: "all", "any" or "none"; else undefined. */
export const ruleOf = (condition) => RULES.find((rule) => Array.isArray(condition?.[rule]));

/** Return the conditions on single questions of which a condition is made. */
export function leavesOf(condition) {
  if (!condition) return [];
  const rule = ruleOf(condition);
  return rule ? condition[rule].flatMap(leavesOf) : [condition];
}

/** Return whether a condition is met, from whether each of its leaves is. */
export function holds(condition, met) {
  const rule = ruleOf(condition);
  if (!rule) return met(condition);
  if (rule === "all") return condition.all.every((part) => holds(part, met));
  const some = condition[rule].some((part) => holds(part, met));
  return rule === "any" ? some : !some;
}

/** Throw unless a condition is on answers of earlier questions; `earlier` has them by their ids. */
export function checkCondition(condition, earlier) {
  checkShape(condition, MOST_DEPTH);
  const leaves = leavesOf(condition);
  requireThat(leaves.length <= MOST_LEAVES, "a condition");
  for (const leaf of leaves) {
    const before = isRecord(leaf) ? earlier.get(leaf.question) : undefined;
    requireThat(before && kindOf(before).decides, "a condition");
    kindOf(before).checkLeaf(before, leaf);
  }
}

function checkShape(condition, depth) {
  const rule = ruleOf(condition);
  if (!rule) return;
  const parts = condition[rule];
  requireThat(depth > 1 && parts.length > 0 && Object.keys(condition).length === 1, "a condition");
  for (const part of parts) checkShape(part, depth - 1);
}

/** Return for each question whether it is shown; `answers` holds codes by the questions' ids. */
export function visibility(questions, answers) {
  const flags = new Map();
  const met = metBy(questions, answers, flags);
  for (const { id, show_if: condition } of questions) {
    flags.set(id, !condition || holds(condition, met));
  }
  return questions.map(({ id }) => flags.get(id));
}

/** Return whether a page's condition is met by the answers so far. */
export function isMet(condition, questions, answers) {
  const shown = visibility(questions, answers);
  const flags = new Map(questions.map(({ id }, place) => [id, shown[place]]));
  return !condition || holds(condition, metBy(questions, answers, flags));
}

/** An answer to what was not shown is none. */
function metBy(questions, answers, flags) {
  const known = new Map(questions.map((question) => [question.id, question]));
  return (leaf) => {
    const code = answerTo(answers, leaf.question);
    const before = known.get(leaf.question);
    return Boolean(flags.get(leaf.question)) && code !== undefined && kindOf(before).meets(before, code, leaf);
  };
}

/** Return the code of each answer; of a question that is not shown, that of "no answer". */
export function answerCodes(questions, answers) {
  const flags = visibility(questions, answers);
  return questions.map((question, place) =>
    flags[place] ? answerTo(answers, question.id) : skipCode(question),
  );
}

/**
 * Return the place of the next question that is shown, from `place` on in steps of `by`: past the
 * last one where there is none, or -1 before the first.
 */
export function nextVisible(questions, answers, place, by) {
  const flags = visibility(questions, answers);
  let next = place;
  do next += by;
  while (next >= 0 && next < questions.length && !flags[next]);
  return next;
}
