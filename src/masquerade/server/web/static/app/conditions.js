// Codes of answers, their words, and which questions are shown after the answers so far. Codes are
// those of mechanisms/mask.js: 0 for the first option or point. What is shown is decided here, where
// the answers are: whoever is not shown a question answers it with "no answer", which is masked like
// every other answer, so that nobody can tell who was asked.

import { kindOf } from "./kinds/kinds.js";

/** Return the code of "prefer not to say": after those of all answers. */
export const skipCode = (question) => kindOf(question).skipCode(question);

/** Return the number of codes of a question's answers, "prefer not to say" included. */
export const answersTo = (question) => kindOf(question).answers(question);

/** Return what an answer or a report is called; `words` has the names that are ours. */
export const textOf = (question, code, words) => kindOf(question).text(question, code, words);

/** Return what a report is called. */
export function sentTextOf(question, report, words) {
  const kind = kindOf(question);
  return (kind.sentText ?? kind.text)(question, report, words);
}

/** Return the code that a mask takes for an answer: its own, unless several answers have one label. */
export const maskedCode = (question, code) => kindOf(question).maskedCode?.(question, code) ?? code;

/** Return the code given to a question, or undefined; its id may be any text, `constructor` too. */
export function answerTo(answers, id) {
  return Object.hasOwn(answers, id) ? answers[id] : undefined;
}

/** Return for each question whether it is shown; `answers` holds codes by the questions' ids. */
export function visibility(questions, answers) {
  const flags = new Map();
  const known = new Map(questions.map((question) => [question.id, question]));
  for (const { id, show_if: condition } of questions) {
    if (!condition) {
      flags.set(id, true);
      continue;
    }
    const before = known.get(condition.question);
    const label = before?.labels[maskedCode(before, answerTo(answers, condition.question))];
    const met = label !== undefined && condition.answers.includes(label);
    flags.set(id, met && flags.get(condition.question) === true);
  }
  return questions.map(({ id }) => flags.get(id));
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
