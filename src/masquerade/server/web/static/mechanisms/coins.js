// Exact randomness, in integers: the device's half of exact/coins.py.
//
// All randomness is uniform 64-bit words from the system, turned into uniform integers by
// rejection. BigInt throughout: a floating-point number never decides what a person reports.

const WORDS = 1n << 64n;

/** Uniform 64-bit words from the operating system; cannot be seeded. */
export class SystemCoins {
  nextWord() {
    const halves = crypto.getRandomValues(new Uint32Array(2));
    return (BigInt(halves[0]) << 32n) | BigInt(halves[1]);
  }
}

/**
 * Draw one integer uniform on 0, ..., bound - 1, exactly.
 *
 * A word at or above the largest multiple of `bound` is rejected and the next one taken, so that
 * the remainder is exactly uniform. `uniform_below` in coins.py does the same with the same words.
 *
 * @param {{nextWord(): bigint}} source
 * @param {bigint} bound 1 to 2^64
 * @returns {bigint}
 */
export function uniformBelow(source, bound) {
  if (typeof bound !== "bigint" || bound < 1n || bound > WORDS) {
    throw new RangeError(`bound is ${bound}, expected a whole number from 1 to 2^64.`);
  }
  const largest = (WORDS / bound) * bound - 1n;
  let word = source.nextWord();
  while (word > largest) word = source.nextWord();
  return word % bound;
}

/** Return a random 128-bit number as 32 hexadecimal digits, for names that mean nothing. */
export function randomName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
