// Masks whose reports name a set that is drawn: subset selection of many symbols, and the order of a
// few items of a ranking. The device's half of mechanisms/subset_selection.py, masked_order.py and
// combinations.py. What is drawn never depends on the answer.

import { uniformBelow } from "./coins.js";

const MOST_SUBSETS = 1n << 53n;
const MOST_ITEMS = 12;

/** Return C(n, k). */
export function choose(n, k) {
  let found = 1n;
  for (let i = 0; i < k; i++) found = (found * BigInt(n - i)) / BigInt(i + 1);
  return n < k ? 0n : found;
}

/** Return the number of a set, given by its members ascending. */
export const placeOfSet = (members) => members.reduce((sum, place, i) => sum + choose(place, i + 1), 0n);

/** Return the members of the set of a number; the inverse of `placeOfSet`. */
export function setOfPlace(number, size) {
  const members = [];
  let rest = BigInt(number);
  for (let i = size; i > 0; i--) {
    let place = i - 1;
    while (choose(place + 1, i) <= rest) place++;
    members.unshift(place);
    rest -= choose(place, i);
  }
  return members;
}

/** Draw so many of the places 0 to `count` - 1, in the order in which they are drawn. */
function drawPlaces(source, count, size) {
  const pool = Array.from({ length: count }, (_, place) => place);
  for (let at = 0; at < size; at++) {
    const taken = at + Number(uniformBelow(source, BigInt(count - at)));
    [pool[at], pool[taken]] = [pool[taken], pool[at]];
  }
  return pool.slice(0, size);
}

const ascending = (one, other) => one - other;

/** Read {"choices", "size", "inside", "total"}: the answer is in the set where a draw is below `inside`. */
export function readSubsets({ choices, size, inside: insideText, total: totalText }) {
  const [inside, total] = [BigInt(insideText), BigInt(totalText)];
  const whole = [choices, size].every(Number.isInteger) && size >= 1 && size < choices;
  const fits = whole && choose(choices, size) <= MOST_SUBSETS;
  const possible = inside >= 0n && total >= 1n && inside <= total;
  // Below its share the answer would be denied; a subset that tells nothing is the least there is.
  requireThat(fits && possible && inside * BigInt(choices) >= BigInt(size) * total);
  return {
    codes: BigInt(choices),
    start: (source) => (answer) => {
      const given = Number(answer);
      const held = uniformBelow(source, total) < inside;
      const chosen = drawPlaces(source, choices - 1, size).map((place) => place + (place >= given ? 1 : 0));
      if (held) chosen[size - 1] = given;
      return placeOfSet(chosen.sort(ascending));
    },
  };
}

/** Return the symbols of a report of subset selection. */
export const symbolsOf = (report, { size }) => setOfPlace(report, size);

/** Read {"items", "ranked", "size", "null", "other", "total"} of a masked order. */
export function readOrders(device, move) {
  const { items, ranked, size, null: masked } = device;
  const [other, total] = [BigInt(device.other), BigInt(device.total)];
  const orders = permutations(size === 2 || size === 3 ? size : 0);
  const symbols = BigInt(orders.length + (masked ? 1 : 0));
  const whole = [items, ranked].every(Number.isInteger) && typeof masked === "boolean";
  const fits = whole && items >= size && items <= MOST_ITEMS && ranked >= 1 && ranked <= items;
  requireThat(fits && orders.length > 1 && other >= 0n && total >= 1n && other * symbols <= total);
  const rankings = rankingsOf(items, ranked);
  return {
    codes: BigInt(rankings + (masked ? 1 : 0)),
    start: (source) => (answer) => {
      const members = drawPlaces(source, items, size).sort(ascending);
      const tie = orders[Number(uniformBelow(source, BigInt(orders.length)))];
      const given = Number(answer);
      const ranks = ranksOf(Math.min(given, rankings - 1), items, ranked);
      // Those that are not ranked share the rank after the last one, and the coins order them.
      const held = members.map((item, at) => (ranks[item] === ranked ? ranked + tie.indexOf(at) : ranks[item]));
      const symbol = given === rankings ? orders.length : orderOf(held, orders);
      const sent = move(BigInt(symbol), other, uniformBelow(source, total), symbols);
      return placeOfSet(members) * symbols + sent;
    },
  };
}

/** Return the items of a report of a masked order, the best first, or null for "no answer". */
export function itemsOf(report, { size, null: masked }) {
  const orders = permutations(size);
  const symbols = orders.length + (masked ? 1 : 0);
  const members = setOfPlace(Math.floor(report / symbols), size);
  const order = orders[report % symbols];
  return { members, order: order ? order.map((at) => members[at]) : null };
}

/** Return how many rankings of the first `ranked` of so many items there are. */
export const rankingsOf = (items, ranked) =>
  Array.from({ length: ranked }, (_, i) => items - i).reduce((all, count) => all * count, 1);

/** Return the number of a ranking: of each item its place among those not yet named. */
export function rankingCode(ranking, items) {
  const left = Array.from({ length: items }, (_, item) => item);
  return ranking.reduce((code, item) => {
    const place = left.indexOf(item);
    const size = left.length;
    left.splice(place, 1);
    return code * size + place;
  }, 0);
}

/** Return the ranking of a number; the inverse of `rankingCode`. */
export function rankingOf(code, items, ranked) {
  const places = [];
  for (let size = items - ranked + 1; size <= items; size++) {
    places.unshift(code % size);
    code = Math.floor(code / size);
  }
  const left = Array.from({ length: items }, (_, item) => item);
  return places.map((place) => left.splice(place, 1)[0]);
}

function ranksOf(code, items, ranked) {
  const ranks = Array(items).fill(ranked);
  rankingOf(code, items, ranked).forEach((item, rank) => {
    ranks[item] = rank;
  });
  return ranks;
}

/** Return the orders of so many items, in the order of dictionaries. */
function permutations(size) {
  if (size === 0) return [[]];
  const first = Array.from({ length: size }, (_, item) => item);
  return first.flatMap((item) => {
    const rest = first.filter((other) => other !== item);
    return permutations(size - 1).map((order) => [item, ...order.map((at) => rest[at])]);
  });
}

function orderOf(ranks, orders) {
  const order = ranks.map((_, at) => at).sort((one, other) => ranks[one] - ranks[other]);
  return orders.findIndex((each) => each.every((at, place) => at === order[place]));
}

function requireThat(condition) {
  if (!condition) throw new RangeError("this is not a mechanism: its numbers do not fit together.");
}
