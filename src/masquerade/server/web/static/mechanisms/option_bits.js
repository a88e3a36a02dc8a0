// Codes of answers to a question with several answers: bit i, of value 2^i, stands for option i, and
// the bit after the last option, alone, for "prefer not to say". Codes are beyond 32 bits.

/** Return the code of "prefer not to say". */
export const skipBit = ({ labels }) => 2 ** labels.length;

/** Return whether an option is in a code. */
export const isTicked = (code, place) => Math.floor(code / 2 ** place) % 2 === 1;

/** Return how many options a code holds. */
export const tickedCount = (code, { labels }) =>
  labels.filter((_, place) => isTicked(code, place)).length;
