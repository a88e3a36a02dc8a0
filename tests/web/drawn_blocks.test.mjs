// m of M: what some blocks of questions cost, and which are drawn.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { drawBlocks, pagesInOrder, placesDrawn } from "../../src/masquerade/server/web/static/app/pages.js";
import { lossesOfDrawn } from "../../src/masquerade/server/web/static/mechanisms/losses.js";

const CASES = JSON.parse(readFileSync(new URL("../vectors/drawn-blocks.json", import.meta.url)));

test("a draw costs what the library says", () => {
  for (const { texts, draw, pure, orders, user } of CASES) {
    const found = lossesOfDrawn(texts, [], draw);
    assert.equal(found.loss.pure, pure ?? Infinity);
    assert.deepEqual(found.loss.orders, orders);
    // The grids of two distributions differ a little; both are above the true loss.
    assert.ok(Math.abs(found.user - user) <= user / 1000, `${found.user} and ${user}`);
    assert.ok(found.least.user <= user);
  }
});

test("every set of blocks is as likely: each word leads to one", () => {
  const counts = new Map();
  for (const one of [0n, 1n, 2n, 3n]) {
    for (const other of [0n, 1n, 2n]) {
      const left = [one, other];
      const set = drawBlocks({ asked: 2, blocks: [[0], [1], [2], [3]] }, { nextWord: () => left.shift() }).join();
      counts.set(set, (counts.get(set) ?? 0) + 1);
    }
  }
  assert.deepEqual([...counts.values()], [2, 2, 2, 2, 2, 2]);
});

test("pages hold the drawn questions alone, and are left out where they hold none", () => {
  const page = (...items) => ({ heading: "", moves: false, shuffle: false, condition: null, items });
  const pages = [page({ block: "text", text: "Hello" }), page({ place: 0 }, { place: 1 }), page({ place: 2 })];
  const draw = { asked: 1, blocks: [[0], [1], [2]] };
  const asked = placesDrawn(draw, { blocks: [1] });
  const shown = pagesInOrder({ pages }, {}, asked).map(({ items }) => items.map(({ place }) => place));
  assert.deepEqual(shown, [[undefined], [1]]);
  assert.throws(() => placesDrawn(draw, { blocks: [1, 2] }));
  assert.throws(() => placesDrawn(draw, {}));
});
