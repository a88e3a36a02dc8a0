// The mechanisms on a lattice: equally spaced points, of which an answer is the index, from 0. "No
// answer", where it is masked, is the code after the last point. The device's half of
// mechanisms/discrete_gaussian.py, discrete_laplace.py and quantised_response.py.
//
// What is drawn never depends on the answer: every answer, "no answer" too, takes its uniform
// integer for filling in or rounding first, then its noise.

import { uniformBelow } from "./coins.js";
import { discreteGaussian, discreteLaplace } from "./noise.js";

const LARGEST_POINTS = 1n << 32n;
const LARGEST_SCALE = 1n << 48n;

/**
 * Read {"points", "variance": [numerator, denominator]}.
 *
 * The report is the index plus Gaussian noise: a whole number of steps, which may lie beyond the
 * points and is never moved back.
 */
export function readDiscreteGaussian(device) {
  const points = readPoints(device.points);
  const variance = readFraction(device.variance);
  return { codes: points, mask: (answer, source) => answer + discreteGaussian(source, variance) };
}

/**
 * Read {"points", "null", "fill": index, "uniform" or null, "scale": [numerator, denominator]}.
 *
 * The report is the index, or what "no answer" is filled in with, plus Laplace noise; never moved
 * back either.
 */
export function readDiscreteLaplace(device) {
  const points = readPoints(device.points);
  const scale = readFraction(device.scale);
  requireThat(scale[0] <= LARGEST_SCALE && scale[1] <= LARGEST_SCALE);
  requireThat(typeof device.null === "boolean" && device.null === (device.fill !== null));
  const uniform = device.fill === "uniform";
  const fixed = uniform || !device.null ? 0n : readWhole(device.fill);
  requireThat(fixed < points);
  return {
    codes: device.null ? points + 1n : points,
    mask(answer, source) {
      const fill = uniform ? uniformBelow(source, points) : fixed;
      return fillIn(answer, points, fill) + discreteLaplace(source, scale);
    },
  };
}

/**
 * Read {"points", "levels", "null"}, the rounding of quantised response.
 *
 * It turns an answer into a symbol: a level from 0, or the number of levels for "no answer".
 */
export function readRounding(device) {
  const points = readPoints(device.points);
  const levels = readWhole(device.levels);
  requireThat(levels >= 2n && typeof device.null === "boolean");
  return {
    codes: device.null ? points + 1n : points,
    symbols: device.null ? levels + 1n : levels,
    round(answer, source) {
      const drawn = uniformBelow(source, points - 1n);
      const level = levelOf(answer, drawn, points, levels);
      return answer === points ? levels : level;
    },
  };
}

/** Return the index itself, or `fill` for "no answer". */
export function fillIn(answer, points, fill) {
  return answer === points ? fill : answer;
}

/**
 * Return the level above or below an index, such that its mean over `drawn`, uniform below
 * points - 1, is the exact place of the index among the levels.
 */
export function levelOf(index, drawn, points, levels) {
  const place = index * (levels - 1n); // in units of 1 / (points - 1) of a level
  const below = place / (points - 1n);
  return drawn < place % (points - 1n) ? below + 1n : below;
}

function readPoints(value) {
  const points = readWhole(value);
  requireThat(points >= 2n && points <= LARGEST_POINTS);
  return points;
}

function readFraction(pair) {
  requireThat(Array.isArray(pair) && pair.length === 2);
  const [numerator, denominator] = pair.map(readWhole);
  requireThat(numerator > 0n && denominator > 0n);
  return [numerator, denominator];
}

/** Return a whole number from 0 up, given as a number or as a text of digits. */
function readWhole(value) {
  requireThat(Number.isSafeInteger(value) || (typeof value === "string" && /^\d+$/.test(value)));
  const whole = BigInt(value);
  requireThat(whole >= 0n);
  return whole;
}

function requireThat(condition) {
  if (!condition) {
    throw new RangeError("this is not a mechanism on a lattice: its numbers do not fit together.");
  }
}
