// What a level costs, from its mechanisms alone: every amount that this app shows, charges and
// compares is worked out here, in whole millionths that are never below the true loss.
//
//   single     for a person who sends one report in a lifetime
//   event      two worlds differ in one answer, and all reports are seen
//   user       they differ in all answers
//   delta      at which the epsilons hold: 0, or a millionth where there is noise
//   loss       the whole loss of all answers that are masked, see loss.js
//   eventLoss  that of the one answer that can be told best, or of those that hang together with it
//   clear      how many answers are sent as they are
//   each       rho of the answer that is masked the least, by which levels are named
//
// `least` holds amounts that are certainly reached: who states less states what is not so.

import { amountOfFraction, lossOfRatio, readFraction, sum } from "./fractions.js";
import {
  IN_CLEAR,
  NO_LOSS,
  epsilonOfOrders,
  laplaceLoss,
  noiseLoss,
  pureLoss,
  responseLoss,
  rhoLoss,
  rhoOfKept,
  rhoOfPure,
  rhoOfResponse,
  tail,
  threeWayLoss,
  times,
  together,
  withinPure,
} from "./loss.js";
import {
  epsilonOfOneReport,
  epsilonOfParts,
  pointsOfLaplace,
  pointsOfNoise,
  pointsOfPure,
  pointsOfResponse,
  pointsOfThree,
} from "./loss_tail.js";
import { changedBits, readDevice } from "./mask.js";
import { DELTA_NUMBER } from "./room.js";
import { deviceOf } from "./text.js";
import { patternsOf } from "./two_layer.js";

const BLOCK = /^(\d{1,30})\/(\d{1,30})\/([0-9./]{1,80})$/;
const known = new Map();

/**
 * Return what one response costs.
 *
 * @param {string[]} texts the mechanism of each question
 * @param {number[][]} linked places of questions whose reports can change with one answer
 */
export function lossesOf(texts, linked = []) {
  const { least, leastRho, ...all } = composed(texts);
  const answers = countsOf(texts);
  const groups = linked.map((places) => composed(places.map((place) => texts[place]), answers));
  const masked = texts.filter((text) => lossOf(text, 1).single < Infinity);
  const events = [all.eventLoss, ...groups.map(({ loss }) => loss)];
  return {
    ...all,
    event: Math.max(all.event, ...groups.map(({ user }) => user)),
    loss: masked.length ? composed(masked).loss : NO_LOSS,
    eventLoss: events.reduce((worst, one) => (tail(one) > tail(worst) ? one : worst)),
    clear: texts.length - masked.length,
    least: {
      rho: leastRho,
      event: Math.max(all.event, ...groups.map((group) => group.least)),
      user: least,
    },
  };
}

/**
 * Return what one response costs at most where a person is asked some blocks of questions alone: the
 * device's half of surveys/drawn_blocks.py. Which are asked is seen, so that nothing is amplified.
 *
 * @param {string[]} texts the mechanism of each question
 * @param {number[][]} linked as in `lossesOf`
 * @param {{asked: number, blocks: number[][]}|null} draw null where all are asked
 */
export function lossesOfDrawn(texts, linked, draw) {
  const whole = lossesOf(texts, linked);
  if (!draw) return whole;
  const textsOf = (block) => block.map((place) => texts[place]);
  const losses = draw.blocks.map((block) => together(textsOf(block).map((text) => lossOf(text, 1).loss)));
  const order = [...losses.keys()].sort((a, b) => tail(losses[b]) - tail(losses[a]) || a - b);
  const some = lossesOf(order.slice(0, draw.asked).sort((a, b) => a - b).flatMap((at) => textsOf(draw.blocks[at])));
  const most = (amounts) => sum(amounts.sort((a, b) => b - a).slice(0, draw.asked));
  const loss = {
    pure: most(losses.map(({ pure }) => pure)),
    orders: losses[0].orders.map((_, at) => most(losses.map(({ orders }) => orders[at]))),
    clock: most(losses.map(({ clock }) => clock)),
  };
  const amounts = ({ pure, orders, clock }) => [pure, ...orders, clock];
  const covers = amounts(some.loss).every((one, at) => one >= amounts(loss)[at]);
  const user = covers ? some.user : whole.delta ? epsilonOfOrders(loss) : loss.pure;
  const least = { rho: some.least.rho, event: whole.least.event, user: some.least.user };
  return { ...whole, loss, user, least };
}

