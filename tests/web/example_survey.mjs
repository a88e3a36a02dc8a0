// A survey as an honest server tells of it, for tests.

import { lossesOf } from "../../src/masquerade/server/web/static/mechanisms/losses.js";
import { deviceOf } from "../../src/masquerade/server/web/static/mechanisms/text.js";
import { sha256OfText } from "../../src/masquerade/server/web/static/app/sha256.js";

/** Return JSON with keys in order, in ASCII, without spaces. */
export function canonicalText(value) {
  const sorted = (each) => {
    if (Array.isArray(each)) return each.map(sorted);
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(
      Object.keys(each).sort().map((name) => [name, sorted(each[name])]),
    );
  };
  return JSON.stringify(sorted(value)).replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export const yesOrNo = (id) => ({
  kind: "choice", id, text: `Asked ${id}?`, options: ["Yes", "No"], allow_skip: false,
});

/** Return the text of two-option randomized response of an epsilon; Infinity: no mask. */
const response = (epsilon) =>
  epsilon === Infinity
    ? "randomized-response:options=2,flip_probability=0"
    : `randomized-response:options=2,epsilon=${epsilon}`;

/**
 * Return a survey with levels, each an epsilon for all questions or a list of mechanisms.
 */
export function surveyOf({ levels, questions = [yesOrNo("a"), yesOrNo("b")], linked = [], ...about }) {
  const mechanisms = Object.fromEntries(
    Object.entries(levels).map(([name, given]) => [
      name,
      Array.isArray(given) ? given : questions.map(() => response(given)),
    ]),
  );
  const survey = {
    title: "T", description: "", template: "pick", topic: "everyday", reveal: "before_send",
    ...about, questions, levels: mechanisms,
  };
  const text = canonicalText(survey);
  const hash = sha256OfText(text);
  const used = [...new Set(Object.values(mechanisms).flat())];
  const masks = Object.fromEntries(used.map((each) => [each, deviceOf(each)]));
  const kinds = {};
  for (const { kind } of questions) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return {
    text,
    hash,
    with: (changes) => surveyOf({ levels, questions, linked, ...about, ...changes }),
    opening: () => structuredClone({ hash, survey: text, masks }),
    invitation: (token) => {
      const { questions: _, levels: __, ...shown } = survey;
      const names = Object.keys(mechanisms);
      return structuredClone({
        ...shown, token, hash, masks, linked, kinds, estimator: "eb", state: "open",
        questions: questions.length, simulated: false, reward: null,
        fixed_level: names.length === 1 ? names[0] : null,
        levels: names.map((name) => levelOf(name, mechanisms[name], linked)),
      });
    },
  };
}

function levelOf(name, mechanisms, linked) {
  const { single, event, user, delta, least, clear } = lossesOf(mechanisms, linked);
  const amount = (value) => (value === Infinity || clear ? "inf" : value / 1e6);
  return {
    name, mechanisms, delta, rho: amount(least.rho), epsilon_single: amount(single),
    epsilon_event: amount(event), epsilon_user: amount(user),
    odds: "Said by the server.", words: "Said by the server.", words_all: "Said by the server.",
    blur: "Said by the server.",
  };
}
