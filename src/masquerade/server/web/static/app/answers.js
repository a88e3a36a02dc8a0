// What a question can be answered with, and what answers and reports are called. Codes are those of
// mechanisms/mask.js: 0 for the first option or point.

/** Return the code of "prefer not to say": after the last label, or the bit after the last option. */
export function skipCode(question) {
  return question.kind === "several" ? 2 ** question.labels.length : question.labels.length;
}

/** Return whether an option is in the code of several: bit i, of value 2^i, stands for option i. */
export const isTicked = (code, place) => Math.floor(code / 2 ** place) % 2 === 1;

/** Return how many options a code of several holds. */
export const tickedCount = (code, { labels }) =>
  labels.filter((_, place) => isTicked(code, place)).length;

/** Return the number of codes of a question's answers, "prefer not to say" included. */
export function answersTo(question) {
  if (question.kind === "number") return pointsOf(question);
  if (question.kind === "several") return skipCode(question) * (question.allow_skip ? 2 : 1);
  return question.labels.length + (question.allow_skip ? 1 : 0);
}

/** Return the lattice of a question: `{first, step, decimals}`, or null where it has none. */
export function latticeOf(question) {
  if (question.kind === "number") {
    const { min, step } = question;
    return { first: Number(min), step: Number(step), decimals: decimalsOf(step, min) };
  }
  if (question.kind === "rating") {
    return { first: Number(question.labels[0]), step: 1, decimals: 0 };
  }
  return null;
}

/** Return how many points a number question's lattice has. */
export function pointsOf({ min, max, step }) {
  return Math.round((Number(max) - Number(min)) / Number(step)) + 1;
}

/** Return the code of a number that somebody typed, or null where it is not on the lattice. */
export function codeOfNumber(question, text) {
  const typed = latinDigits(text.trim()).replace(",", ".");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(typed)) return null;
  const { first, step } = latticeOf(question);
  const place = (Number(typed) - first) / step;
  const code = Math.round(place);
  const near = Math.abs(place - code) < 1e-6;
  return near && code >= 0 && code < pointsOf(question) ? code : null;
}

/** Return the number of a code or of a report, as a text without its unit. */
export function numberText(question, code) {
  const { first, step, decimals } = latticeOf(question);
  return String(Number((first + code * step).toFixed(decimals))).replace("-", "−");
}

/** Return what an answer or a report is called; `words` has the names that are ours. */
export function textOf(question, code, words) {
  if (question.kind === "number") {
    return question.unit
      ? `${numberText(question, code)} ${question.unit}`
      : numberText(question, code);
  }
  if (question.kind === "several") {
    const skip = code >= skipCode(question); // the mask can leave it beside options
    const said = [...question.labels.filter((_, place) => isTicked(code, place)), ...(skip ? [words.skip] : [])];
    return said.join(" · ") || words.none;
  }
  if (question.device?.name === "discrete-gaussian") return numberText(question, code);
  return question.labels[code] ?? words.skip;
}

function decimalsOf(...numbers) {
  return Math.max(...numbers.map((number) => String(number).split(".")[1]?.length ?? 0));
}

/** Keyboards for Arabic and Persian write other digits. */
export function latinDigits(text) {
  return text
    .replace(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replace(/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replace("٫", ".")
    .replace("−", "-");
}
