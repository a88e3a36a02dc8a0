// Questions as a draft keeps them, and as the participant's component takes them.

export const KINDS = [
  ["rating", "Rating", "1 2 3 4 5"],
  ["choice", "Pick one", "○ ● ○"],
  ["several", "Tick several", "☑ ☐ ☑"],
  ["comparison", "Which of two", "A ⇄ B"],
  ["number", "Number", "0 … 40"],
];

const BLANK = {
  rating: { text: "", low: 1, high: 5, low_label: "", high_label: "", allow_skip: false },
  choice: { text: "", options: ["Yes", "No"], allow_skip: false, truth: null },
  several: { text: "", options: ["One", "Another", "A third"], most: null, allow_skip: false },
  comparison: { text: "", item_a: "One", item_b: "The other", tie: "", allow_skip: false },
  number: { text: "", low: 0, high: 10, step: 1, unit: "times" },
};

/** Return a new question of a kind, or one like another. */
export function newQuestion(kind, questions, like = null) {
  const taken = new Set(questions.map(({ id }) => id));
  let place = questions.length + 1;
  while (taken.has(`q${place}`)) place++;
  const { show_if: _none, ...rest } = like ?? { kind, ...BLANK[kind] };
  return { ...structuredClone(rest), kind: like?.kind ?? kind, id: `q${place}` };
}

/** Return what a question can be answered with, in order. */
export function labelsOf(question) {
  if (["choice", "several"].includes(question.kind)) return question.options;
  if (question.kind === "comparison") {
    return [question.item_a, question.item_b, ...(question.tie ? [question.tie] : [])];
  }
  if (question.kind === "rating") {
    const count = Math.max(0, Math.min(100, question.high - question.low + 1));
    return Array.from({ length: count }, (_, place) => String(question.low + place));
  }
  return [];
}

/** Return whether the answer to a question can decide which others are shown. */
export const decides = ({ kind }) => !["number", "several"].includes(kind);

/** Return a question in the form in which a device gets it, but for its mask. */
export function participantForm(question) {
  return {
    id: question.id,
    kind: question.kind,
    text: question.text || "…",
    labels: labelsOf(question),
    allow_skip: question.allow_skip ?? false,
    low_label: question.low_label ?? "",
    high_label: question.high_label ?? "",
    min: question.low ?? null,
    max: question.high ?? null,
    step: question.step ?? 1,
    unit: question.unit ?? "",
    most: question.most ?? null,
    item_a: question.item_a ?? null,
    item_b: question.item_b ?? null,
    show_if: question.show_if ?? null,
  };
}

/** Return whether a question can be drawn as it is. */
export function isDrawable(question) {
  if (question.kind !== "number") return labelsOf(question).length >= 2;
  const points = (question.high - question.low) / question.step;
  return question.step > 0 && points >= 1 && points < 1e6;
}

/** Return a margin in words; `null` where nobody is asked. */
export function marginText({ margin, kind, unit }) {
  if (margin === null) return "–";
  if (kind === "share") return `± ${(100 * margin).toFixed(margin < 0.095 ? 1 : 0)} %-points`;
  const digits = margin < 1 ? 2 : margin < 10 ? 1 : 0;
  return `± ${margin.toFixed(digits)} ${unit}`;
}

/** Keep ids and conditions in step after questions moved, went or were renamed. */
export function withoutBrokenConditions(questions) {
  const earlier = new Map();
  return questions.map((question) => {
    const before = earlier.get(question.show_if?.question);
    const labels = before && decides(before) ? labelsOf(before) : [];
    let kept = question;
    if (question.show_if) {
      const answers = question.show_if.answers.filter((label) => labels.includes(label));
      const { show_if: _gone, ...rest } = question;
      kept = before && answers.length
        ? { ...question, show_if: { ...question.show_if, answers } }
        : rest;
    }
    earlier.set(kept.id, kept);
    return kept;
  });
}
