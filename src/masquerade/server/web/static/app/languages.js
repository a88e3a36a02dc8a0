// The languages of one survey. The texts where they stand are those of its first language; beside them
// stand translations by address, such as `questions/ID/options/0`, within the survey's hash. Which
// language somebody reads stays on their device: an answer is a code, the same in all of them.

import { KINDS, kindOf } from "./kinds/kinds.js";
import { isRecord, isText, requireThat } from "./promise.js";
import { words } from "../words/language.js";

const MOST_LANGUAGES = 20;
const CODE = /^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$/;
const BEFORE_OPENING = ["title", "description", "asked_by", "contact", "consent"];

const escaped = (part) => String(part).replaceAll("~", "~0").replaceAll("/", "~1");

/** Call `visit(address, text, put)` for each text at a place of a survey and below it. */
function within(holder, key, path, visit) {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  if (isText(value)) {
    if (value.trim()) {
      visit(path.map(escaped).join("/"), value, (text) => {
        holder[key] = text;
      });
    }
  } else if (Array.isArray(value) || isRecord(value)) {
    for (const each of Object.keys(value)) within(value, each, [...path, each], visit);
  }
}

function visitTexts(survey, visit) {
  for (const name of BEFORE_OPENING) within(survey, name, [name], visit);
  for (const question of survey.questions) {
    const fields = KINDS.has(question?.kind) ? ["text", ...(kindOf(question).texts ?? [])] : [];
    for (const name of fields) within(question, name, ["questions", question.id, name], visit);
  }
  if (isRecord(survey.look)) within(survey.look, "logo_text", ["look", "logo_text"], visit);
  for (const [number, page] of (survey.pages ?? []).entries()) {
    within(page, "heading", ["pages", number, "heading"], visit);
    for (const [place, block] of page.items.entries()) {
      for (const name of isRecord(block) ? ["text", "alt"] : []) {
        within(block, name, ["pages", number, "items", place, name], visit);
      }
    }
  }
  within(survey, "thanks", ["thanks"], visit);
}

/** Return the languages of an invitation or survey, or throw `BrokenPromise`; null for none. */
export function readLanguages(given, knows) {
  if (given === undefined || given === null) return null;
  requireThat(isRecord(given) && Object.keys(given).length === 2, "the languages");
  const { languages, texts } = given;
  requireThat(Array.isArray(languages) && isRecord(texts), "the languages");
  requireThat(languages.length >= 1 && languages.length <= MOST_LANGUAGES, "the languages");
  requireThat(languages.every((code) => isText(code) && CODE.test(code)), "a language");
  requireThat(new Set(languages).size === languages.length, "the languages");
  requireThat(Object.keys(texts).length === languages.length - 1, "the translations");
  for (const code of languages.slice(1)) {
    requireThat(Object.hasOwn(texts, code) && isRecord(texts[code]), "the translations");
    for (const [address, text] of Object.entries(texts[code])) {
      requireThat(isText(text) && text.trim() && knows(address), "a translation");
    }
  }
  return { languages, texts };
}

/** Return the languages of an invitation, which has the texts that are read before it is begun. */
export const languagesOfInvitation = ({ languages }) =>
  readLanguages(languages, (address) => BEFORE_OPENING.includes(address));

/** Return the languages of a survey's JSON, or throw where a translation is of no text of it. */
export function languagesOfSurvey(survey) {
  const known = new Set();
  visitTexts(survey, (address) => known.add(address));
  return readLanguages(survey.languages, (address) => known.has(address));
}

/** Return the languages with those texts alone that an invitation has. */
export function beforeOpening(spoken) {
  if (!spoken) return null;
  const short = (texts) =>
    Object.fromEntries(Object.entries(texts).filter(([address]) => BEFORE_OPENING.includes(address)));
  const texts = Object.entries(spoken.texts).map(([code, each]) => [code, short(each)]);
  return { languages: spoken.languages, texts: Object.fromEntries(texts) };
}

/**
 * Return a survey's JSON in one of its languages. Conditions name labels, so they are renamed too.
 * `labelsOf` gives the labels of a definition.
 */
export function inLanguage(survey, code, labelsOf) {
  const texts = survey.languages?.texts?.[code];
  if (!texts) return survey;
  const other = structuredClone(survey);
  visitTexts(other, (address, _, put) => {
    if (Object.hasOwn(texts, address)) put(texts[address]);
  });
  const names = new Map(
    survey.questions.map((question, place) => {
      const labels = labelsOf(other.questions[place]) ?? [];
      return [question.id, new Map((labelsOf(question) ?? []).map((label, at) => [label, labels[at]]))];
    }),
  );
  rename(other.questions.map(({ show_if: condition }) => condition), names);
  rename(other.pages, names);
  return other;
}

function rename(node, names) {
  if (Array.isArray(node)) for (const each of node) rename(each, names);
  else if (isRecord(node)) {
    const known = names.get(node.question);
    if (known && Array.isArray(node.answers)) {
      node.answers = node.answers.map((label) => known.get(label) ?? label);
    }
    for (const each of Object.values(node)) rename(each, names);
  }
}

/**
 * Return the language in which somebody reads a survey: the first of their list that it has, or
 * whose variant or base it has; its first one where it has none of them. Null where it says none.
 */
export function languageFor(spoken, wished) {
  if (!spoken) return null;
  const base = (tag) => tag.split("-")[0];
  for (const tag of wished.filter(isText)) {
    const known = spoken.languages;
    const same = known.find((code) => code.toLowerCase() === tag.toLowerCase());
    const near = same ?? known.find((code) => base(code) === base(tag.toLowerCase()));
    if (near) return near;
  }
  return spoken.languages[0];
}

/** Return what a person would rather read: what they chose, else what their browser says. */
export function wishedLanguages(settings) {
  const browser = globalThis.navigator?.languages ?? [];
  return settings?.language ? [settings.language, ...browser] : [...browser, words().code];
}

/** Return the attribute of an element whose text is in a language; none where it is not known. */
export const spokenIn = (code) => (code ? { lang: code } : {});

/** Return a text of an invitation in a language. */
export function textIn({ languages: spoken, ...texts }, address, code) {
  return spoken?.texts?.[code]?.[address] ?? texts[address];
}

/** Return a language's own name for itself, such as "Deutsch". */
export function nameOfLanguage(code) {
  try {
    const name = new Intl.DisplayNames([code], { type: "language" }).of(code);
    return `${name.slice(0, 1).toLocaleUpperCase(code)}${name.slice(1)}`;
  } catch {
    return code;
  }
}
