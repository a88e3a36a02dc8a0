// What this device has counted itself, and where it stops.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  USUAL_CAPS,
  admits,
  chargeOf,
  epsilonOf,
  lowerCaps,
  percentOf,
  spentOf,
  balanceOf,
} from "../../src/masquerade/server/web/static/app/budget.js";
import * as made from "../../src/masquerade/server/web/static/mechanisms/loss.js";
import { ORDERS, epsilonOfOrders, tail } from "../../src/masquerade/server/web/static/mechanisms/loss.js";
import { lossesOf, lossesOfSums } from "../../src/masquerade/server/web/static/mechanisms/losses.js";
import { roomOf, tailOfCap } from "../../src/masquerade/server/web/static/mechanisms/room.js";

const all = (amount) => ORDERS.map(() => amount);
const pure = (epsilon, divergence, clear = 0) => ({
  pure: epsilon, orders: all(divergence), clock: null, clear, user: epsilon,
});
const noisy = (divergence, clock = null) => ({
  pure: null, orders: all(divergence), clock, clear: 0, user: 1,
});
const cases = JSON.parse(readFileSync(new URL("../vectors/caps.json", import.meta.url)));
const TEXTS = Array(20).fill("randomized-response:options=5,epsilon=0.5");
const written = (amount) => (amount === Infinity ? null : amount);

test("the usual caps are those of the library", () => {
  assert.deepEqual(USUAL_CAPS, { epsilon: 10000000, clear: 0 });
  assert.deepEqual(roomOf(USUAL_CAPS.epsilon), { place: 2, divergence: 5839179, clock: 3276462 });
});

test("1,000 losses have the library's amounts, tails and epsilons, to a millionth", () => {
  const makers = {
    pure: ([size]) => made.pureLoss(Number(size)),
    response: (parts) => made.responseLoss(...parts.map(BigInt)),
    laplace: ([steps, ...scale]) => made.laplaceLoss(BigInt(steps), scale.map(BigInt)),
    noise: ([squared, largest, ...variance]) =>
      made.noiseLoss(BigInt(squared), BigInt(largest), variance.map(BigInt)),
    rho: ([size]) => made.rhoLoss(Number(size)),
  };
  assert.ok(cases.losses.length >= 1000);
  for (const [[kind, ...parts], pureAmount, orders, clock, ...ends] of cases.losses) {
    const loss = makers[kind](parts);
    const found = [loss.pure, loss.clock, tail(loss), epsilonOfOrders(loss)].map(written);
    assert.deepEqual(found, [pureAmount, clock, ...ends], `${kind} ${parts}`);
    assert.deepEqual(loss.orders.map(written), orders, `${kind} ${parts}`);
  }
});

test("what is exactly enough is enough, and one millionth more is not", () => {
  const caps = { epsilon: 3000000, clear: 0 };
  const { divergence, clock } = roomOf(caps.epsilon);
  assert.ok(admits([pure(2000000, 9e6)], pure(1000000, 9e6), caps));
  assert.ok(!admits([pure(2000000, 9e6)], pure(1000001, 9e6), caps));
  assert.ok(admits([noisy(divergence - 5)], noisy(5), caps));
  assert.ok(!admits([noisy(divergence - 5)], noisy(6), caps));
  assert.ok(admits([noisy(9e6, clock - 5)], noisy(9e6, 5), caps));
  assert.ok(!admits([noisy(9e6, clock - 5)], noisy(9e6, 6), caps));
  // Any sum will do, but epsilons and clocks only where every response has one.
  assert.ok(admits([pure(9e6, divergence - 5)], noisy(5), caps));
  assert.ok(!admits([pure(1, divergence)], noisy(1, 1), caps));
});

test("the library's caps and this device admit the same, at every edge of 205 caps", () => {
  assert.ok(cases.caps.length >= 205);
  for (const { epsilon, clear, room, tail: bound, totals } of cases.caps) {
    const caps = { epsilon, clear };
    const { place, divergence, clock } = roomOf(epsilon);
    assert.deepEqual([ORDERS[place], divergence, clock], room, `cap ${epsilon}`);
    assert.equal(tailOfCap(epsilon), bound, `cap ${epsilon}`);
    for (const [pureSum, sumOfOrder, clockSum, clearSum, admitted] of totals) {
      const total = {
        pure: pureSum, orders: all(sumOfOrder), clock: clockSum, clear: clearSum, user: null,
      };
      const name = JSON.stringify([epsilon, total]);
      assert.equal(admits([], total, caps), admitted, name);
      // However a sum came about.
      const half = Math.floor(sumOfOrder / 2);
      const first = { ...total, pure: 0, clock: 0, orders: all(half), clear: 0 };
      const rest = { ...total, orders: all(sumOfOrder - half) };
      assert.equal(admits([first], rest, caps), admitted, name);
      if (clearSum > clear) continue;
      assert.equal(percentOf(total, caps) <= 100, admitted, `${name}: ${percentOf(total, caps)} %`);
    }
  }
});

test("twenty-nine numbers at the strongest level fit, as in the library", () => {
  const charge = chargeOf(lossesOf(["discrete-gaussian:low=1,high=5,step=0.1,sigma=12"]));
  assert.deepEqual([charge.pure, charge.clock, charge.orders[0]], [null, 111112, 111112]);
  const many = (count) => Array(count).fill(charge);
  assert.ok(admits(many(28), charge, USUAL_CAPS));
  assert.ok(!admits(many(29), charge, USUAL_CAPS));
  assert.equal(percentOf(charge, USUAL_CAPS), 3.4);
  assert.equal(balanceOf(many(29), USUAL_CAPS).percent_left, 1);
  // Beside other masks divergences count, and shares are of that sum.
  assert.equal(percentOf(charge, USUAL_CAPS, [noisy(1)]), 3.9);
  assert.ok(!admits([noisy(1), ...many(26)], charge, USUAL_CAPS));
});

