// Kinds of question on the device: codes, the codes that masks take, and what is sent in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { maskedCode, sentTextOf } from "../../src/masquerade/server/web/static/app/conditions.js";
import { formOf } from "../../src/masquerade/server/web/static/app/survey_text.js";
import { kindOf } from "../../src/masquerade/server/web/static/app/kinds/kinds.js";
import { Encoding } from "../../src/masquerade/server/web/static/app/split_encoding.js";
import { Order, SurveyCircuit } from "../../src/masquerade/server/web/static/aggregate/survey_circuit.js";
import { rankingCode } from "../../src/masquerade/server/web/static/mechanisms/sets.js";

const said = { skip: "skip" };

test("months of a range have codes, and masks take the stretch of each", () => {
  const asked = { kind: "date", id: "d", text: "?", first: "2024-01", last: "2025-12", step: "month", bins: 4, allow_skip: true };
  kindOf(asked).check(asked, kindOf(asked).form(asked));
  const question = formOf(asked, null);
  assert.deepEqual(question.labels, ["2024-01 – 2024-06", "2024-07 – 2024-12", "2025-01 – 2025-06", "2025-07 – 2025-12"]);
  assert.equal(kindOf(question).answers(question), 25);
  assert.deepEqual([0, 5, 6, 23, 24].map((code) => maskedCode(question, code)), [0, 0, 1, 3, 4]);
  assert.equal(sentTextOf(question, 4, said), "skip");
});

test("a date that is none is refused", () => {
  for (const wrong of [{ first: "2024-13" }, { last: "2023-01" }, { step: "week" }, { bins: 1 }, { dates: ["May"] }]) {
    const asked = { kind: "date", first: "2024-01", last: "2025-12", step: "month", ...wrong };
    assert.throws(() => kindOf(asked).check(asked, kindOf(asked).form(asked)), JSON.stringify(wrong));
  }
});

test("of a recommendation the class is masked, or each answer", () => {
  const asked = { kind: "nps", id: "n", text: "?", low_label: "", high_label: "", each: false, allow_skip: true };
  const question = formOf(asked, null);
  assert.deepEqual([0, 6, 7, 8, 9, 10, 11].map((code) => maskedCode(question, code)), [0, 0, 1, 1, 2, 2, 3]);
  const each = formOf({ ...asked, each: true }, null);
  assert.equal(maskedCode(each, 9), 9);
});

test("a ranking that is sent is the order of a few items", () => {
  const asked = { kind: "ranking", id: "r", text: "?", items: ["A", "B", "C"], top: null, allow_skip: false };
  const question = formOf(asked, "masked-order:items=3,size=2,epsilon=1");
  assert.equal(kindOf(question).answers(question), 6);
  assert.equal(kindOf(question).text(question, rankingCode([2, 0, 1], 3), said), "1. C · 2. A · 3. B");
  // Sets are numbered AB, AC, BC; the second symbol is the reversed order.
  assert.equal(sentTextOf(question, 3, said), "1. C · 2. A");
});

test("of many options a set is sent, and each of it is named", () => {
  const options = Array.from({ length: 13 }, (_, n) => `o${n}`);
  const asked = { kind: "choice", id: "c", text: "?", options, allow_skip: false };
  const question = formOf(asked, "subset-selection:options=13,size=2,epsilon=0.571547");
  assert.equal(sentTextOf(question, 0, said), "o0 · o1");
  assert.equal(sentTextOf(question, 77, said), "o11 · o12");
});

test("an answer beside a scale is a label after its points", () => {
  const asked = { kind: "rating", id: "r", text: "?", low: 1, high: 3, low_label: "", high_label: "", words: ["bad", "fair", "good"], dont_know: "Don't know", allow_skip: false };
  kindOf(asked).check(asked, kindOf(asked).form(asked));
  const question = formOf(asked, null);
  assert.deepEqual(question.labels, ["1", "2", "3", "Don't know"]);
  assert.equal(kindOf(question).text(question, 2, said), "3 (good)");
  assert.equal(kindOf(question).text(question, 3, said), "Don't know");
});

test("two parties get a bit for each item and place of a ranking, as Python encodes it", () => {
  const block = new Order(4, 2, true);
  assert.deepEqual(block.encode([2, 0]).map(Number), [0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1]);
  assert.deepEqual(block.encode([]).map(Number), Array(13).fill(0));
  assert.equal(block.sensitivitySquared, 140n);
  assert.equal(Buffer.from(new SurveyCircuit([block]).configuration()).toString("hex"), "0000000505000000040000000201");
  assert.equal(new Order(5, 5).sensitivitySquared, 288n);
  for (const wrong of [[0, 0], [0], [0, 4], [0, 1, 2]]) assert.throws(() => block.encode(wrong));
  const asked = { kind: "ranking", id: "r", text: "?", items: ["a", "b", "c", "d"], top: 2, allow_skip: true };
  const encoding = new Encoding([formOf(asked, null)]);
  assert.deepEqual(encoding.measurement([rankingCode([2, 0], 4)], [true]), [[2, 0], 0]);
  assert.deepEqual(encoding.measurement([12], [true]), [[], 1]);
});
