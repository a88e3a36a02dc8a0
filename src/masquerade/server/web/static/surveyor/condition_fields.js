// A condition as a tree of a few clicks: all, any or none of some answers to earlier questions.

import { leavesOf, ruleOf } from "../app/conditions.js";
import { element } from "../app/dom.js";
import { kindOf } from "../app/kinds/kinds.js";
import { linkedOf } from "../app/linked_questions.js";
import { button, check, fold, group, numberField, selectField, textField } from "./fields.js";
import { labelsOf, participantForm, partsOf } from "./questions.js";
import { named, said } from "./said.js";

const MOST_LEAVES = 8;
const MOST_DEPTH = 3;
const RULES = [["all", said("all of these hold")], ["any", said("any of these holds")], ["none", said("none of these holds")]];

/** Return a first condition on a question: its first answer, a part of its scale, or the first place. */
export function firstLeaf(question) {
  const kind = kindOf(question);
  const [shape] = kind.leaves(question);
  if (shape === "interval") {
    const [from, to] = kind.ends(question);
    return { question: question.id, from, to };
  }
  const answers = (labelsOf(question) ?? []).slice(0, 1);
  return { question: question.id, answers, ...(shape === "places" && { first: 1 }) };
}

const shapeOf = ({ answers, first }) => (!answers ? "interval" : first === undefined ? "labels" : "places");

/** Return a tree in its shortest form; undefined where nothing of it is left. */
export function tidied(tree) {
  const rule = ruleOf(tree);
  if (!rule) return tree;
  const parts = tree[rule].map(tidied).filter(Boolean);
  if (!parts.length) return undefined;
  return parts.length === 1 && rule === "all" ? parts[0] : { [rule]: parts };
}

/** Return a tree without what names answers that there are no more; `earlier` by their ids. */
export function withoutBroken(tree, earlier) {
  const rule = ruleOf(tree);
  if (rule) return tidied({ [rule]: tree[rule].map((part) => withoutBroken(part, earlier)).filter(Boolean) });
  const before = tree && earlier.get(tree.question);
  if (!before || !kindOf(before).decides) return undefined;
  if (!kindOf(before).leaves(before).includes(shapeOf(tree))) return undefined;
  if (!tree.answers) return tree;
  const labels = labelsOf(before) ?? [];
  const answers = tree.answers.filter((label) => labels.includes(label));
  return answers.length ? { ...tree, answers } : undefined;
}

/** Return a tree in which a question has another id. */
export function renamed(tree, old, id) {
  const rule = ruleOf(tree);
  if (rule) return { [rule]: tree[rule].map((part) => renamed(part, old, id)) };
  return tree?.question === old ? { ...tree, question: id } : tree;
}

/**
 * Return the fields of a condition.
 *
 * @param {{title: string, always: string, when: string, hint: string, key: string}} texts
 * @param {object|undefined} now the tree
 * @param {object[]} earlier questions whose answers may decide
 * @param {(tree: object|undefined) => void} set
 * @param {string[]} faults
 */
export function conditionFields(texts, now, earlier, set, faults = []) {
  const change = (tree) => set(tree && tidied(tree));
  const start = (rule) => {
    if (!rule) return set(undefined);
    const parts = now ? (ruleOf(now) ? now[ruleOf(now)] : [now]) : [firstLeaf(earlier.at(-1))];
    return set(rule === "all" && parts.length === 1 ? parts[0] : { [rule]: parts });
  };
  const rule = now ? ruleOf(now) ?? "all" : "";
  return group(
    texts.title,
    selectField(
      texts.when,
      rule,
      [["", texts.always], ...RULES.map(([name, text]) => [name, said("when {rule}", { rule: text })])],
      start,
      { faults, hint: now ? texts.hint : "", key: `${texts.key}/rule` },
    ),
    now && treeFields(now, { earlier, change, key: texts.key, depth: 1, left: MOST_LEAVES - leavesOf(now).length }),
  );
}

/** Draw the parts of one group of conditions; `known.change` is given the group anew. */
function treeFields(tree, known) {
  const { earlier, change, key, depth, left } = known;
  const rule = ruleOf(tree) ?? "all";
  const parts = ruleOf(tree) ? tree[rule] : [tree];
  const put = (list) => change({ [rule]: list });
  const drawn = parts.map((part, place) => {
    const replace = (other) => put(other ? parts.with(place, other) : parts.filter((_, at) => at !== place));
    const inner = { ...known, change: replace, key: `${key}/${place}`, depth: depth + 1 };
    return ruleOf(part) ? groupOf(part, inner) : leafOf(part, inner);
  });
  const add = (part) => put([...parts, part]);
  return element(
    "div",
    { className: "condition-parts" },
    drawn,
    element(
      "div",
      { className: "actions" },
      left > 0 && button(said("Add a condition"), () => add(firstLeaf(earlier.at(-1))), { kind: "quiet" }),
      left > 0 && depth < MOST_DEPTH - 1 &&
        button(said("Add a group"), () => add({ [rule === "any" ? "all" : "any"]: [firstLeaf(earlier.at(-1)), firstLeaf(earlier[0])] }), { kind: "quiet" }),
    ),
  );
}

