// Exact discrete noise: Laplace and Gaussian on the integers, from uniform integers alone. The
// device's half of exact/noise.py: it draws the same number from the same words.
//
// Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
// algorithms 1 to 3. No floating-point number is involved, so a report cannot betray an answer by
// its last bits, and the probabilities are the formulas' own. How long a draw takes depends on the
// noise, never on the answer, which no function here is given.

import { uniformBelow } from "./coins.js";

const WORDS = 1n << 64n;
const SAFE = 1n << 62n; // below it, noise.py works in 64 bits
const LARGEST_SCALE = 1n << 48n;

/**
 * Draw one integer x with probability proportional to exp(-|x| / scale).
 *
 * @param {{nextWord(): bigint}} source
 * @param {[bigint, bigint]} scale numerator and denominator, above 0; in lowest terms, the
 *   numerator is at most 2^48
 * @returns {bigint}
 */
export function discreteLaplace(source, scale) {
  const [top, bottom] = lowestTerms(scale);
  if (top > LARGEST_SCALE || bottom >= WORDS) {
    throw new RangeError(`scale is ${top}/${bottom}, expected its terms at most 2^48.`);
  }
  for (;;) {
    const remainder = uniformBelow(source, top);
    if (!expBelowOne(source, remainder, top)) continue;
    const magnitude = (remainder + top * geometric(source)) / bottom;
    const negative = uniformBelow(source, 2n) === 0n;
    if (negative && magnitude === 0n) continue; // else 0 would come twice as often
    return negative ? -magnitude : magnitude;
  }
}

/**
 * Draw one integer x with probability proportional to exp(-x^2 / (2 variance)).
 *
 * @param {{nextWord(): bigint}} source
 * @param {[bigint, bigint]} variance numerator and denominator, from 2^-64 to below 2^96. It is
 *   the parameter of the formula; the true variance is never above it.
 * @returns {bigint}
 */
export function discreteGaussian(source, variance) {
  const [p, q] = lowestTerms(variance);
  if (p * WORDS < q || p >= q * LARGEST_SCALE ** 2n) {
    throw new RangeError(`variance is ${p}/${q}, expected from 2^-64 to below 2^96.`);
  }
  const scale = squareRoot(p / q) + 1n;
  const denominator = 2n * p * q * scale ** 2n;
  // |y| up to this much is accepted by uniform integers, beyond it (where noise.py leaves 64 bits)
  // digit by digit: other words, the same probability.
  const largest = denominator < SAFE ? (squareRoot(SAFE) - p) / (q * scale) : -1n;
  for (;;) {
    const proposal = discreteLaplace(source, [scale, 1n]);
    const size = proposal < 0n ? -proposal : proposal;
    const distance = (size * q * scale - p) ** 2n;
    const accepted =
      size <= largest
        ? expOf(source, distance, denominator)
        : expOfAny(source, distance, denominator);
    if (accepted) return proposal;
  }
}

/** Return true with probability exp(-numerator / denominator); the denominator is at most 2^64. */
function expOf(source, numerator, denominator) {
  return (
    expBelowOne(source, numerator % denominator, denominator) &&
    expOfWhole(source, numerator / denominator)
  );
}

/** Return true with probability exp(-numerator / denominator), integers of any size. */
function expOfAny(source, numerator, denominator) {
  const rest = numerator % denominator;
  let k = 1n;
  while (compare(source, rest, denominator * k)) k++;
  return k % 2n === 1n && expOfWhole(source, numerator / denominator);
}

/** Return true with probability exp(-whole). */
function expOfWhole(source, whole) {
  for (let done = 0n; done < whole; done++) {
    if (!expMinusOne(source)) return false;
  }
  return true;
}

/**
 * Return true with probability exp(-numerator / denominator), 0 <= numerator <= denominator.
 *
 * The first k at which a draw with probability x / k fails is odd with probability exp(-x).
 */
function expBelowOne(source, numerator, denominator) {
  let k = 1n;
  while (
    uniformBelow(source, denominator) < numerator &&
    (k === 1n || uniformBelow(source, k) === 0n)
  ) {
    k++;
  }
  return k % 2n === 1n;
}

/** Return true with probability exp(-1). */
function expMinusOne(source) {
  let k = 2n; // the draw with probability 1 / 1 never fails
  while (uniformBelow(source, k) === 0n) k++;
  return k % 2n === 1n;
}

/** Return how often a draw with probability exp(-1) succeeds before it fails. */
function geometric(source) {
  let count = 0n;
  while (expMinusOne(source)) count++;
  return count;
}

/** Return true with probability numerator / denominator < 1, comparing digit by digit. */
function compare(source, numerator, denominator) {
  let rest = numerator;
  for (;;) {
    const digit = (rest * WORDS) / denominator;
    rest = (rest * WORDS) % denominator;
    const word = source.nextWord();
    if (word !== digit) return word < digit;
    if (rest === 0n) return false;
  }
}

/** Return the largest integer whose square is at most `number`. */
function squareRoot(number) {
  if (number < 2n) return number;
  let root = number;
  let next = number >> 1n;
  while (next < root) {
    root = next;
    next = (root + number / root) >> 1n; // Newton's step, from above
  }
  return root;
}

/** Return numerator and denominator without common factors, on which the words drawn depend. */
function lowestTerms([numerator, denominator]) {
  const whole = typeof numerator === "bigint" && typeof denominator === "bigint";
  if (!whole || numerator <= 0n || denominator <= 0n) {
    throw new RangeError(`${numerator}/${denominator} is not a fraction above 0.`);
  }
  let [divisor, rest] = [numerator, denominator];
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest];
  return [numerator / divisor, denominator / divisor];
}
