// What surveyors' scripts say, in the language of the page: the words stand in a data block of it.

const block = globalThis.document?.getElementById("script-words");
const words = block ? JSON.parse(block.textContent) : {};

/** Return a message in the language of the page, with its places `{name}` filled. */
export const said = (message, places = {}) =>
  (words[message] ?? message).replace(/\{(\w+)\}/g, (whole, name) => String(places[name] ?? whole));
