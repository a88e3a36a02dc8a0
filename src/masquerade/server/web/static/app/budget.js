// What this device has counted itself, and the cap that its person set on it. Whatever a server
// forgets or invents, this device stops here.
//
// A charge is what one survey cost: {token, place, pure, orders, clock, clear, user}, in whole
// millionths, null where nothing bounds an amount. `user` is what is shown of it; `place` is its
// order here. A response is admitted where, with all charges, the pure epsilons, or the divergences
// of the cap's order, or the clocks are within the cap (masquerade.accounting.caps proves why any
// of them will do), and so are the answers in clear. Charges that an earlier version of this app
// kept hold a rho, and the word that all noise was Gaussian, which is not believed.

import { amountOf, ceil, sum } from "../mechanisms/fractions.js";
import { epsilonOfOrders, pureLoss, rhoLoss, together } from "../mechanisms/loss.js";
import { DELTA_NUMBER, roomOf } from "../mechanisms/room.js";

/** The library's own caps. */
export const USUAL_CAPS = { epsilon: 10e6, clear: 0 };

const written = (amount) => (amount === Infinity ? null : amount);
const read = (amount) => amount ?? Infinity;

/** Return what a level costs as a charge. */
export function chargeOf({ loss, clear, user }) {
  return {
    pure: written(loss.pure),
    orders: loss.orders.map(written),
    clock: written(loss.clock),
    clear,
    user: written(user),
  };
}

/** Return the loss of a charge, also of one that an earlier version kept. */
export function lossOfCharge({ pure, orders, clock, epsilon, unbounded, rho }) {
  if (orders) return { pure: read(pure), orders: orders.map(read), clock: read(clock) };
  return unbounded ? rhoLoss(read(rho)) : pureLoss(read(epsilon));
}

/** Return all charges together. */
export function spentOf(charges) {
  return {
    ...together(charges.map(lossOfCharge)),
    clear: sum(charges.map(({ clear }) => clear)),
    surveys: charges.length,
  };
}

/** Return what is used of each sum that may admit, and how far it may go. */
function conditions({ pure, orders, clock }, { epsilon }) {
  const room = roomOf(epsilon);
  return [
    [pure, epsilon],
    [orders[room.place], room.divergence],
    [clock, room.clock],
  ];
}

/** Return whether a charge fits into the cap beside those there are. */
export function admits(charges, charge, caps) {
  const total = spentOf([...charges, charge]);
  // A lower cap may count another order, so that it is not always the stricter one.
  const within = [caps.epsilon, caps.own ?? caps.epsilon].every((epsilon) =>
    conditions(total, { epsilon }).some(([used, most]) => used <= most),
  );
  return within && total.clear <= caps.clear;
}

/**
 * Return the lower of the device's own caps and those the server says it keeps.
 *
 * @param {{epsilon: number, clear: number}} own in millionths, and a count
 * @param {object|null} theirs as the server wrote them, believed only where they are lower
 * @returns {{epsilon: number, clear: number, own?: number}} with the device's own epsilon where it
 *   is larger: `admits` asks for both
 */
export function lowerCaps(own, theirs) {
  const lower = (mine, said, unit) =>
    Number.isFinite(said) && said >= 0 ? Math.min(mine, Math.floor(said * unit + 1e-6)) : mine;
  const epsilon = lower(own.epsilon, theirs?.epsilon, 1e6);
  const clear = lower(own.clear, theirs?.clear, 1);
  return { epsilon, clear, ...(epsilon < own.epsilon && { own: own.epsilon }) };
}

/** Return the epsilon of all that is masked, in millionths, at the delta of this app. */
export function epsilonOf(charges) {
  const spent = spentOf(charges);
  const noisy = charges.filter((charge) => lossOfCharge(charge).pure === Infinity);
  // One epsilon that holds at the delta can be added to those that hold outright.
  const rest = charges.filter((charge) => !noisy.includes(charge));
  const alone = noisy.length === 1 ? spentOf(rest).pure + read(noisy[0].user) : Infinity;
  return Math.min(alone, epsilonOfOrders(spent));
}

/** Return what is spent and left, as people see it. */
export function balanceOf(charges, caps) {
  const spent = spentOf(charges);
  const epsilon = epsilonOf(charges);
  const share = ([used, of]) => (of > 0 ? Math.max(0, Math.floor((100 * (of - used)) / of)) : 0);
  return {
    percent_left: Math.max(...conditions(spent, caps).map(share)),
    epsilon_spent: epsilon / 1e6,
    epsilon_cap: caps.epsilon / 1e6,
    delta: epsilon < spent.pure ? DELTA_NUMBER : 0,
    clear: spent.clear,
    surveys: spent.surveys,
  };
}

/**
 * Return the share of the cap in percent that one charge takes, rounded up to tenths: of the sum by
 * which it would be admitted beside the others, so above 100 where the cap is too low for it.
 */
export function percentOf(charge, caps, others = []) {
  const total = conditions(spentOf([...others, charge]), caps);
  const own = conditions(lossOfCharge(charge), caps);
  const shares = own
    .filter((_, place) => total[place][0] < Infinity)
    .map(([used, most]) => tenths(used, most));
  return Math.min(Infinity, ...shares) / 10;
}

function tenths(used, of) {
  if (used === 0 || used === Infinity || of === 0) return used && Infinity;
  return amountOf(ceil(1000n * BigInt(used), BigInt(of)));
}
