// Which reports one answer can change: the same groups as the library's, on surveys of all kinds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { visibility } from "../../src/masquerade/server/web/static/app/conditions.js";
import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { hangTogether, linkedOf } from "../../src/masquerade/server/web/static/app/linked_questions.js";
import { formOf } from "../../src/masquerade/server/web/static/app/survey_text.js";

const CASES = JSON.parse(readFileSync(new URL("../vectors/linked-questions.json", import.meta.url)));

test("groups are those of the library, all and one of each cost", () => {
  for (const { questions, alike, groups, fewer, blocks, joined } of CASES) {
    const read = questions.map((question) => formOf(question, null));
    const own = read.map((_, place) => String(place));
    assert.deepEqual(linkedOf(read, own), { groups, atMost: false });
    assert.deepEqual(linkedOf(read, alike).groups, fewer);
    assert.deepEqual(hangTogether(read), blocks);
    if (joined) assert.deepEqual(hangTogether(read, [["q0", "q2"]]), joined);
  }
});

test("who is shown what is the same as in the library, whatever kind decides", () => {
  for (const { questions, worlds } of CASES) {
    const read = questions.map((question) => formOf(question, null));
    for (const { codes, shown } of worlds) {
      const answers = Object.fromEntries(read.map(({ id }, place) => [id, codes[place]]));
      assert.deepEqual(visibility(read, answers), shown);
    }
  }
});

test("above the limit everything below counts", () => {
  const asked = Array.from({ length: 20 }, (_, place) => ({
    kind: "choice", id: `q${place}`, text: "?", options: ["Y", "N"], allow_skip: true,
    ...(place === 19 && { show_if: { all: Array.from({ length: 19 }, (_, one) => ({ question: `q${one}`, answers: ["Y"] })) } }),
  }));
  const read = asked.map((question) => formOf(question, null));
  const found = linkedOf(read, read.map(() => "same"));
  assert.deepEqual(found, { groups: [[0, 19]], atMost: true });
});
