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
import { readFraction } from "../../src/masquerade/server/web/static/mechanisms/fractions.js";
import { isGaussian, roomOf } from "../../src/masquerade/server/web/static/mechanisms/gaussian_room.js";
import { lossesOf } from "../../src/masquerade/server/web/static/mechanisms/losses.js";

const pure = (epsilon, rho, clear = 0) => ({ epsilon, unbounded: 0, rho, clear, user: epsilon });
const noisy = (rho) => ({ epsilon: 0, unbounded: 1, rho, clear: 0, user: 1 });
const gaussian = (rho) => ({ ...noisy(rho), gaussian: true });
const cases = JSON.parse(readFileSync(new URL("../vectors/caps.json", import.meta.url)));
const TEXTS = Array(20).fill("randomized-response:options=5,epsilon=0.5");

test("the usual caps are those of the library", () => {
  assert.deepEqual(USUAL_CAPS, { epsilon: 10000000, clear: 0 });
  assert.deepEqual(roomOf(USUAL_CAPS.epsilon), { rho: 1501163, gaussian: 1668610 });
});

test("what is exactly enough is enough, and one millionth more is not", () => {
  const caps = { epsilon: 3000000, clear: 0 };
  const { rho } = roomOf(caps.epsilon);
  assert.ok(admits([pure(2000000, 9e6)], pure(1000000, 9e6), caps));
  assert.ok(!admits([pure(2000000, 9e6)], pure(1000001, 9e6), caps));
  assert.ok(admits([noisy(rho - 5)], noisy(5), caps));
  assert.ok(!admits([noisy(rho - 5)], noisy(6), caps));
  // Either sum will do, but epsilons only where every response has one.
  assert.ok(admits([pure(9e6, rho - 5)], noisy(5), caps));
  assert.ok(!admits([pure(1, rho)], noisy(1), caps));
});

test("the library's caps and this device admit the same, at every edge of 83 caps", () => {
  assert.ok(cases.caps.length >= 80);
  for (const { epsilon, clear, rho, gaussian: further, totals } of cases.caps) {
    const caps = { epsilon, clear };
    assert.deepEqual(roomOf(epsilon), { rho, gaussian: further }, `cap ${epsilon}`);
    for (const [pureSum, rhoSum, clearSum, all, admitted] of totals) {
      const total = {
        epsilon: pureSum ?? 0, unbounded: pureSum === null ? 1 : 0, rho: rhoSum, clear: clearSum,
        user: null, gaussian: all,
      };
      const name = JSON.stringify([epsilon, total]);
      assert.equal(admits([], total, caps), admitted, name);
      // However a sum came about; one charge of another kind, or of before, is enough.
      const half = Math.floor(rhoSum / 2);
      const first = { ...total, epsilon: 0, rho: half, clear: 0 };
      const rest = { ...total, rho: rhoSum - half };
      assert.equal(admits([first], rest, caps), admitted, name);
      delete first.gaussian;
      if (half && all) {
        const sound = total.unbounded === 0 && total.epsilon <= epsilon;
        const without = (sound || rhoSum <= rho) && clearSum <= clear;
        assert.equal(admits([first], rest, caps), without, name);
      }
      if (clearSum > clear) continue;
      assert.equal(percentOf(total, caps) <= 100, admitted, `${name}: ${percentOf(total, caps)} %`);
    }
  }
});

test("noise counts as Gaussian where the library says so", () => {
  for (const [text, said] of cases.variances) assert.equal(isGaussian(readFraction(text)), said);
});

