// A ranking: items are pressed in the order in which they are ranked. What is sent of it is the order
// of a few items that this device draws.

import { element } from "../dom.js";
import { skipOption } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";
import { itemsOf, rankingCode, rankingOf, rankingsOf } from "../../mechanisms/sets.js";
import { words } from "../../words/language.js";

const MOST_ITEMS = 12;
const MOST_ROWS = 8192; // beginnings of rankings that conditions tell apart

const rankedOf = ({ labels, top }) => top ?? labels.length;

const rankings = (question) => rankingsOf(question.labels.length, rankedOf(question));

export const kind = {
  name: "ranking",
  texts: ["items"],
  fields: ["items", "top", "allow_skip"],
  decides: true,
  leaves: () => ["places"],
  leafWords: "has any of",
  crossable: false,

  form: ({ items, top }) => ({ labels: items ?? [], top }),

  check({ items, top }) {
    requireThat(Array.isArray(items) && items.length >= 2 && items.length <= MOST_ITEMS, "the items");
    requireThat(items.every((item) => isText(item) && item.trim()), "an item");
    requireThat(new Set(items).size === items.length, "an item");
    const limit = Number.isInteger(top) && top >= 1 && top <= items.length;
    requireThat(top === null || limit, "how many items are ranked");
  },

  checkLeaf(question, leaf) {
    const { answers, first } = leaf;
    const { labels, allow_skip: skip } = question;
    requireThat(Object.keys(leaf).length === 3 && Array.isArray(answers), "a condition");
    requireThat(answers.length && answers.every((item) => labels.includes(item)), "a condition");
    requireThat(Number.isInteger(first) && first >= 1 && first <= rankedOf(question), "a condition");
    requireThat(skip || new Set(answers).size + first <= labels.length, "a condition");
  },

  meets(question, code, { answers, first }) {
    if (code >= rankings(question) || !Array.isArray(answers)) return false;
    const order = rankingOf(code, question.labels.length, rankedOf(question));
    return order.slice(0, first).some((item) => answers.includes(question.labels[item]));
  },

  /**
   * A ranking for each combination of conditions that can be met at once. Items that the same
   * conditions name stand for each other; rankings grow by a place at a time, and of those that hold
   * the same items and meet the same conditions one is kept.
   */
  decidingCodes(question, leaves) {
    const { labels } = question;
    const named = labels.map((label) => leaves.map(({ answers }) => answers.includes(label)));
    const alike = named.map((row) => row.map(Number).join(""));
    let found = [{ order: [], met: leaves.map(() => false) }];
    for (let place = 0; place < rankedOf(question); place++) {
      const further = new Map();
      for (const { order, met } of found) {
        const left = [...labels.keys()].filter((item) => !order.includes(item));
        for (const item of left.filter((one) => left.find((other) => alike[other] === alike[one]) === one)) {
          const flags = met.map((flag, at) => flag || (named[item][at] && place < leaves[at].first));
          const longer = [...order, item];
          const key = `${[...longer].sort((a, b) => a - b)}/${flags.map(Number)}`;
          if (!further.has(key)) further.set(key, { order: longer, met: flags });
        }
      }
      if (further.size > MOST_ROWS) return null;
      found = [...further.values()];
    }
    const rows = new Map(found.map(({ order, met }) => [met.join(), rankingCode(order, labels.length)]));
    return [...rows.values()];
  },

  answers: (question) => rankings(question) + (question.allow_skip ? 1 : 0),

  skipCode: rankings,

  fits: (question, { items, ranked, null: masked }) =>
    items === question.labels.length && ranked === rankedOf(question) && masked === question.allow_skip,

  draw(place, answering) {
    const { asked, chosen } = place;
    const said = words().question;
    const { labels } = asked;
    const wanted = rankedOf(asked);
    const skip = rankings(asked);
    let order = chosen === undefined || chosen >= skip ? [] : rankingOf(chosen, labels.length, wanted);
    const skipping = skipOption(
      place,
      {
        ...answering,
        choose(code) {
          order = [];
          paint();
          answering.choose(code);
        },
      },
      skip,
    );

    const buttons = labels.map((label, item) => {
      const number = element("span", { className: "rank-number", "aria-hidden": "true" });
      const made = element(
        "button",
        { type: "button", className: "option rank", onclick: () => press(item) },
        number,
        element("span", { dir: "auto" }, label),
      );
      return { made, number };
    });

    function press(item) {
      const taken = order.includes(item);
      if (taken) order = order.filter((other) => other !== item);
      else if (order.length < wanted) order = [...order, item];
      // Of a whole ranking the last place is what is left.
      if (!taken && wanted === labels.length && order.length === wanted - 1) {
        order = [...order, labels.findIndex((_, other) => !order.includes(other))];
      }
      if (skipping) skipping.querySelector("input").checked = false;
      paint();
      answering.choose(order.length === wanted ? rankingCode(order, labels.length) : null);
    }

    function paint() {
      buttons.forEach(({ made, number }, item) => {
        const rank = order.indexOf(item) + 1;
        made.setAttribute("aria-pressed", String(rank > 0));
        number.textContent = rank ? String(rank) : "";
        made.setAttribute("aria-label", rank ? `${labels[item]}, ${said.rankPlace(rank)}` : labels[item]);
      });
    }

    paint();
    return [
      element(
        "p",
        { className: "hint" },
        wanted === labels.length ? said.rankAll : said.rankFirst(wanted),
      ),
      buttons.map(({ made }) => made),
      skipping,
    ];
  },

  missing: (question, said) => said.rankMissing,

  text(question, code, said) {
    if (code >= rankings(question)) return said.skip;
    const { labels } = question;
    return rankingOf(code, labels.length, rankedOf(question))
      .map((item, place) => `${place + 1}. ${labels[item]}`)
      .join(" · ");
  },

  sentText({ labels, device }, report, said) {
    const { order } = itemsOf(report, device);
    return order ? order.map((item, place) => `${place + 1}. ${labels[item]}`).join(" · ") : said.skip;
  },

  split: (question) => ({
    shape: "order",
    items: question.labels.length,
    ranked: rankedOf(question),
    labels: question.labels.length,
    answers: rankings(question),
  }),
};
