import assert from "node:assert/strict";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { fillIn, levelOf } from "../../src/masquerade/server/web/static/mechanisms/lattice.js";
import { maskAnswers, maskResponse } from "../../src/masquerade/server/web/static/mechanisms/mask.js";
import { readInvitation } from "../../src/masquerade/server/web/static/app/invitation.js";
import { promiseOf, questionsOf } from "../../src/masquerade/server/web/static/app/survey_text.js";
import { FixedWords } from "./fixed_words.mjs";
import { surveyOf } from "./example_survey.mjs";

const gaussian = { name: "discrete-gaussian", points: 5, variance: ["9", "1"] };
const laplace = {
  name: "discrete-laplace", points: 5, null: false, fill: null, scale: ["4", "1"],
};
const filled = { ...laplace, null: true, fill: 2 };
const uniform = { ...laplace, null: true, fill: "uniform" };
const quantised = {
  name: "quantised-response", points: 5, levels: 3, null: true,
  symbols: 4, first: "2", last: "2", total: "10",
};
const choice = (symbols) => ({
  name: "randomized-response", symbols, first: "2", last: "2", total: "10",
});

/** Words that leave the index as it is: no noise, or the reported symbol kept. */
const STILL = {
  // Remainder 0, kept, no turn, plus; then accepted for the variance 9, which proposes by scale 4.
  "discrete-laplace": [0, 3, 1, 1],
  "discrete-gaussian": [0, 3, 1, 1, 287],
  "quantised-response": [9],
};

const refused = (device, answers = [0]) => {
  const source = new FixedWords([0, 0, 0, 0]);
  assert.throws(
    () => maskAnswers(device, answers, source),
    (error) => error instanceof RangeError && !/77/.test(error.message),
  );
  assert.equal(source.used, 0);
};

test("noise is added to the index, and never moved back into the points", () => {
  const up = [0, 3, 0, 1, 0, 1, 1, 1]; // two turns of a scale of 4: plus 8
  const down = [...up.slice(0, -1), 0];
  for (const answer of [0, 1, 4]) {
    assert.deepEqual(maskAnswers(laplace, [answer], new FixedWords(up)), [answer + 8]);
    assert.deepEqual(maskAnswers(laplace, [answer], new FixedWords(down)), [answer - 8]);
    const still = new FixedWords(STILL["discrete-gaussian"]);
    assert.deepEqual(maskAnswers(gaussian, [answer], still), [answer]);
  }
});

test("what is drawn does not depend on the answer, nor on whether there was one", () => {
  let seed = 1n;
  const nextWord = () => (seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1n));
  for (const device of [gaussian, laplace, filled, uniform, quantised]) {
    const words = Array.from({ length: 400 }, nextWord);
    const codes = device.null ? [0, 1, 2, 3, 4, 5] : [0, 1, 2, 3, 4];
    const used = codes.map((answer) => {
      const source = new FixedWords(words);
      maskAnswers(device, [answer, answer], source);
      return source.used;
    });
    assert.equal(new Set(used).size, 1, device.name);
  }
});

test("no answer is filled in with the fixed point, or with the one that is drawn first", () => {
  assert.equal(fillIn(5n, 5n, 2n), 2n);
  assert.equal(fillIn(4n, 5n, 2n), 4n);
  const still = STILL["discrete-laplace"];
  assert.deepEqual(maskAnswers(filled, [5, 4], new FixedWords([...still, ...still])), [2, 4]);
  const drawn = [...[3, ...still], ...[3, ...still]];
  assert.deepEqual(maskAnswers(uniform, [5, 4], new FixedWords(drawn)), [3, 4]);
});

test("over all draws, the mean level is the exact place of the index, and never far from it", () => {
  for (let points = 2n; points <= 12n; points++) {
    for (let levels = 2n; levels <= 6n; levels++) {
      for (let index = 0n; index < points; index++) {
        const place = index * (levels - 1n);
        let sum = 0n;
        for (let drawn = 0n; drawn < points - 1n; drawn++) {
          const level = levelOf(index, drawn, points, levels);
          assert.ok(level >= 0n && level < levels);
          const away = level * (points - 1n) - place;
          assert.ok(away < points - 1n && -away < points - 1n);
          sum += level;
        }
        assert.equal(sum, place);
      }
    }
  }
});

test("quantised response rounds first, for no answer too, and then responds", () => {
  // 5 points, 3 levels: index 1 lies halfway between levels 0 and 1; 4 draws, 2 of which go up.
  const report = (answer, words) => maskAnswers(quantised, [answer], new FixedWords(words))[0];
  assert.deepEqual([0, 1, 2, 3].map((drawn) => report(1, [drawn, 9])), [1, 1, 0, 0]);
  assert.deepEqual([0, 1, 2, 3].map((drawn) => report(4, [drawn, 9])), [2, 2, 2, 2]);
  assert.deepEqual([0, 1, 2, 3].map((drawn) => report(5, [drawn, 9])), [3, 3, 3, 3]);
  assert.deepEqual([0, 2, 4, 6].map((word) => report(5, [0, word])), [0, 1, 2, 3]);
});

