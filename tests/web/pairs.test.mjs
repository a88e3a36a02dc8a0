// Votes on pairs of a list: a device shows pairs of the list alone, each once, and keeps them.

import assert from "node:assert/strict";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { BrokenPromise } from "../../src/masquerade/server/web/static/app/promise.js";
import { SystemCoins } from "../../src/masquerade/server/web/static/mechanisms/coins.js";
import { sha256OfText } from "../../src/masquerade/server/web/static/app/sha256.js";
import { drawnPairs, questionsOf } from "../../src/masquerade/server/web/static/app/survey_text.js";

const ITEMS = ["Ada", "Bell", "Cy", "Dot"];
const MASK = "randomized-response:options=3,epsilon=1";

function vote(id, items, votes, more = {}) {
  return { kind: "pair", id, text: "Which?", items, votes, tie: "Alike", ...more };
}

const VOTES = [vote("v", ITEMS, 3), vote("v-2", [], 0), vote("v-3", [], 0)];

function read(questions, pairs) {
  const about = { title: "T", description: "", template: "leaderboard", topic: "everyday", reveal: "before_send" };
  const levels = { medium: questions.map(() => MASK) };
  const text = JSON.stringify({ ...about, questions, levels });
  const promise = {
    ...about, levels, hash: sha256OfText(text), kinds: { pair: questions.length },
    questions: questions.length, linked: [], estimator: "eb",
  };
  return questionsOf(text, promise, "medium", pairs);
}

test("a person is asked about the items of their pairs, in the order that is shown", () => {
  const asked = read(VOTES, [[3, 0], [1, 2], [0, 1]]);
  assert.deepEqual(asked.map(({ labels }) => labels), [
    ["Dot", "Ada", "Alike"],
    ["Bell", "Cy", "Alike"],
    ["Ada", "Bell", "Alike"],
  ]);
  assert.ok(asked.every(({ items }) => items.length === 0));
});

test("pairs that are none of the list, or come twice, are refused", () => {
  for (const pairs of [
    null,
    [],
    [[0, 1], [1, 2]],
    [[0, 1], [1, 2], [2, 3], [0, 3]],
    [[0, 1], [1, 0], [2, 3]],
    [[0, 0], [1, 2], [2, 3]],
    [[0, 4], [1, 2], [2, 3]],
    [[0, -1], [1, 2], [2, 3]],
    [[0, 1.5], [1, 2], [2, 3]],
    [[0, "1"], [1, 2], [2, 3]],
    [[0, 1, 2], [1, 2], [2, 3]],
    [null, [1, 2], [2, 3]],
  ]) {
    assert.throws(() => read(VOTES, pairs), BrokenPromise, JSON.stringify(pairs));
  }
});

test("a list is one, with as many votes as it says", () => {
  const pairs = [[0, 1], [1, 2], [2, 3]];
  for (const questions of [
    [vote("v-2", [], 0), ...VOTES.slice(0, 2)],
    [VOTES[0], VOTES[1], vote("w", ITEMS, 1)],
    [vote("v", ITEMS, 2), VOTES[1], VOTES[2]],
    [vote("v", ["Ada", "Ada"], 3), VOTES[1], VOTES[2]],
    [vote("v", ["Ada"], 3), VOTES[1], VOTES[2]],
    [vote("v", ITEMS, 3, { tie: "Ada" }), VOTES[1], VOTES[2]],
    [vote("v", ITEMS, 3, { allow_skip: false }), VOTES[1], VOTES[2]],
    [vote("v", ITEMS, 51), VOTES[1], VOTES[2]],
    [vote("v", ITEMS, 3), vote("v-2", ITEMS, 0), VOTES[2]],
  ]) {
    assert.throws(() => read(questions, pairs), BrokenPromise, JSON.stringify(questions));
  }
});

test("for two parties the device draws pairs of each list without an item in common", () => {
  const text = JSON.stringify({ questions: [vote("v", ITEMS, 2), vote("v-2", [], 0), vote("w", ITEMS, 1)] });
  const source = new SystemCoins();
  const seen = new Set();
  for (let each = 0; each < 40; each++) {
    const pairs = drawnPairs(text, source);
    assert.equal(pairs.length, 3);
    assert.deepEqual(pairs.slice(0, 2).flat().sort(), [0, 1, 2, 3]);
    seen.add(JSON.stringify(pairs[2]));
  }
  // Of 12 ordered pairs in 40 draws at most 6 come with a probability below 1e-9.
  assert.ok(seen.size > 6);
  assert.equal(drawnPairs(JSON.stringify({ questions: [] }), source), null);
  // What cannot be read is refused where the text is checked.
  for (const broken of ["", "{}", "[]", JSON.stringify({ questions: [{ kind: "pair", votes: 2 }] })]) {
    assert.equal(drawnPairs(broken, source), null);
  }
});

test("between two parties an item that comes twice is refused", () => {
  const about = { title: "T", description: "", template: "pick", topic: "everyday", reveal: "before_send" };
  const terms = { helper: "https://h.example", operator: "H", fingerprint: "0".repeat(32), minimum: 20 };
  const questions = [vote("v", ITEMS, 2), vote("v-2", [], 0)];
  const text = JSON.stringify({
    ...about, questions, levels: { "two-parties": [] }, trust: "two-parties", two_parties: terms,
  });
  const promise = {
    ...about, hash: sha256OfText(text), kinds: { pair: 2 }, questions: 2, linked: [], estimator: "eb",
    levels: { "two-parties": [] }, parties: terms,
  };
  const asked = questionsOf(text, promise, "two-parties", [[3, 0], [1, 2]]);
  assert.deepEqual(asked.map(({ pair, listed }) => [pair, listed]), [[[3, 0], 4], [[1, 2], undefined]]);
  for (const pairs of [[[0, 1], [1, 2]], [[0, 1], [2, 0]], null, [[0, 1]]]) {
    assert.throws(() => questionsOf(text, promise, "two-parties", pairs), BrokenPromise);
  }
});