test("what an earlier version wrote down counts by its epsilon or rho, whatever it says of noise", () => {
  const old = { epsilon: 0, unbounded: 1, rho: 55556, gaussian: true, clear: 0, user: 1447577 };
  const many = (count) => Array(count).fill(old);
  assert.ok(admits(many(25), old, USUAL_CAPS));
  assert.ok(!admits(many(26), old, USUAL_CAPS));
  const outright = { epsilon: 10e6, unbounded: 0, rho: 1, clear: 0, user: 10e6 };
  assert.ok(admits([], outright, USUAL_CAPS));
  assert.ok(!admits([outright], { ...outright, epsilon: 1 }, USUAL_CAPS));
});

test("a survey between two parties that reached beyond its cap is refused", () => {
  const oneSum = chargeOf(lossesOfSums("two-parties:1/1/500000/697069"));
  assert.ok(!admits([], oneSum, { epsilon: 6e6, clear: 0 }));
  assert.ok(admits([], oneSum, { epsilon: 6542793, clear: 0 }));
  assert.throws(() => lossesOfSums("two-parties:1/1"), RangeError);
  const before = lossesOfSums("two-parties:rho=0.5").loss;
  assert.deepEqual([before.orders[0], before.clock], [1000000, Infinity]);
});

test("answers in clear are counted apart, and none fits by default", () => {
  const clear = chargeOf(lossesOf(["randomized-response:options=2,flip_probability=0"]));
  assert.deepEqual(clear, { pure: 0, orders: all(0), clock: 0, clear: 1, user: null });
  assert.ok(!admits([], clear, USUAL_CAPS));
  assert.ok(admits([clear], clear, { ...USUAL_CAPS, clear: 2 }));
  assert.ok(!admits([clear, clear], clear, { ...USUAL_CAPS, clear: 2 }));
});

test("a charge depends on the masks alone", () => {
  const charge = chargeOf(lossesOf(TEXTS));
  assert.equal(charge.pure, 10000000);
  assert.equal(charge.user, 10000000);
  assert.ok(admits([], charge, USUAL_CAPS));
  // The second fits by its divergence, as it would in the library.
  assert.ok(admits([], { ...charge, pure: 10000001 }, USUAL_CAPS));
});

test("an amount without a limit fits no cap", () => {
  for (const charge of [pure(Infinity, Infinity), noisy(null), noisy(Infinity)]) {
    assert.ok(!admits([], charge, { epsilon: 1e12, clear: 0 }));
  }
  assert.equal(spentOf([noisy(2 ** 53 - 1), noisy(2 ** 53 - 1)]).orders[0], Infinity);
});

test("of two caps the lower one holds; what is no cap is none", () => {
  const own = { epsilon: 10000000, clear: 3 };
  const lower = { epsilon: 3000000, clear: 1, own: 10000000 };
  assert.deepEqual(lowerCaps(own, { epsilon: 3, clear: 1 }), lower);
  assert.deepEqual(lowerCaps(own, { epsilon: 1e9, clear: 200 }), own);
  for (const said of [null, undefined, {}, { epsilon: "inf", clear: null }, { epsilon: NaN },
    { epsilon: -1, clear: -5 }, { epsilon: Infinity }, { epsilon: [] }]) {
    assert.deepEqual(lowerCaps(own, said), own);
  }
});

test("a server that names a lower cap does not make this device admit more", () => {
  // the order of 13.16 has more room than that of 13.17, for divergences that grow little
  const own = { epsilon: 13170000, clear: 0 };
  const caps = lowerCaps(own, { epsilon: 13.16 });
  const charge = pure(20000000, 8000000);
  assert.ok(admits([], charge, { epsilon: 13160000, clear: 0 }));
  assert.ok(!admits([], charge, own));
  assert.ok(!admits([], charge, caps));
});

test("what is left is shown rounded down, what is spent rounded up", () => {
  const standing = balanceOf([pure(1, 1)], USUAL_CAPS);
  assert.equal(standing.percent_left, 99);
  assert.equal(standing.epsilon_spent, 0.000001);
  assert.equal(balanceOf([], USUAL_CAPS).percent_left, 100);
  assert.equal(balanceOf([noisy(6e6, 1638231)], USUAL_CAPS).percent_left, 50);
  assert.equal(balanceOf([noisy(6000000)], USUAL_CAPS).percent_left, 0);
  assert.equal(percentOf(pure(10, 10), USUAL_CAPS), 0.1);
});

test("all surveys together are the smallest of what bounds them, and never less than one", () => {
  assert.equal(epsilonOf([]), 0);
  assert.equal(epsilonOf([pure(5, 1539278)]), 5);
  const mixed = { ...noisy(300000), user: 1400000, orders: ORDERS.map((a) => a * 60000) };
  assert.equal(epsilonOf([mixed]), 1400000);
  assert.equal(epsilonOf([mixed, pure(100, 100)]), 1400100);
  // Two that may fail are not added: their divergences are.
  const both = epsilonOf([mixed, mixed]);
  assert.ok(both > 1400000 && both < 2 * 1400000);
  assert.equal(balanceOf([mixed], USUAL_CAPS).delta, 0.000001);
  assert.equal(balanceOf([pure(5, 5)], USUAL_CAPS).delta, 0);
});
