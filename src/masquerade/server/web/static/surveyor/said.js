// What surveyors' scripts say, in the language of the page: the words stand in a data block of it.

const block = globalThis.document?.getElementById("script-words");
const words = block ? JSON.parse(block.textContent) : {};

/** Return a message in the language of the page, with its places `{name}` filled; numbers are grouped. */
export const said = (message, places = {}) =>
  (words[message] ?? message).replace(/\{(\w+)\}/g, (whole, name) => {
    const value = places[name] ?? whole;
    return typeof value === "number" ? grouped(value) : String(value);
  });

/** Return a number as it is written in the language of the page. */
export const grouped = (value) => value.toLocaleString(globalThis.document?.documentElement.lang || "en", { maximumFractionDigits: 20 });

/** Return words that stand on a kind of question, in the language of the page. */
export const named = (message) => words[message] ?? message;

/** Return the name of a level, which a survey's file may also have given. */
export const levelName = (name) =>
  ({ none: said("none"), low: said("low"), medium: said("medium"), high: said("high"), "two-parties": said("two-parties") })[name] ?? name;