test("an answer beyond the codes is refused before anything is drawn, and not repeated", () => {
  for (const answer of [5, 77, -77, 77.5, "77", undefined, NaN]) {
    refused(gaussian, [0, answer]);
    refused(laplace, [answer]);
  }
  for (const device of [filled, uniform, quantised]) refused(device, [0, 6]);
});

test("numbers that are no mechanism are refused before anything is drawn", () => {
  const impossible = [
    { ...gaussian, name: "discrete-gauss" },
    { ...gaussian, name: "constructor" },
    { ...gaussian, name: undefined },
    ...[1, 0, -5, 5.5, "5.5", "", "0x5", true, [5], null, 2 ** 33, undefined].flatMap((points) => [
      { ...gaussian, points },
      { ...laplace, points },
      { ...quantised, points },
    ]),
    ...[["0", "1"], ["1", "0"], ["-9", "1"], ["9"], "91", ["9", "1", "1"], ["x", "1"], undefined,
      [String(2n ** 96n), "1"]].flatMap((fraction) => [
      { ...gaussian, variance: fraction },
      { ...uniform, scale: fraction },
    ]),
    { ...uniform, scale: [String(2n ** 48n + 1n), "1"] },
    { ...uniform, scale: ["1", String(2n ** 48n + 1n)] },
    { ...laplace, null: true },
    { ...laplace, null: "false" },
    { ...laplace, fill: 2 },
    { ...laplace, fill: "uniform" },
    { ...filled, fill: 5 },
    { ...filled, fill: -1 },
    { ...filled, fill: "midpoint" },
    { ...filled, fill: undefined },
    { ...quantised, levels: 1, symbols: 2 },
    { ...quantised, levels: 4 },
    { ...quantised, null: false },
    { ...quantised, null: 1 },
    { ...quantised, last: "3" },
    { ...quantised, total: "5" },
  ];
  for (const device of impossible) refused(device);
});

test("the largest lattice and scale report whole numbers, exact up to 2^53", () => {
  const scale = 2n ** 48n;
  const device = { ...laplace, points: 2 ** 32, scale: [String(scale), "1"] };
  for (const [turns, exact] of [[30n, true], [40n, false]]) {
    const words = [scale - 1n, scale - 1n, ...new Array(Number(turns)).fill([0, 1]).flat(), 1, 1];
    const [report] = maskAnswers(device, [2 ** 32 - 1], new FixedWords(words));
    const whole = (turns + 1n) * scale - 1n + 2n ** 32n - 1n;
    assert.equal(report, Number(whole));
    assert.equal(Number.isSafeInteger(report), exact);
    assert.match(JSON.stringify(report), /^\d+$/);
  }
});

test("a survey may mix mechanisms; those with the same text are masked together", () => {
  const questions = [
    { mechanism: "a", device: uniform },
    { mechanism: "b", device: quantised },
    { mechanism: "a", device: uniform },
  ];
  const still = STILL["discrete-laplace"];
  const source = new FixedWords([...[4, ...still], ...[0, ...still], ...[0, 9]]);
  assert.deepEqual(maskResponse(questions, [5, 4, 1], source), [4, 2, 1]);
  assert.equal(source.used, 12);
});

test("a question has as many answers as its mask has codes, on the same scale", () => {
  const read = (skip, ...texts) => {
    const questions = texts.map((_, place) => ({
      kind: "rating", id: `q${place}`, text: "How much?", low: 1, high: 5, low_label: "",
      high_label: "", allow_skip: skip,
    }));
    const survey = surveyOf({ questions, levels: { high: texts } });
    const promise = promiseOf(readInvitation(survey.invitation("t"), "t"));
    return questionsOf(survey.text, promise, "high");
  };
  const noise = "discrete-gaussian:low=1,high=5,step=1,sigma=12";
  const laplaceText = "discrete-laplace:low=1,high=5,step=1,epsilon=1";
  const levels = "quantised-response:low=1,high=5,step=1,epsilon=1,levels=3,null=true";
  const right = [
    [false, noise, noise], [false, laplaceText], [true, `${laplaceText},null=true`], [true, levels],
  ];
  for (const [skip, ...texts] of right) assert.equal(read(skip, ...texts).length, texts.length);
  const wrong = [
    [true, noise], [false, `${laplaceText},null=true`], [false, levels],
    [false, noise.replace("high=5", "high=6")],
    [false, noise.replace("low=1,high=5", "low=0,high=4")],
    [false, "discrete-gaussian:low=1,high=9,step=2,sigma=12"],
    [false, "randomized-response:options=4,epsilon=1"],
  ];
  for (const [skip, ...texts] of wrong) assert.throws(() => read(skip, ...texts), /mask/);
});

test("a scale of two numbers is read whatever rounding makes of its one step", () => {
  const read = (high) => {
    const questions = [{ kind: "number", id: "q", text: "?", low: 7, high, step: 0.3, unit: "" }];
    const text = `discrete-laplace:low=7,high=${high},step=0.3,epsilon=1`;
    const survey = surveyOf({ questions, levels: { high: [text] } });
    const promise = promiseOf(readInvitation(survey.invitation("t"), "t"));
    return questionsOf(survey.text, promise, "high");
  };
  assert.equal(read(7.3).length, 1);
  assert.throws(() => read(7.4));
});