/**
 * Return what a response costs that is added up with noise on the sums: one answer is stated at the
 * cost of all, which bounds it.
 *
 * @param {string} text "two-parties:D/m/v;…" of each block of sums, or "two-parties:rho=r" as
 *   surveys that were begun with an earlier version of this app have it
 */
export function lossesOfSums(text) {
  const blocks = text.replace("two-parties:", "");
  const loss = blocks.startsWith("rho=")
    ? rhoLoss(amountOfFraction(readFraction(blocks.slice(4))))
    : together(blocks.split(";").map(lossOfBlock));
  const user = epsilonOfOrders(loss);
  const all = { single: user, event: user, user, delta: DELTA_NUMBER, loss, eventLoss: loss };
  const least = { rho: Math.floor(loss.orders[0] / 2) - blocks.length, single: 0, event: 0, user: 0 };
  return { ...all, clear: 0, each: Infinity, split: true, least };
}

/** Return the loss of one block of sums, from its squared changes and the noise's variance. */
function lossOfBlock(block) {
  const [, squared, largest, variance] = BLOCK.exec(block) ?? [];
  if (variance === undefined) throw new RangeError("this says nothing of sums.");
  return noiseLoss(BigInt(squared), BigInt(largest), readFraction(variance));
}

function countsOf(texts) {
  const counts = new Map();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/**
 * Compose the answers of one person; those of one text share their private number, of which the
 * reports of other answers, if `answers` counts more, tell too.
 */
function composed(texts, answers = new Map()) {
  const parts = [...countsOf(texts)].map(([text, changed]) => {
    const { some, ...whole } = lossOf(text, answers.get(text) ?? changed);
    if (!some || whole.count === changed) return lossOf(text, changed);
    const user = some(changed);
    return { ...whole, user, loss: pureLoss(user), points: null };
  });
  const most = (name) => Math.max(...parts.map((part) => part[name]));
  const loss = together(parts.map((part) => part.loss));
  const delta = most("delta");
  const outright = sum(parts.map(({ user }) => user));
  const noisy = parts.filter((part) => part.delta);
  // Only one of the epsilons that are added may fail; else divergences add, and become one.
  const alone = noisy.length === 1;
  const user = delta
    ? Math.min(alone ? outright : Infinity, epsilonOfOrders(loss), epsilonOfParts(pointsOf(parts)))
    : outright;
  const least = delta ? most("event") : outright;
  const eventLoss = parts
    .map((part) => part.eventLoss)
    .reduce((worst, one) => (tail(one) > tail(worst) ? one : worst));
  const [single, event, each] = [most("single"), most("event"), most("each")];
  const leastRho = sum(parts.map((part) => part.leastRho ?? 0));
  return { single, event, user, delta, loss, eventLoss, each, least, leastRho };
}

/** Return each part's distribution of losses; what has none of its own is known by its epsilon. */
function pointsOf(parts) {
  const known = parts.filter(({ user }) => user !== 0);
  if (known.some(({ user }) => user === Infinity)) return [null];
  return known.map(({ points, user, pointsCount }) => {
    const found = points?.();
    if (found) return { ...found, count: pointsCount };
    return points === null ? { ...pointsOfPure(user), count: 1 } : null;
  });
}

/** Return what `count` answers by one mechanism cost. */
export function lossOf(text, count) {
  const key = `${count} ${text}`;
  if (!known.has(key)) known.set(key, { count, ...lossOfDevice(deviceOf(text), count) });
  return known.get(key);
}

function lossOfDevice(device, count) {
  const points = device.points === undefined ? 0n : BigInt(device.points);
  if (device.name === "discrete-gaussian") return ofGaussian(device.variance, points, count);
  if (device.name === "discrete-laplace") return ofLaplace(device.scale, points, count);
  if (device.name === "bitwise-response") return ofBits(device, count);
  if (device.name === "subset-selection") return ofSubsets(device, count);
  if (device.name === "masked-order") return lossOfDevice(orderResponse(device), count);
  const { first, last, total, symbols } = readDevice(device);
  const keep = 2n * total - (symbols - 1n) * (first + last);
  const single = lossOfRatio(keep, first + last); // of a number that each person draws: the mean
  const one = { single, delta: 0 };
  if (first === last) {
    const user = lossOfRatio(keep, first + last, count);
    const report = responseLoss(total - (symbols - 1n) * first, first, symbols);
    const each = rhoOfResponse(Number(symbols), single);
    const leastRho = Math.max(0, each - 1) * count;
    const losses = independent(report, { single, user, count });
    const points = () => pointsOfResponse(total - (symbols - 1n) * first, first, symbols);
    const own = { points, pointsCount: count };
    return { ...one, ...own, event: single, user, each, leastRho, ...losses };
  }
  const each = rhoOfPure(single);
  if (count === 1) {
    const loss = pureLoss(single);
    return { ...one, event: single, user: single, each, loss, eventLoss: loss, points: null };
  }
  const { event, user, some } = patternsOf({ first, last, total, symbols }, count);
  const losses = { loss: pureLoss(user), eventLoss: pureLoss(event) };
  return { ...one, event, user, some, each: rhoOfPure(event), points: null, ...losses };
}

/** The losses of `count` reports that are masked separately; epsilons of many are rounded once. */
function independent(report, { single, user, count }) {
  if (report.pure === Infinity) return { loss: IN_CLEAR, eventLoss: IN_CLEAR };
  return {
    loss: withinPure(times(report, count), user),
    eventLoss: withinPure(times(report, Math.min(1, count)), single),
  };
}

/** The set that is drawn is public, so that an order loses what randomized response on it loses. */
function orderResponse({ size, null: masked, other, total }) {
  const symbols = (size === 2 ? 2 : 6) + (masked ? 1 : 0);
  return { name: "randomized-response", symbols, first: other, last: other, total };
}

/** A report speaks for one of two answers, for the other, or for both or neither. */
function ofSubsets({ choices, size, inside: insideText, total: totalText }, count) {
  const [inside, total] = [BigInt(insideText), BigInt(totalText)];
  const keep = inside * BigInt(choices - size);
  const other = (total - inside) * BigInt(size);
  const rest = total * BigInt(choices - 1) - keep - other;
  const [single, user] = [lossOfRatio(keep, other), lossOfRatio(keep, other, count)];
  const each = rhoOfKept(Number(keep) / Number(keep + other + rest), single);
  const losses = independent(threeWayLoss(keep, other, rest), { single, user, count });
  const own = { points: () => pointsOfThree(keep, other, rest), pointsCount: count };
  const leastRho = Math.max(0, each - 1) * count;
  return { single, event: single, user, delta: 0, each, leastRho, ...own, ...losses };
}

/** As many bits as one answer can change, each by randomized response. */
function ofBits(device, count) {
  const [other, total] = [BigInt(device.other), BigInt(device.total)];
  const [keep, changes] = [total - other, changedBits(device)];
  const single = lossOfRatio(keep, other, changes);
  const user = lossOfRatio(keep, other, changes * count);
  const bit = rhoOfResponse(2, lossOfRatio(keep, other));
  const each = sum(Array(changes).fill(bit));
  const losses = independent(times(responseLoss(keep, other, 2n), changes), { single, user, count });
  const leastRho = Math.max(0, bit - 1) * changes * count;
  const own = { points: () => pointsOfResponse(keep, other, 2n), pointsCount: changes * count };
  return { single, event: single, user, delta: 0, each, leastRho, ...own, ...losses };
}

function ofGaussian([top, bottom], points, count) {
  const variance = [BigInt(top), BigInt(bottom)];
  const distance = points - 1n;
  const eventLoss = noiseLoss(distance * distance, distance * distance, variance);
  const loss = times(eventLoss, count);
  const each = Math.ceil(eventLoss.orders[0] / 2);
  const single = epsilonOfOneReport(distance, variance, epsilonOfOrders(eventLoss));
  const own = { points: () => pointsOfNoise(distance, variance), pointsCount: count };
  const user = count === 1 ? single : Math.min(epsilonOfOrders(loss), epsilonOfParts(pointsOf([own])));
  const leastRho = amountOfFraction([distance * distance * variance[1] * BigInt(count), 2n * variance[0]]) - 1;
  return { single, event: single, user, delta: DELTA_NUMBER, each, leastRho, loss, eventLoss, ...own };
}

function ofLaplace([top, bottom], points, count) {
  const [above, below] = [(points - 1n) * BigInt(bottom), BigInt(top)];
  const single = amountOfFraction([above, below]);
  const user = amountOfFraction([above * BigInt(count), below]);
  const report = laplaceLoss(points - 1n, [BigInt(top), BigInt(bottom)]);
  const losses = independent(report, { single, user, count });
  const own = { points: () => pointsOfLaplace(points - 1n, [BigInt(top), BigInt(bottom)]), pointsCount: count };
  return { single, event: single, user, delta: 0, each: rhoOfPure(single), ...own, ...losses };
}
