// The language the app speaks now. What it says is in one module a language, made of catalogues; all
// but English are loaded when they are wanted.

import { ENGLISH } from "./en.js";

const loaded = new Map([["en", ENGLISH]]);

/** The languages of the app: each with its own name for itself, and the way it is written. */
export const LANGUAGES = [
  { code: "en", name: "English", direction: "ltr" },
  { code: "de", name: "Deutsch", direction: "ltr" },
  { code: "fr", name: "Français", direction: "ltr" },
  { code: "es", name: "Español", direction: "ltr" },
  { code: "ar", name: "العربية", direction: "rtl" },
];

const LOADERS = {
  de: async () => (await import("./de.js")).GERMAN,
  fr: async () => (await import("./fr.js")).FRENCH,
  es: async () => (await import("./es.js")).SPANISH,
  ar: async () => (await import("./ar.js")).ARABIC,
};

let current = ENGLISH;

/** Add English words that only some surveys need, from a module that these load. */
export const addEnglish = (texts) => Object.assign(ENGLISH, texts);

/** Return the words of the language spoken now. */
export function words() {
  return current;
}

/** Return whether the app speaks a language. */
export const speaks = (code) => LANGUAGES.some((language) => language.code === code);

/** Load the words of a language, where the app speaks it; without a network it may fail. */
export async function loadLanguage(code) {
  if (speaks(code) && !loaded.has(code)) loaded.set(code, await LOADERS[code]());
}

/** Speak the language of a code such as "ar", once it is loaded; English where it is not. */
export function setLanguage(code) {
  current = loaded.get(code) ?? ENGLISH;
  return current;
}

/** Return the code of the first language of a person's list that we speak. */
export function preferredLanguage(list) {
  const codes = list.map((tag) => tag.toLowerCase().split("-")[0]);
  return codes.find(speaks) ?? "en";
}
