// Several answers: boxes to tick; "none of these" and "prefer not to say" each stand alone. The code
// of an answer is a row of bits: bit i, of value 2^i, stands for option i.

import { element } from "../dom.js";
import { checkLabels, checkNames, inOrder, skipWords } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";
import { words } from "../../words/language.js";

/** Return whether an option is in a code. */
const isTicked = (code, place) => Math.floor(code / 2 ** place) % 2 === 1;

/** Return how many options a code holds. */
const tickedCount = (code, { labels }) => labels.filter((_, place) => isTicked(code, place)).length;

/** Return whether one of the options that a condition names is ticked. */
const tickedAny = ({ labels }, code, { answers }) =>
  labels.some((label, place) => isTicked(code, place) && answers.includes(label));

const skipCode = ({ labels }) => 2 ** labels.length;

export const kind = {
  name: "several",
  texts: ["options", "other"],
  fields: ["options", "most", "allow_skip"],
  decides: true,
  leaves: () => ["labels"],
  leafWords: "is ticked for any of",
  shuffled: ({ options }) => options.length,
  crossable: false,

  optional: { other: "" },

  form: ({ options, most, other = "" }) => ({
    labels: other ? [...(Array.isArray(options) ? options : []), other] : options,
    most,
  }),

  check({ most, other = "" }, { labels }) {
    requireThat(isText(other), "an answer");
    checkLabels(labels);
    const limit = Number.isInteger(most) && most >= 1 && most <= labels.length;
    requireThat(most === null || limit, "how many answers can be given");
  },

  checkLeaf: (question, leaf) => checkNames(question, leaf, question.labels.length),

  meets: (question, code, leaf) => code < skipCode(question) && tickedAny(question, code, leaf),

  /** Sets of options, one for each combination of conditions that can be met at once. */
  decidingCodes(question, leaves) {
    const { labels, most } = question;
    const rowOf = (code) => leaves.map((leaf) => Number(tickedAny(question, code, leaf))).join("");
    let rows = new Map([[rowOf(0), 0]]);
    for (let count = 0; count < (most ?? labels.length); count++) {
      const found = new Map(rows);
      for (const place of labels.keys()) {
        for (const code of rows.values()) {
          const ticked = isTicked(code, place) ? code : code + 2 ** place;
          const row = rowOf(ticked);
          if (!found.has(row)) found.set(row, ticked);
        }
      }
      if (found.size === rows.size) break;
      rows = found;
    }
    return [...rows.values()];
  },

  answers: (question) => skipCode(question) * (question.allow_skip ? 2 : 1),

  skipCode,

  fits: ({ labels, most, allow_skip: skip }, device) =>
    device.most === (most ?? labels.length) && device.null === skip,

  draw({ asked, chosen, group = "answer" }, { choose, next }) {
    const said = words().question;
    const { labels, most, allow_skip: offered } = asked;
    const limited = most !== null && most < labels.length;
    const status = element("p", { className: "hint", role: "status" });
    const skip = skipCode(asked);

    const box = (code, checked, className, onchange, ...inside) => {
      const input = element("input", {
        type: "checkbox",
        name: group,
        value: String(code),
        checked,
        autocomplete: "off",
        "aria-describedby": `${group}-hint`,
        onchange,
        onkeydown: (event) => {
          if (event.key === "Enter") next();
        },
      });
      const label = element("label", { className }, input, element("span", { dir: "auto" }, ...inside));
      return { input, label };
    };
    const ticked = (place) => chosen !== undefined && chosen < skip && isTicked(chosen, place);
    const boxes = labels.map((label, place) =>
      box(2 ** place, ticked(place), "option tick", () => take(place), label),
    );
    const alone = [
      box(0, chosen === 0, "option tick", () => takeAlone(0, 0), said.none),
      ...(offered
        ? [box(skip, chosen === skip, "option tick skip", () => takeAlone(1, skip), ...skipWords(asked))]
        : []),
    ];

    const codeOfBoxes = () =>
      boxes.reduce((code, { input }, place) => code + (input.checked ? 2 ** place : 0), 0);

    function take(place) {
      const code = codeOfBoxes();
      const over = limited && tickedCount(code, asked) > most;
      status.textContent = over ? said.atMost(most) : "";
      if (over) {
        boxes[place].input.checked = false;
        return;
      }
      for (const { input } of alone) input.checked = false;
      choose(code || null); // nothing ticked is no answer yet: "none of these" has a box of its own
    }

    function takeAlone(at, code) {
      const { checked } = alone[at].input;
      status.textContent = "";
      for (const { input } of [...boxes, ...alone]) input.checked = false;
      alone[at].input.checked = checked;
      choose(checked ? code : null);
    }

    return [
      element("p", { id: `${group}-hint`, className: "hint" }, limited ? said.tickMost(most) : said.tick),
      inOrder(asked).map((place) => boxes[place].label),
      alone.map(({ label }) => label),
      status,
    ];
  },

  missing: (question, said) => said.chooseSeveral,

  text(question, code, said) {
    const skip = code >= skipCode(question) ? [said.skip] : []; // the mask can leave it beside options
    const ticked = question.labels.filter((_, place) => isTicked(code, place));
    return [...ticked, ...skip].join(" · ") || said.none;
  },

  split: ({ labels, most = null }) => ({ shape: "ticks", labels: labels.length, most, answers: 2 ** labels.length }),
};
