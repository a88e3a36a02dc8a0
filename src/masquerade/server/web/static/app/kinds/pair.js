// A vote on a pair of a list: which two are shown is drawn for each person, before they answer.

import { element } from "../dom.js";
import { checkPictures, labelKind, option, pictured } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";

const MOST_ITEMS = 500;
const MOST_VOTES = 50;

export const kind = {
  ...labelKind,
  name: "pair",
  texts: ["items", "tie"],
  decides: false,
  cannotDecide:
    "which two are shown is drawn for each person, so that the same answer says different things; ask for a comparison of two, or for a ranking",
  crossable: false,
  takesPair: true,
  fields: ["items", "votes", "tie"],
  optional: { pictures: [] },

  // Until it is known which two are shown, the first two stand for them.
  form: ({ items, votes, tie, pictures = [] }) =>
    named({ items, votes, ...some(pictures) }, items?.[0] ?? "…", items?.[1] ?? "… …", tie),

  check({ items, votes, tie, pictures = [] }) {
    requireThat(Array.isArray(items) && items.length <= MOST_ITEMS, "a list");
    requireThat(Number.isInteger(votes) && votes >= 0 && votes <= MOST_VOTES, "how many pairs are asked");
    requireThat(items.every((item) => isText(item) && item.trim()), "an item of a list");
    requireThat(new Set(items).size === items.length, "an item of a list");
    // Further votes are on the list of the question before.
    requireThat(votes === 0 ? items.length === 0 : items.length >= 2, "a list");
    requireThat(isText(tie) && !items.includes(tie), "what is compared");
    checkPictures(pictures, items.length);
  },

  draw(place, answering) {
    const { labels, pictures = [] } = place.asked;
    const [first, second, ...tie] = labels;
    return [
      element(
        "div",
        { className: "versus" },
        [first, second].map((name, code) =>
          pictured(place, answering, code, "option item", pictures[code], name),
        ),
      ),
      tie.map((name) => option(place, answering, 2, "option", name)),
    ];
  },

  /** Return a question as it is asked of somebody who is shown these two items of a list. */
  shown(question, { items, pictures = [] }, pair) {
    const [first, second] = pair.map((place) => items[place]);
    const images = some(pair.map((place) => pictures[place]).filter(Boolean));
    return named({ ...question, items: [], ...images }, first, second, question.labels[2]);
  },

  // Between two parties a question has its `pair`, and the first of a list how many are `listed`.
  split: ({ labels, listed, votes }) =>
    votes ? { shape: "matching", listed, votes, answers: labels.length } : { shape: "vote", answers: labels.length },
};

/** Return the field of pictures, which a question without any has not. */
const some = (pictures) => (pictures?.length ? { pictures } : {});

function named(fields, first, second, tie) {
  return { ...fields, labels: [first, second, ...(tie ? [tie] : [])], item_a: first, item_b: second };
}
