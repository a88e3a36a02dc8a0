// Whole numbers in place of floats: fractions as pairs of BigInt, logarithms and exponentials
// between two bounds, and amounts of privacy in whole millionths, rounded up.
//
// An amount is a number of millionths that is a safe integer, or Infinity. It is never below the
// true one: what cannot be written so is Infinity.

const BITS = 320n; // of a fixed-point number, after the point
const ONE = 1n << BITS;
const UNSURE = 1n << 16n; // far above the error of one series, in units of the last bit
const MILLION = 1000000n;
const LONGEST = 1000; // characters of a number

/** Return the fraction in lowest terms; the denominator is above 0. */
export function fraction(numerator, denominator = 1n) {
  if (denominator === 0n) throw new RangeError("a fraction has 0 below its line.");
  let [divisor, rest] = [size(numerator), size(denominator)];
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest];
  const sign = denominator < 0n ? -1n : 1n;
  return [(sign * numerator) / (divisor || 1n), (sign * denominator) / (divisor || 1n)];
}

/** Read 3, 0.25, -1 or 1/3 exactly, and nothing else. */
export function readFraction(text) {
  const found = /^(-?)(\d+)(?:\.(\d+)|\/(\d+))?$/.exec(String(text).slice(0, LONGEST + 1));
  if (!found || String(text).length > LONGEST) throw new RangeError("this is not a number.");
  const [, minus, whole, decimals = "", below = "1"] = found;
  const bottom = decimals ? 10n ** BigInt(decimals.length) : BigInt(below);
  return fraction(BigInt(`${minus}${whole}${decimals}`), bottom);
}

export const subtract = ([a, b], [c, d]) => fraction(a * d - c * b, b * d);
export const multiply = ([a, b], [c, d]) => fraction(a * c, b * d);
export const divide = ([a, b], [c, d]) => fraction(a * d, b * c);
export const isBelow = ([a, b], [c, d]) => a * d < c * b;

/** Return a / b rounded down, and rounded up; b above 0. */
export function floor(a, b) {
  const down = a / b;
  return a % b < 0n ? down - 1n : down;
}

export function ceil(a, b) {
  return -floor(-a, b);
}

/** A number of millionths as an amount. */
export function amountOf(millionths) {
  return millionths <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(millionths) : Infinity;
}

/** Return an exact amount, rounded up to a millionth. */
export function amountOfFraction([numerator, denominator]) {
  return amountOf(ceil(numerator * MILLION, denominator));
}

/** Return a sum of amounts. */
export function sum(amounts) {
  const total = amounts.reduce((all, each) => all + each, 0);
  return Number.isSafeInteger(total) ? total : Infinity;
}

/** Return `times` |ln (top / bottom)|, rounded up to a millionth; Infinity where either is 0. */
export function lossOfRatio(top, bottom, times = 1) {
  if (times === 0 || (top === bottom && top > 0n)) return 0;
  if (top <= 0n || bottom <= 0n) return Infinity;
  const [, high] = top > bottom ? log(top, bottom) : log(bottom, top);
  return amountOf(ceil(high * MILLION * BigInt(times), ONE));
}

/**
 * Return bounds on ln (top / bottom), both above 0, in units of 2^-320.
 *
 * With top / bottom = 2^k m, 1 <= m < 2, it is k ln 2 + 2 artanh((m - 1) / (m + 1)).
 */
export function log(top, bottom) {
  let k = lengthOf(top) - lengthOf(bottom);
  const scaled = (by) => (by >= 0n ? (top << BITS) / (bottom << by) : (top << (BITS - by)) / bottom);
  if (scaled(k) < ONE) k -= 1n;
  const mantissa = scaled(k);
  const value = k * LOG_2 + 2n * artanh(((mantissa - ONE) << BITS) / (mantissa + ONE));
  const unsure = UNSURE * (size(k) + 1n);
  return [value - unsure, value + unsure];
}

/** Return bounds on e^(top / bottom), at least 1, in units of 2^-320. */
export function exp(top, bottom) {
  const whole = (top << BITS) / bottom;
  const k = whole / LOG_2;
  const rest = whole - k * LOG_2;
  let [term, total] = [ONE, ONE];
  for (let n = 1n; term > 0n; n++) {
    term = (term * rest) / (n << BITS);
    total += term;
  }
  const unsure = UNSURE * (k + 1n);
  return [(total - unsure) << k, (total + unsure) << k];
}

export const FIXED_ONE = ONE;

/** z + z^3 / 3 + z^5 / 5 + …, for z from 0 to 1/3. */
function artanh(z) {
  const square = (z * z) >> BITS;
  let [power, total] = [z, 0n];
  for (let n = 1n; power > 0n; n += 2n) {
    total += power / n;
    power = (power * square) >> BITS;
  }
  return total;
}

const LOG_2 = 2n * artanh(ONE / 3n);

function size(number) {
  return number < 0n ? -number : number;
}

/** Return how many bits a whole number above 0 has. */
function lengthOf(number) {
  const digits = number.toString(16);
  return BigInt(4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28);
}
