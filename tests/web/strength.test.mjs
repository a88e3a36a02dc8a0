// The names of levels follow from their masks, whatever a server calls them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { lossesOf } from "../../src/masquerade/server/web/static/mechanisms/losses.js";
import { keepProbabilityAt, strengthOf } from "../../src/masquerade/server/web/static/app/strength.js";

const { surveys } = JSON.parse(
  readFileSync(new URL("../vectors/hostile-server.json", import.meta.url), "utf8"),
);
const strength = (...texts) => strengthOf(lossesOf(texts));

test("the library's levels have the library's names, for every kind of question", () => {
  let levels = 0;
  for (const { steps } of Object.values(surveys)) {
    for (const { name, mechanisms } of steps.invitation.body.levels) {
      assert.equal(strength(...mechanisms), name);
      levels++;
    }
  }
  assert.ok(levels >= 7);
});

test("the weakest mask names the level", () => {
  const strong = "randomized-response:options=2,epsilon=0.1";
  assert.equal(strength(strong), "high");
  assert.equal(strength(strong, "randomized-response:options=2,epsilon=0.6"), "medium");
  assert.equal(strength(strong, "randomized-response:options=2,epsilon=1.4"), "low");
  assert.equal(strength(strong, "randomized-response:options=2,epsilon=2"), "little");
  assert.equal(strength(strong, "randomized-response:options=2,flip_probability=0"), "none");
});

test("a private number for many answers is named by what the others tell of each", () => {
  const shared = "two-layer:options=2,low=0,high=1";
  assert.equal(strength(shared), "high"); // one answer by itself says nothing
  assert.equal(strength(...Array(20).fill(shared)), "little");
});

test("the example of a level keeps as many answers as the level's own mask", () => {
  const own = 1 - (4 * 818248792246976669) / 4611686018427387900;
  assert.ok(Math.abs(keepProbabilityAt(1e6 / 18, 5) - own) < 1e-4);
});
