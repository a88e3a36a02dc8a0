// Codes of answers, and the words for answers and reports, as each kind of question has them. Codes
// are those of mechanisms/mask.js: 0 for the first option or point.

import { kindOf } from "./kinds/kinds.js";

/** Return the code of "prefer not to say": after those of all answers. */
export const skipCode = (question) => kindOf(question).skipCode(question);

/** Return the number of codes of a question's answers, "prefer not to say" included. */
export const answersTo = (question) => kindOf(question).answers(question);

/** Return what an answer or a report is called; `words` has the names that are ours. */
export const textOf = (question, code, words) => kindOf(question).text(question, code, words);
