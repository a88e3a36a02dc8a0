// What a level costs, from its mechanisms alone: every amount that this app shows, charges and
// compares is worked out here, in whole millionths that are never below the true loss.
//
//   single     for a person who sends one report in a lifetime
//   event      two worlds differ in one answer, and all reports are seen
//   user       they differ in all answers
//   delta      the chance with which the epsilons may fail: 0, or a millionth where there is noise
//   rho        zero-concentrated loss of all answers that are masked
//   pure       the same as user where it holds outright, else Infinity; also of the masked ones
//   clear      how many answers are sent as they are
//   gaussian   whether all that is masked counts as masked by Gaussian noise
//   each       rho of the answer that is masked the least, all reports seen
//
// `least` holds amounts that are certainly reached: who states less states what is not so.

import {
  DELTA_NUMBER,
  epsilonOfRho,
  rhoOfLaplace,
  rhoOfPure,
  rhoOfResponse,
} from "./concentrated.js";
import { amountOfFraction, fraction, lossOfRatio, sum } from "./fractions.js";
import { isGaussian } from "./gaussian_room.js";
import { epsilonOfOneReport } from "./gaussian_tail.js";
import { changedBits, readDevice } from "./mask.js";
import { deviceOf } from "./text.js";
import { patternsOf } from "./two_layer.js";

const known = new Map();

/**
 * Return what one response costs.
 *
 * @param {string[]} texts the mechanism of each question
 * @param {number[][]} linked places of questions whose reports can change with one answer
 */
export function lossesOf(texts, linked = []) {
  const { leastRho, least, ...all } = composed(texts);
  const answers = countsOf(texts);
  const groups = linked.map((places) => composed(places.map((place) => texts[place]), answers));
  const masked = texts.filter((text) => lossOf(text, 1).single < Infinity);
  const kept = masked.length ? composed(masked) : { user: 0, delta: 0, rho: 0, gaussian: false };
  return {
    ...all,
    event: Math.max(all.event, ...groups.map(({ user }) => user)),
    rho: kept.rho,
    gaussian: kept.gaussian,
    pure: kept.delta ? Infinity : kept.user,
    clear: texts.length - masked.length,
    least: {
      rho: leastRho,
      event: Math.max(all.event, ...groups.map((group) => group.least)),
      user: least,
    },
  };
}

/**
 * Return what a response costs that is added up with noise on the sums, from its rho in millionths:
 * one answer is stated at the cost of all, which bounds it.
 */
export function lossesOfSums(rho) {
  const user = epsilonOfRho(rho);
  const one = { single: user, event: user, user, delta: DELTA_NUMBER, rho, each: rho };
  const least = { rho, event: user, user };
  return { ...one, pure: Infinity, clear: 0, gaussian: true, split: true, least };
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
    return { ...whole, user, rho: rhoOfPure(user) };
  });
  const most = (name) => Math.max(...parts.map((part) => part[name]));
  const rho = sum(parts.map((part) => part.rho));
  const delta = most("delta");
  const outright = sum(parts.map(({ user }) => user));
  const noisy = parts.filter((part) => part.delta);
  // Only one of the epsilons that are added may fail; else rhos add, and then become one.
  const alone = noisy.length === 1 && noisy[0].count === 1;
  const user = delta ? Math.min(alone ? outright : Infinity, epsilonOfRho(rho)) : outright;
  const least = delta ? most("event") : outright;
  const leastRho = sum(parts.map((part) => part.leastRho ?? 0));
  const each = most("each");
  const gaussian = parts.every((part) => part.gaussian === true);
  const [single, event] = [most("single"), most("event")];
  return { single, event, user, delta, rho, each, gaussian, least, leastRho };
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
  const { first, last, total, symbols } = readDevice(device);
  const keep = 2n * total - (symbols - 1n) * (first + last);
  const single = lossOfRatio(keep, first + last); // of a number that each person draws: the mean
  const one = { single, delta: 0 };
  if (first === last) {
    const user = lossOfRatio(keep, first + last, count);
    const each = rhoOfResponse(Number(symbols), single);
    const rho = sum(Array(count).fill(each));
    return { ...one, event: single, user, rho, each, leastRho: Math.max(0, each - 1) * count };
  }
  if (count === 1) {
    const rho = rhoOfPure(single);
    return { ...one, event: single, user: single, rho, each: rho };
  }
  const { event, user, some } = patternsOf({ first, last, total, symbols }, count);
  return { ...one, event, user, some, rho: rhoOfPure(user), each: rhoOfPure(event) };
}

/** As many bits as one answer can change, each by randomized response. */
function ofBits(device, count) {
  const [other, total] = [BigInt(device.other), BigInt(device.total)];
  const [keep, changes] = [total - other, changedBits(device)];
  const single = lossOfRatio(keep, other, changes);
  const user = lossOfRatio(keep, other, changes * count);
  const bit = rhoOfResponse(2, lossOfRatio(keep, other));
  const each = sum(Array(changes).fill(bit));
  const rho = sum(Array(count).fill(each));
  const leastRho = Math.max(0, bit - 1) * changes * count;
  return { single, event: single, user, delta: 0, rho, each, leastRho };
}

function ofGaussian([top, bottom], points, count) {
  const variance = [BigInt(top), BigInt(bottom)];
  const distance = points - 1n;
  const single = epsilonOfOneReport(distance, variance);
  const each = amountOfFraction(fraction(distance * distance * variance[1], 2n * variance[0]));
  const rho = sum(Array(count).fill(each));
  const user = count === 1 ? single : epsilonOfRho(rho);
  const gaussian = isGaussian(variance);
  return { single, event: single, user, delta: DELTA_NUMBER, rho, each, gaussian, leastRho: rho };
}

function ofLaplace([top, bottom], points, count) {
  const [above, below] = [(points - 1n) * BigInt(bottom), BigInt(top)];
  const single = amountOfFraction([above, below]);
  const user = amountOfFraction([above * BigInt(count), below]);
  const each = rhoOfLaplace(points - 1n, [BigInt(bottom), BigInt(top)]);
  return { single, event: single, user, delta: 0, rho: sum(Array(count).fill(each)), each };
}
