// The loss of answers that share one private number: the person draws `other` from first to last
// once, and each report is then a certain other symbol with probability other / total.
//
// A pattern of reports that differs from the answers in m of n places has probability
//   Q(m) = mean over other of (other / total)^m (1 - (symbols - 1) other / total)^(n - m).
// The sums over the grid that is drawn from are exact: powers add up to whole numbers. ln Q is
// convex in m (Hoelder), so its largest differences are at the ends, and its smallest value is where
// the differences change sign.

import { lossOfRatio } from "./fractions.js";

/**
 * Return `{event, user, some}` in millionths: one answer changed, all of them, and a function of
 * how many may change while the reports of all are seen.
 *
 * @param {{first: bigint, last: bigint, total: bigint, symbols: bigint}} device
 * @param {number} count of answers, at least 2
 */
export function patternsOf({ first, last, total, symbols }, count) {
  const rows = binomials(count + 1);
  const upTo = powerSums(last, count, rows);
  const before = first > 0n ? powerSums(first - 1n, count, rows) : upTo.map(() => 0n);
  const powers = upTo.map((sum, power) => sum - before[power]);
  const patterns = new Map();
  /** Q(m) times total^n times how many numbers there are, a whole number. */
  const pattern = (m) => {
    if (!patterns.has(m)) {
      let value = 0n;
      for (let i = 0; i <= count - m; i++) {
        const sign = (1n - symbols) ** BigInt(i);
        value += rows[count - m][i] * total ** BigInt(count - m - i) * sign * powers[m + i];
      }
      patterns.set(m, value);
    }
    return patterns.get(m);
  };
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pattern(middle + 1) < pattern(middle)) low = middle + 1;
    else high = middle;
  }
  /** Differences over `changed` places or fewer are largest at an end. */
  const some = (changed) => {
    const far = count - changed;
    const pairs = [
      [0, changed], [0, Math.min(low, changed)],
      [count, far], [count, Math.max(low, far)],
    ];
    return Math.max(...pairs.map(([end, other]) => lossOfRatio(pattern(end), pattern(other))));
  };
  return { event: some(1), user: some(count), some };
}

/**
 * Return the sums of k^0, k^1, …, k^highest over k from 0 to `last`, with 0^0 = 1.
 *
 * (last + 1)^(j + 1) is the sum over i up to j of (j + 1 over i) times the sum of k^i.
 */
function powerSums(last, highest, rows) {
  const sums = [];
  let power = 1n;
  for (let j = 0; j <= highest; j++) {
    power *= last + 1n;
    let rest = power;
    for (let i = 0; i < j; i++) rest -= rows[j + 1][i] * sums[i];
    sums.push(rest / rows[j + 1][j]);
  }
  return sums;
}

/** Return the rows of Pascal's triangle from 0 to `last`. */
function binomials(last) {
  const rows = [[1n]];
  for (let row = 1; row <= last; row++) {
    const above = rows[row - 1];
    rows.push([1n, ...above.slice(1).map((each, i) => each + above[i]), 1n]);
  }
  return rows;
}