test("thirty numbers at the strongest level fit, as in the library", () => {
  const charge = chargeOf(lossesOf(["discrete-gaussian:low=1,high=5,step=0.1,sigma=12"]));
  assert.deepEqual([charge.gaussian, charge.rho], [true, 55556]);
  const many = (count) => Array(count).fill(charge);
  assert.ok(admits(many(29), charge, USUAL_CAPS));
  assert.ok(!admits(many(30), charge, USUAL_CAPS));
  assert.equal(percentOf(charge, USUAL_CAPS), 3.4);
  assert.ok(percentOf({ ...charge, rho: 30 * charge.rho }, USUAL_CAPS) <= 100);
  assert.ok(percentOf({ ...charge, rho: 1668611 }, USUAL_CAPS) > 100);
  assert.equal(balanceOf(many(30), USUAL_CAPS).percent_left, 0);
  assert.equal(balanceOf(many(27), USUAL_CAPS).percent_left, 10);
  // Beside other noise the shorter sum holds, and shares are of that one.
  assert.equal(percentOf(charge, USUAL_CAPS, [noisy(1)]), 3.8);
  assert.ok(!admits([noisy(1), ...many(27)], charge, USUAL_CAPS));
  // What this device wrote down before there was the flag is not Gaussian.
  const { gaussian: flag, ...old } = charge;
  assert.ok(!admits([old, ...many(26)], charge, USUAL_CAPS));
  assert.ok(admits([old, ...many(25)], charge, USUAL_CAPS));
});

test("answers in clear are counted apart, and none fits by default", () => {
  const clear = chargeOf(lossesOf(["randomized-response:options=2,flip_probability=0"]));
  assert.deepEqual(clear, {
    epsilon: 0, unbounded: 0, rho: 0, gaussian: false, clear: 1, user: null,
  });
  assert.ok(!admits([], clear, USUAL_CAPS));
  assert.ok(admits([clear], clear, { ...USUAL_CAPS, clear: 2 }));
  assert.ok(!admits([clear, clear], clear, { ...USUAL_CAPS, clear: 2 }));
});

test("a charge depends on the masks alone", () => {
  const charge = chargeOf(lossesOf(TEXTS));
  assert.equal(charge.epsilon, 10000000);
  assert.equal(charge.user, 10000000);
  assert.ok(admits([], charge, USUAL_CAPS));
  // The second fits by its rho, as it would in the library.
  assert.ok(admits([], { ...charge, epsilon: 10000001 }, USUAL_CAPS));
});

test("an amount without a limit fits no cap", () => {
  for (const charge of [pure(Infinity, Infinity), noisy(Infinity)]) {
    assert.ok(!admits([], charge, { epsilon: 1e12, clear: 0 }));
  }
  assert.equal(spentOf([noisy(2 ** 53 - 1), noisy(2 ** 53 - 1)]).rho, Infinity);
});

test("of two caps the lower one holds; what is no cap is none", () => {
  const own = { epsilon: 10000000, clear: 3 };
  assert.deepEqual(lowerCaps(own, { epsilon: 3, clear: 1 }), { epsilon: 3000000, clear: 1 });
  assert.deepEqual(lowerCaps(own, { epsilon: 1e9, clear: 200 }), own);
  for (const said of [null, undefined, {}, { epsilon: "inf", clear: null }, { epsilon: NaN },
    { epsilon: -1, clear: -5 }, { epsilon: Infinity }, { epsilon: [] }]) {
    assert.deepEqual(lowerCaps(own, said), own);
  }
});

test("what is left is shown rounded down, what is spent rounded up", () => {
  const standing = balanceOf([pure(1, 1)], USUAL_CAPS);
  assert.equal(standing.percent_left, 99);
  assert.equal(standing.epsilon_spent, 0.000001);
  assert.equal(balanceOf([], USUAL_CAPS).percent_left, 100);
  assert.equal(balanceOf([gaussian(834305)], USUAL_CAPS).percent_left, 50);
  assert.equal(balanceOf([noisy(2000000)], USUAL_CAPS).percent_left, 0);
  assert.equal(percentOf(pure(10, 10), USUAL_CAPS), 0.1);
});

test("all surveys together are the smallest of what bounds them, and never less than one", () => {
  assert.equal(epsilonOf([]), 0);
  assert.equal(epsilonOf([pure(5, 1539278)]), 5);
  const mixed = { ...noisy(300000), user: 1400000 };
  assert.equal(epsilonOf([mixed]), 1400000);
  assert.equal(epsilonOf([mixed, pure(100, 100)]), 1400100);
  // Two that may fail are not added: their rhos are.
  const both = epsilonOf([mixed, mixed]);
  assert.ok(both > 2 * 1400000 && both <= 10000000);
  assert.equal(balanceOf([mixed], USUAL_CAPS).delta, 0.000001);
  assert.equal(balanceOf([pure(5, 5)], USUAL_CAPS).delta, 0);
});
