// Texts with a few marks, drawn as elements and never as markup: **bold**, *italic*,
// [words](https://address), lines that begin with "- " as a list, empty lines between paragraphs.
// surveys/blocks.py reads the same marks.

import { element } from "./dom.js";

const MARKS =
  /\[([^[\]]+)\]\((https?:\/\/[^()\s]+|mailto:[^()\s]+)\)|\*\*(\S(?:[\s\S]*?\S)?)\*\*|\*(\S(?:[\s\S]*?\S)?)\*/;

/** Return the elements of a text. */
export function richText(text) {
  const paragraphs = text.split(/\n\s*\n/).filter((part) => part.trim());
  return element("div", { className: "rich", dir: "auto" }, paragraphs.map(paragraphOf));
}

function paragraphOf(text) {
  const made = [];
  let [lines, items] = [[], []];
  const flush = () => {
    if (lines.length) made.push(element("p", { dir: "auto" }, inline(lines.join("\n").trim())));
    if (items.length) made.push(element("ul", {}, items.map((item) => element("li", { dir: "auto" }, inline(item)))));
    [lines, items] = [[], []];
  };
  for (const line of text.split("\n")) {
    const item = /^\s*- (.*)$/.exec(line);
    if (item ? lines.length : items.length) flush();
    if (item) items.push(item[1]);
    else lines.push(line);
  }
  flush();
  return made;
}

function inline(text) {
  const found = MARKS.exec(text);
  if (!found) return [text];
  const [whole, words, address, strong, emphasis] = found;
  const rest = inline(text.slice(found.index + whole.length));
  return [text.slice(0, found.index), mark(words, address, strong, emphasis), ...rest];
}

function mark(words, address, strong, emphasis) {
  if (address) {
    return element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, inline(words));
  }
  return strong === undefined ? element("em", {}, inline(emphasis)) : element("strong", {}, inline(strong));
}
