// The demonstration on the welcome screen shows the real mask, and tells the truth about it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { SystemCoins } from "../../src/masquerade/server/web/static/mechanisms/coins.js";
import { crowd } from "../../src/masquerade/server/web/static/app/mask_demo.js";

test("the average worked out from masked answers is the crowd's, within chance", () => {
  // The estimate is off by at most 2 / 0.5 * sqrt(ln(2 / 1e-6) / (2 * 20000)) = 0.077 but for a
  // chance of 1e-6 (Hoeffding on each report, which spans 4 points).
  const { truth, seen, estimate } = crowd(new SystemCoins(), 20000);
  assert.ok(Math.abs(estimate - truth) < 0.16, `${estimate} for ${truth}`);
  assert.ok(Math.abs(seen - 3) < Math.abs(truth - 3), "the mask pulls averages to the middle");
});