function groupOf(tree, known) {
  const rule = ruleOf(tree);
  return element(
    "div",
    { className: "condition-group" },
    selectField(said("A group:"), rule, RULES, (other) => known.change({ [other]: tree[rule] }), { key: `${known.key}/rule` }),
    treeFields(tree, known),
    button(said("Remove the group"), () => known.change(null), { kind: "quiet" }),
  );
}

/** A row of a matrix is called by its own words too. */
const nameOf = ({ id, text, rows, of }) => (of ? `${text} – ${rows[0]}` : text || id);

function leafOf(leaf, { earlier, change, key }) {
  const before = earlier.find(({ id }) => id === leaf.question);
  const labels = (before && labelsOf(before)) ?? [];
  return element(
    "div",
    { className: "condition-leaf" },
    selectField(
      said("The answer to"),
      leaf.question,
      earlier.map((one) => [one.id, nameOf(one)]),
      (id) => change(firstLeaf(earlier.find((one) => one.id === id))),
      { key: `${key}/question` },
    ),
    leaf.answers && before && element("p", { className: "hint" }, kindOf(before).leafWords ? named(kindOf(before).leafWords) : said("is any of")),
    leaf.answers && labels.map((label) =>
      check(label, leaf.answers?.includes(label) ?? false, (on) => {
        const answers = labels.filter((one) => (one === label ? on : leaf.answers.includes(one)));
        change(answers.length ? { ...leaf, answers } : leaf);
      }),
    ),
    shapeOf(leaf) === "places" &&
      numberField(said("Among the first … places"), leaf.first, (first) => change({ ...leaf, first }), {
        whole: true, min: 1, max: before?.top ?? labels.length, key: `${key}/first`,
        hint: said("1: in the first place."),
      }),
    before && shapeOf(leaf) === "interval" &&
      element("div", { className: "row" }, endField(said("From"), "from", leaf, change, key), endField(said("To"), "to", leaf, change, key)),
    button(said("Remove"), () => change(null), { kind: "quiet", label: said("Remove this condition") }),
  );
}

/** An end of an interval: a number, or a date as a text. */
function endField(label, name, leaf, change, key) {
  const set = (end) => change({ ...leaf, [name]: end });
  const more = { key: `${key}/${name}` };
  return typeof leaf[name] === "string" ? textField(label, leaf[name], set, more) : numberField(label, leaf[name], set, more);
}

/** Return why earlier questions of some kinds can decide nothing; null where all can. */
export function undecidedHint(earlier) {
  const without = earlier.filter((question) => kindOf(question).cannotDecide);
  if (!without.length) return null;
  return element(
    "p",
    { className: "hint" },
    without.map((one) => said("No condition can be on “{question}”: {why}. ", { question: one.text || one.id, why: named(kindOf(one).cannotDecide) })),
  );
}

/** Return the copying of a condition to other questions at once. */
export function copyFields(condition, others, copy) {
  if (!condition || !others.length) return null;
  const ticked = new Set();
  return fold(
    said("Use it for other questions too"),
    others.map(({ id, text }) => check(text || id, false, (on) => (on ? ticked.add(id) : ticked.delete(id)))),
    button(said("Copy the condition to them"), () => copy([...ticked])),
  );
}

/** Return what one answer can change of a draft, in a sentence; empty where it is one report alone. */
export function linkedInWords(questions) {
  let found;
  try {
    const forms = questions.flatMap(partsOf).map((one) => participantForm(one));
    found = linkedOf(forms, forms.map(({ kind, labels }) => `${kind} ${labels?.length}`));
  } catch {
    return ""; // it cannot be said before all questions can be read
  }
  const most = Math.max(1, ...found.groups.map(({ length }) => length));
  if (most === 1) return "";
  return found.atMost
    ? said("One answer can change at most {count} reports at once, its own among them. What one answer costs counts them all.", { count: most })
    : said("One answer can change {count} reports at once, its own among them. What one answer costs counts them all.", { count: most });
}
