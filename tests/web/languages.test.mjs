// A survey in several languages: what is shown differs, what is answered and masked does not.

import assert from "node:assert/strict";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { readInvitation } from "../../src/masquerade/server/web/static/app/invitation.js";
import { languageFor, nameOfLanguage, textIn } from "../../src/masquerade/server/web/static/app/languages.js";
import { visibility } from "../../src/masquerade/server/web/static/app/conditions.js";
import { promiseOf, questionsIn, questionsOf } from "../../src/masquerade/server/web/static/app/survey_text.js";
import { surveyOf } from "./example_survey.mjs";

const TOKEN = "5a5a5a5a5a5a5a5a";
const first = { kind: "choice", id: "a/1", text: "Ill?", options: ["Yes", "No"], allow_skip: false };
const second = {
  kind: "choice", id: "b", text: "Since when?", options: ["Today", "Before"], allow_skip: true,
  show_if: { question: "a/1", answers: ["Yes"] },
};
const TEXTS = { title: "Arbeit", "questions/a~11/options/0": "Ja", "questions/b/text": "Seit wann?" };
const spoken = (texts = TEXTS, languages = ["en", "de"]) => ({
  languages, texts: Object.fromEntries(languages.slice(1).map((code) => [code, texts])),
});
const MASKS = [
  "randomized-response:options=2,epsilon=1",
  "randomized-response:options=2,epsilon=1,null=true",
];
const define = (languages) =>
  surveyOf({ levels: { high: MASKS }, questions: [first, second], linked: [[0, 1]], languages });

/** Return the languages of an invitation: its title and description alone. */
const short = ({ languages, texts }) => ({
  languages,
  texts: Object.fromEntries(Object.entries(texts).map(([code, { title }]) => [code, title ? { title } : {}])),
});

function open(languages, promised = short(languages)) {
  const survey = define(languages);
  const invitation = readInvitation({ ...survey.invitation(TOKEN), languages: promised }, TOKEN);
  const promise = promiseOf(invitation);
  const questions = questionsOf(survey.text, promise, "high");
  return { invitation, record: { text: survey.text, promise, level: "high", questions } };
}

test("texts are those of the language, and conditions show the same questions", () => {
  const { invitation, record } = open(spoken());
  assert.equal(textIn(invitation, "title", "de"), "Arbeit");
  assert.equal(textIn(invitation, "title", "en"), "T");
  assert.deepEqual(record.questions[0].labels, ["Yes", "No"]);
  const german = questionsIn(record, "de");
  assert.deepEqual(german[0].labels, ["Ja", "No"]);
  assert.equal(german[0].text, "Ill?");
  assert.equal(german[1].text, "Seit wann?");
  assert.equal(german[1].mechanism, record.questions[1].mechanism);
  for (const code of [0, 1]) {
    const answers = { "a/1": code };
    assert.deepEqual(visibility(german, answers), visibility(record.questions, answers));
  }
  assert.equal(questionsIn(record, "en")[0].labels[0], "Yes");
  assert.deepEqual(questionsIn(record, "fr"), record.questions);
});

test("a translation of nothing, an empty one, or one that makes two answers alike is refused", () => {
  for (const texts of [
    { titel: "x" }, { "questions/a~11/id": "x" }, { "questions/a~11/kind": "rating" },
    { "questions/a~11/options/2": "x" }, { title: " " }, { title: 1 },
    { "questions/a~11/options/0": "No" }, { "__proto__/x": "y" },
  ]) {
    assert.throws(() => open(spoken(texts)), { name: "Error" }, JSON.stringify(texts));
  }
  for (const languages of [
    [], {}, { languages: ["en"] }, { languages: ["EN"], texts: {} },
    { languages: ["en", "en"], texts: { en: {} } }, { languages: ["en"], texts: { de: {} } },
    { languages: [], texts: {} }, "en", 1,
  ]) {
    assert.throws(() => open(languages, languages));
  }
});

test("an invitation whose languages differ from the survey's is a broken promise", () => {
  assert.throws(() => open(spoken(), { languages: ["en", "de"], texts: { de: { title: "Anders" } } }));
  assert.throws(() => open(spoken(), { languages: ["en"], texts: {} }));
  assert.throws(() => open(spoken(), null));
  assert.throws(() => open(spoken(), { ...short(spoken()), texts: { de: { "questions/b/text": "x" } } }));
});

test("the language is the first that somebody reads, near variants counted", () => {
  const languages = { languages: ["en", "de-AT", "fr"], texts: {} };
  assert.equal(languageFor(languages, ["it", "de-DE", "fr"]), "de-AT");
  assert.equal(languageFor(languages, ["FR-ca"]), "fr");
  assert.equal(languageFor(languages, ["it"]), "en");
  assert.equal(languageFor(languages, []), "en");
  assert.equal(languageFor(null, ["de"]), null);
  assert.equal(nameOfLanguage("de"), "Deutsch");
});
