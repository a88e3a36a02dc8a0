// Numbers on a lattice as people read and type them; code 0 is the lowest, `min`, and each step on
// is one more.

/** Return the lattice of a question: `{first, step, decimals}`. */
export function latticeOf({ min, step }) {
  return { first: Number(min), step: Number(step), decimals: decimalsOf(step, min) };
}

/** Return how many points the lattice of a question has. */
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
