// What a level costs, worked out by the device from the mechanisms alone: equal to Python's
// amounts, which tests/server/test_loss_vectors.py holds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  exp,
  log,
  lossOfRatio,
  readFraction,
} from "../../src/masquerade/server/web/static/mechanisms/fractions.js";
import { rhoOfPure, rhoOfResponse, tail } from "../../src/masquerade/server/web/static/mechanisms/loss.js";
import { lossOf, lossesOf } from "../../src/masquerade/server/web/static/mechanisms/losses.js";
import { deviceOf } from "../../src/masquerade/server/web/static/mechanisms/text.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url)));
const cases = read("losses.json");
/** Of these Python counts all answers together where each by itself comes to less in rho. */
const looser = (texts) => texts.some((text) => text.includes("low=0.3,high=0.3"));
const near = (one, other) => one === other || Math.abs(one - other) <= 1;
const limit = (amount) => amount ?? Infinity;

test("every device form follows from the mechanism's text, as in Python", () => {
  const forms = [
    ...cases.flatMap(({ devices }) => Object.entries(devices)),
    ...["mechanisms.json", "lattice.json"].flatMap((name) =>
      read(name).map(({ mechanism, device }) => [mechanism, device]),
    ),
  ];
  assert.ok(forms.length > 1400);
  for (const [text, device] of forms) assert.deepEqual(deviceOf(text), device, text);
});

test("1,400 levels cost what Python says, to a millionth; bounds are never below", () => {
  assert.ok(cases.length >= 1400);
  for (const { mechanisms, linked, clear, ...said } of cases) {
    const texts = mechanisms.flatMap(([text, times]) => Array(times).fill(text));
    const found = lossesOf(texts, linked);
    const name = JSON.stringify([mechanisms, linked]);
    assert.ok(near(found.single, limit(said.single)), `${name}: single ${found.single}`);
    assert.equal(found.delta, said.delta, name);
    assert.equal(found.clear, clear, name);
    const looseHere = looser(texts);
    if (!looseHere) {
      assert.ok(near(found.loss.pure, limit(said.loss.pure)), `${name}: pure ${found.loss.pure}`);
      assert.ok(near(found.loss.clock, limit(said.loss.clock)), `${name}: clock`);
      found.loss.orders.forEach((amount, place) => {
        const off = Math.abs(amount - limit(said.loss.orders[place]));
        assert.ok(amount === limit(said.loss.orders[place]) || off <= linked.length + 1, `${name}: ${place}`);
      });
      if (!clear) assert.ok(near(tail(found.eventLoss), limit(said.event_tail)), `${name}: tail`);
    }
    const noise = texts.filter((text) => text.startsWith("discrete-gaussian")).length;
    if (noise === 0) {
      assert.ok(near(found.event, limit(said.event)), `${name}: event ${found.event}`);
      assert.ok(near(found.user, limit(said.user)), `${name}: user ${found.user}`);
    } else {
      // Both add up losses on a grid, the device on a coarser one. Of linked answers Python knows a
      // response by its epsilon alone where others of the same mechanism are not linked.
      const event = linked.length && looser(texts) ? found.single : said.event / 1.02 - 1;
      assert.ok(found.event >= event, `${name}: event ${found.event}`);
      const [low, high] = [said.user / 1.001 - 1, said.user * 1.01 + 1];
      assert.ok(found.user >= (looser(texts) ? found.single : low), `${name}: user ${found.user}`);
      assert.ok(found.user <= high, `${name}: user ${found.user}, Python says ${said.user}`);
    }
    for (const least of Object.values(found.least)) assert.ok(least <= limit(said.user), name);
    assert.ok(found.least.event <= limit(said.event), name);
  }
});

test("a private number for twenty answers is priced by what they say together", () => {
  const texts = Array(20).fill("two-layer:options=2,low=0,high=1");
  const { single, event, user } = lossesOf(texts);
  assert.deepEqual({ single, event, user }, { single: 0, event: 2995733, user: 12126792 });
});

test("an answer that decides what else is asked is seen through all of that", () => {
  const texts = Array(4).fill("randomized-response:options=2,epsilon=0.5,null=true");
  assert.equal(lossesOf(texts).event, 500000);
  assert.equal(lossesOf(texts, [[0, 1, 3]]).event, 1500000);
});

test("logarithms and exponentials lie between their bounds", () => {
  const one = 2 ** -60;
  const shown = (bound) => Number(bound >> 260n) * one;
  for (const [top, bottom] of [[3n, 1n], [1n, 3n], [10001n, 10000n], [7n ** 4000n, 3n ** 4000n]]) {
    const [low, high] = log(top, bottom);
    const about = shown(low);
    assert.ok(low < high && high - low < 1n << 64n);
    const value = top > 10n ** 9n ? 4000 * Math.log(7 / 3) : Math.log(Number(top) / Number(bottom));
    assert.ok(Math.abs(about - value) < 1e-9 * Math.abs(value) + 1e-12);
  }
  const [low, high] = exp(5n, 2n);
  assert.ok(low < high && Math.abs(shown(low) - Math.exp(2.5)) < 1e-9);
  assert.equal(lossOfRatio(3n, 1n), 1098613);
  assert.equal(lossOfRatio(1n, 0n), Infinity);
});

test("rho of mechanisms is what the library says", () => {
  assert.equal(rhoOfPure(1e6), 462118);
  assert.equal(rhoOfResponse(2, 1e6), 462118);
});

test("a text that is no mechanism, or one this device does not know, is refused", () => {
  const wrong = [
    "", "clear", "randomized-response", "randomized-response:", "unheard-of:options=2",
    "randomized-response:options=2", "randomized-response:options=1,epsilon=1",
    "randomized-response:options=2,epsilon=1,epsilon=1", "randomized-response:options=2,epsilon=nan",
    "randomized-response:options=2,epsilon=-1", "randomized-response:options=2,epsilon=1e3",
    "randomized-response:options=2,epsilon=1,flip_probability=0.1", "toString:options=2",
    "randomized-response:options=2,flip_probability=1.5", "randomized-response:options=2,constructor=1",
    "randomized-response:options=2,epsilon=1,null=1", "two-layer:options=2,low=0.5,high=0.1",
    "two-layer:options=2,low=0,high=0.000000000001", "two-layer:options=2,low=0,high=2",
    "discrete-gaussian:low=0,high=1,sigma=0", "discrete-gaussian:low=1,high=0,sigma=1",
    "discrete-laplace:low=0,high=1,epsilon=0", "discrete-laplace:low=0,high=1,epsilon=1,fill=1",
    "quantised-response:low=0,high=1,epsilon=1,levels=auto", `two-layer:${"0".repeat(6000)}`,
    null, undefined, 7, {}, [],
  ];
  for (const text of wrong) {
    assert.throws(() => deviceOf(text), /./, String(text).slice(0, 80));
    assert.throws(() => lossOf(text, 1));
  }
  for (const text of ["", "1e3", "0x10", "1/0", "١", "1.", ".5", "--1", "9".repeat(1001)]) {
    assert.throws(() => readFraction(text), RangeError, text.slice(0, 9));
  }
});
