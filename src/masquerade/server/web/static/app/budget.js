// What this device has counted itself, and the cap that its person set on it. Whatever a server
// forgets or invents, this device stops here.
//
// A charge is what one survey cost: {token, place, epsilon, unbounded, rho, gaussian, clear, user},
// in whole millionths; `unbounded` is 1 where no epsilon bounds the masked answers outright, and rho
// alone counts. `gaussian` is true where all masks are Gaussian noise; a charge without it, of
// before there was such a rule, is not. `user` is what is shown of it, null where nothing bounds it;
// `place` is its order here. A response is admitted where, with all charges, either the epsilons or
// the rhos are within the cap, whose rhos reach further where all charges are Gaussian
// (masquerade.accounting.caps proves why either will do), and so are the answers in clear.

import { DELTA_NUMBER, epsilonOfRho } from "../mechanisms/concentrated.js";
import { amountOf, ceil, sum } from "../mechanisms/fractions.js";
import { roomOf } from "../mechanisms/gaussian_room.js";

/** The library's own caps. */
export const USUAL_CAPS = { epsilon: 10e6, clear: 0 };

/** Return what a level costs as a charge. */
export function chargeOf(losses) {
  const unbounded = losses.pure === Infinity;
  return {
    epsilon: unbounded ? 0 : losses.pure,
    unbounded: unbounded ? 1 : 0,
    rho: losses.rho,
    gaussian: losses.gaussian,
    clear: losses.clear,
    user: losses.user === Infinity ? null : losses.user,
  };
}

/** Return all charges together. */
export function spentOf(charges) {
  const all = (name) => sum(charges.map((charge) => charge[name]));
  return {
    epsilon: all("epsilon"),
    unbounded: all("unbounded"),
    rho: all("rho"),
    gaussian: charges.every(({ gaussian, rho }) => gaussian === true || rho === 0),
    clear: all("clear"),
    surveys: charges.length,
  };
}

/** Return whether a charge fits into the cap beside those there are. */
export function admits(charges, charge, caps) {
  const total = spentOf([...charges, charge]);
  const outright = total.unbounded === 0 && total.epsilon <= caps.epsilon;
  return (outright || total.rho <= mostRho(total, caps)) && total.clear <= caps.clear;
}

/** Return the rho that all charges together may come to. */
function mostRho({ gaussian, rho }, caps) {
  const room = roomOf(caps.epsilon);
  return gaussian && rho > 0 ? room.gaussian : room.rho;
}

/**
 * Return the lower of the device's own caps and those the server says it keeps.
 *
 * @param {{epsilon: number, clear: number}} own in millionths, and a count
 * @param {object|null} theirs as the server wrote them, believed only where they are lower
 */
export function lowerCaps(own, theirs) {
  const lower = (mine, said, unit) =>
    Number.isFinite(said) && said >= 0 ? Math.min(mine, Math.floor(said * unit + 1e-6)) : mine;
  return {
    epsilon: lower(own.epsilon, theirs?.epsilon, 1e6),
    clear: lower(own.clear, theirs?.clear, 1),
  };
}

/**
 * Return the epsilon of all that is masked, in millionths: the smallest of three sound bounds.
 *
 * Epsilons that hold outright add up, and one that may fail can be added to them; rhos add up, and
 * then become one epsilon.
 */
export function epsilonOf(charges) {
  const { epsilon, unbounded, rho } = spentOf(charges);
  const noisy = charges.filter((charge) => charge.unbounded > 0);
  const alone = noisy.length === 1 ? (noisy[0].user ?? Infinity) : Infinity;
  return Math.min(epsilon + (unbounded ? alone : 0), epsilonOfRho(rho));
}

/** Return what is spent and left, as people see it. */
export function balanceOf(charges, caps) {
  const spent = spentOf(charges);
  const together = epsilonOf(charges);
  const share = (used, of) => (of > 0 ? Math.max(0, Math.floor((100 * (of - used)) / of)) : 0);
  const outright = spent.unbounded ? 0 : share(spent.epsilon, caps.epsilon);
  return {
    percent_left: Math.max(outright, share(spent.rho, mostRho(spent, caps))),
    epsilon_spent: together / 1e6,
    epsilon_cap: caps.epsilon / 1e6,
    delta: spent.unbounded || together < spent.epsilon ? DELTA_NUMBER : 0,
    clear: spent.clear,
    surveys: spent.surveys,
  };
}

/**
 * Return the share of the cap in percent that one charge takes, rounded up to tenths: of the sum by
 * which it would be admitted beside the others, so above 100 where the cap is too low for it.
 */
export function percentOf(charge, caps, others = []) {
  const total = spentOf([...others, charge]);
  const shares = [tenths(charge.rho, mostRho(total, caps))];
  if (!total.unbounded) shares.push(tenths(charge.epsilon, caps.epsilon));
  return Math.min(...shares) / 10;
}

function tenths(used, of) {
  if (used === 0 || used === Infinity || of === 0) return used && Infinity;
  return amountOf(ceil(1000n * BigInt(used), BigInt(of)));
}
