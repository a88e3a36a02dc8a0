// How strong masks are, in the words of levels. The names follow from the masks, never from what a
// server calls them.

import { rhoOfResponse } from "../mechanisms/loss.js";
import { UNMASKED } from "./invitation.js";

/** The most rho of one answer at each level of the library, mu^2 / 2 in millionths. */
const LEVELS = [
  ["high", 1e6 / 18],
  ["medium", 2e6 / 9],
  ["low", 8e6 / 9],
];
const SLACK = 2; // millionths: amounts are rounded up
const LARGEST_EPSILON = 50e6;

/** Return the name of the strongest level that these masks reach: "little" beyond all. */
export function strengthOf({ clear, each, split }) {
  if (split) return "parties";
  if (clear > 0) return UNMASKED;
  return LEVELS.find(([, rho]) => each <= rho + SLACK)?.[0] ?? "little";
}

const known = new Map();

/**
 * Return the chance, of 1, that one of `symbols` options is sent as it is at a loss of `rho`
 * millionths: an example of what a level does.
 */
export function keepProbabilityAt(rho, symbols) {
  const key = `${rho} ${symbols}`;
  if (!known.has(key)) {
    let [low, high] = [0, LARGEST_EPSILON];
    while (high - low > 100) {
      const middle = Math.floor((low + high) / 2);
      if (rhoOfResponse(symbols, middle) <= rho) low = middle;
      else high = middle;
    }
    const growth = Math.exp(low / 1e6);
    known.set(key, growth / (growth + symbols - 1));
  }
  return known.get(key);
}
