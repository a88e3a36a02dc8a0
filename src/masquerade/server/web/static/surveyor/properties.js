// What can be set of the chosen question, or of the survey itself.

import { element } from "../app/dom.js";
import { check, fold, group, numberField, selectField, textField } from "./fields.js";
import { decides, labelsOf } from "./questions.js";

const FROM_DEVICE = "People who are not shown it send a masked “no answer”, so nobody can tell.";

/** Return the fields of the survey; `set(name, value)` keeps one. */
export function surveyFields(document, faults, set) {
  return [
    element("h2", {}, "Survey"),
    textField("Title", document.title, (text) => set("title", text), {
      faults: faults("/title"),
      hint: "People see it before they choose a level; it should not give a question away.",
    }),
    textField("Who asks, and what for", document.description, (text) => set("description", text), {
      lines: 3,
      faults: faults("/description"),
    }),
    selectField(
      "Topic",
      document.topic,
      [["everyday", "Everyday"], ["personal", "Personal"], ["sensitive", "Sensitive"]],
      (name) => set("topic", name),
      { hint: "For a sensitive topic people see what was sent only once it is sent." },
    ),
    check("Show it to people who took part in other surveys here", document.listed, (on) =>
      set("listed", on),
    ),
    fold(
      "Advanced",
      selectField(
        "When people see their masked answers",
        document.reveal ?? "",
        [
          ["", "as the topic asks for"],
          ["before_send", "before they are sent"],
          ["after_send", "once they are sent"],
        ],
        (name) => set("reveal", name || null),
      ),
      selectField(
        "Headline estimate",
        document.estimator,
        [
          ["eb", "levels drawn towards each other (default)"],
          ["respondent", "everybody counts once"],
          ["ivw", "by precision: only if level and opinion have nothing to do with each other"],
        ],
        (name) => set("estimator", name),
        { hint: "All three are computed. Which one stands first is fixed now, before anybody answers." },
      ),
      selectField(
        "Masks of ratings",
        document.rating_mask,
        [
          ["randomized-response", "another point at random"],
          ["gaussian", "noise on the scale"],
        ],
        (name) => set("rating_mask", name),
      ),
      selectField(
        "Masks of choices",
        document.masking,
        [
          ["per-answer", "each answer by itself"],
          ["per-person", "each person draws a flip probability once"],
        ],
        (name) => set("masking", name),
        { hint: "By person can help to infer labels, and costs more privacy as people answer more." },
      ),
    ),
  ];
}

/**
 * Return the fields of a question.
 *
 * @param {object[]} questions all of the draft
 * @param {number} place of the chosen one
 * @param {(field: string) => string[]} faults
 * @param {(changes: object, again?: boolean) => void} set keeps changes; `again` draws the fields anew
 */
export function questionFields(questions, place, faults, set) {
  const question = questions[place];
  const text = (name, label, more) =>
    textField(label, question[name], (value) => set({ [name]: value }), {
      faults: faults(name),
      ...more,
    });
  const number = (name, label, more) =>
    numberField(label, question[name], (value) => set({ [name]: value }), {
      faults: faults(name),
      ...more,
    });
  const row = (...fields) => element("div", { className: "row" }, ...fields);
  const own = {
    choice: () => [
      textField(
        "Options",
        question.options.join("\n"),
        (value) => {
          const options = value.split("\n").map((line) => line.trim()).filter(Boolean);
          const truth = options.includes(question.truth) ? question.truth : null;
          set({ options, truth });
        },
        { lines: 4, hint: "One on each line.", faults: faults("options") },
      ),
    ],
    several: () => [
      textField(
        "Options",
        question.options.join("\n"),
        (value) => {
          const options = value.split("\n").map((line) => line.trim()).filter(Boolean);
          const most = question.most === null ? null : Math.min(question.most, options.length);
          set({ options, most });
        },
        {
          lines: 4,
          hint: "One on each line. “None of these” is always offered.",
          faults: faults("options"),
        },
      ),
      selectField(
        "How many can be ticked",
        question.most === null ? "" : String(question.most),
        [
          ["", "all"],
          ...question.options.slice(1).map((_, place) => [String(place + 1), `at most ${place + 1}`]),
        ],
        (name) => set({ most: name ? Number(name) : null }),
        {
          hint: "The fewer, the sharper the result: the mask of each option can be lighter.",
          faults: faults("most"),
        },
      ),
    ],
    rating: () => [
      row(number("low", "From", { whole: true }), number("high", "To", { whole: true })),
      row(text("low_label", "Word for the lowest"), text("high_label", "Word for the highest")),
    ],
    number: () => [
      row(number("low", "From"), number("high", "To")),
      row(number("step", "In steps of"), text("unit", "Unit")),
    ],
    comparison: () => [
      row(text("item_a", "First"), text("item_b", "Second")),
      text("tie", "A third answer, such as “no difference”", { hint: "Empty: there is none." }),
    ],
  }[question.kind]();
  return [
    element("h2", {}, `Question ${place + 1}`),
    ...faults("").map((fault) => element("p", { className: "error" }, fault)),
    text("text", "Question", { lines: 2 }),
    ...own,
    question.kind !== "number" &&
      check(
        "Offer “Prefer not to say”",
        question.allow_skip,
        (on) => set({ allow_skip: on }, true),
        {
          hint: "It is protected like every other answer.",
          disabled: Boolean(question.show_if),
        },
      ),
    condition(questions, place, faults, set),
    fold(
      "Advanced",
      question.kind === "choice" &&
        selectField(
          "Right answer",
          question.truth ?? "",
          [["", "not known"], ...question.options.map((option) => [option, option])],
          (name) => set({ truth: name || null }),
          { hint: "For labelling: used to check the crowd, never shown to it." },
        ),
      text("id", "Name in files"),
    ),
  ];
}

function condition(questions, place, faults, set) {
  const question = questions[place];
  const earlier = questions.slice(0, place).filter(decides);
  if (!earlier.length) return null;
  if (question.kind === "number") {
    return element(
      "p",
      { className: "hint" },
      "A number is always shown: it has no “no answer” that could be masked for it.",
    );
  }
  const { show_if: now } = question;
  const before = earlier.find(({ id }) => id === now?.question);
  const choose = (id) => {
    if (!id) return set({ show_if: undefined }, true);
    const [first] = labelsOf(earlier.find((one) => one.id === id));
    return set({ show_if: { question: id, answers: [first] }, allow_skip: true }, true);
  };
  return group(
    "When it is shown",
    selectField(
      "Shown",
      now?.question ?? "",
      [["", "always"], ...earlier.map(({ id, text }) => [id, `after certain answers to “${text}”`])],
      choose,
      { faults: faults("show_if"), hint: now ? FROM_DEVICE : "" },
    ),
    before &&
      labelsOf(before).map((label) =>
        check(label, now.answers.includes(label), (on) => {
          const answers = labelsOf(before).filter((one) =>
            one === label ? on : now.answers.includes(one),
          );
          set({ show_if: { ...now, answers } }, true);
        }),
      ),
  );
}
