// The language the app speaks now. What it says is in one module a language, made of catalogues.

import { ARABIC } from "./ar.js";
import { ENGLISH } from "./en.js";

export const LANGUAGES = [ENGLISH, ARABIC];

let current = ENGLISH;

/** Return the words of the language spoken now. */
export function words() {
  return current;
}

/** Speak the language of a code such as "ar"; English where it is not known. */
export function setLanguage(code) {
  current = LANGUAGES.find((language) => language.code === code) ?? ENGLISH;
  return current;
}

/** Return the code of the first language of a person's list that we speak. */
export function preferredLanguage(list) {
  const codes = list.map((tag) => tag.toLowerCase().split("-")[0]);
  return codes.find((code) => LANGUAGES.some((language) => language.code === code)) ?? "en";
}
