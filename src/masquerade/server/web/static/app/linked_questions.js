// Questions whose reports can change together with one answer, by enumeration of all worlds: the
// device's half of surveys/linked_questions.py, with the same limits.

import { leavesOf, maskedCode, ruleOf } from "./conditions.js";
import { kindOf } from "./kinds/kinds.js";

const MOST_STATES = 65536;
const MOST_SETS = 2048;
const NO_ANSWER = -1;

/**
 * Return the groups of questions whose reports can change with one answer.
 *
 * @param {object[]} questions
 * @param {string[]} alike what each report costs; of groups that cost the same, the first is kept
 * @returns {{groups: number[][], atMost: boolean}} `atMost`: some of them are upper bounds
 */
export function linkedOf(questions, alike) {
  const above = namedBy(questions);
  let [found, atMost] = [[], false];
  const costsOf = (group) => group.map((place) => alike[place]).sort();
  if (above.every((places) => places.size === 0)) return { groups: [], atMost };
  for (const place of questions.keys()) {
    const below = belowOf(above, place);
    const costs = costsOf(below);
    if (below.length === 1 || found.some((group) => covers(costsOf(group), costs))) continue;
    const groups = changesOf(questions, above, place, below);
    atMost ||= groups === null;
    found = found.concat(groups ?? [below]);
  }
  const first = new Map();
  for (const group of found.filter(({ length }) => length > 1).sort(byPlaces)) {
    const cost = JSON.stringify(costsOf(group));
    if (!first.has(cost)) first.set(cost, group);
  }
  return { groups: [...first.values()].sort(byPlaces), atMost };
}

/** Return for each question that decides over others its place and theirs, however far. */
export function linkedAtMost(questions) {
  const above = namedBy(questions);
  const groups = questions.map((_, place) => belowOf(above, place));
  return groups.filter(({ length }) => length > 1);
}

/**
 * Return the places of questions in blocks: each with all that depend on it, however far.
 *
 * @param {object[]} questions
 * @param {string[][]} together ids of questions that are in one block besides
 */
export function hangTogether(questions, together = []) {
  let block = [...questions.keys()];
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  const named = namedBy(questions).flatMap((names, place) => [...names].map((other) => [place, other]));
  const wanted = together.flatMap(([first, ...rest]) => rest.map((id) => [places.get(first), places.get(id)]));
  for (const [place, other] of [...named, ...wanted]) {
    const [old, now] = [block[other], block[place]];
    block = block.map((one) => (one === old ? now : one));
  }
  const groups = new Map();
  block.forEach((one, place) => groups.set(one, [...(groups.get(one) ?? []), place]));
  return [...groups.values()];
}

/** Return whether sorted costs hold others, each as often. */
function covers(costs, others) {
  let at = 0;
  for (const cost of costs) if (at < others.length && cost === others[at]) at++;
  return at === others.length;
}

function byPlaces(one, other) {
  for (const at of one.keys()) {
    if (at >= other.length) return 1;
    if (one[at] !== other[at]) return one[at] - other[at];
  }
  return one.length - other.length;
}

/** Return for each question the places of those that its condition names. */
function namedBy(questions) {
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  return questions.map(
    ({ show_if: condition }) => new Set(leavesOf(condition).map((leaf) => places.get(leaf.question))),
  );
}

/** Return a question and all whose showing its answer can decide, however far. */
function belowOf(above, place) {
  const below = new Set([place]);
  for (let other = place + 1; other < above.length; other++) {
    if ([...above[other]].some((one) => below.has(one))) below.add(other);
  }
  return [...below];
}

/** Return the largest sets of reports that one answer changes; null above the limits. */
function changesOf(questions, above, place, below) {
  const relevant = new Set(below);
  for (let other = questions.length - 1; other >= 0; other--) {
    if (relevant.has(other)) for (const one of above[other]) relevant.add(one);
  }
  const axes = axesOf(questions, relevant);
  if (axes === null) return null;
  let states = 1;
  for (const [other, { count }] of axes) {
    states *= other === place ? Math.max(1, (count * (count - 1)) / 2) : count;
  }
  if (states > MOST_STATES) return null;

  const decided = [...relevant].filter((one) => questions[one].show_if).sort((one, other) => one - other);
  const shown = questions.map(() => true); // those without a condition always are
  const at = questions.map(() => 0);
  const tests = decided.map((one) => [one, compiled(questions[one].show_if, axes, at, shown)]);
  const others = [...axes.keys()].filter((other) => other !== place);
  const further = below.slice(1);
  const [found, seen] = [new Set(), new Set()];
  do {
    const rows = new Map();
    for (at[place] = 0; at[place] < axes.get(place).count; at[place]++) {
      for (const [one, test] of tests) shown[one] = test();
      let row = 0n;
      further.forEach((other, bit) => {
        if (shown[other]) row |= 2n << BigInt(bit);
      });
      const masked = axes.get(place).masked[at[place]];
      rows.set(row, new Set([...(rows.get(row) ?? []), ...masked]));
    }
    const pattern = [...rows].map(([row, masked]) => `${row}:${[...masked].sort()}`).join();
    if (!shown[place] || seen.has(pattern)) continue;
    seen.add(pattern);
    for (const [one, masked] of rows) {
      for (const [other, further] of rows) {
        // Answers that the mask takes for the same one, such as dates of one range, do not change
        // their own report.
        const own = new Set([...masked, ...further]).size > 1 ? 1n : 0n;
        if (one !== other) found.add((one ^ other) | own);
      }
    }
    if (found.size > MOST_SETS) return null;
  } while (moveOn(others, axes, at));
  const largest = [...found].filter((one) => ![...found].some((other) => one !== other && (one & other) === one));
  return largest.map((one) => below.filter((_, bit) => one & (1n << BigInt(bit))));
}

/** Return a function that says whether a condition is met in the world `at`. */
function compiled(condition, axes, at, shown) {
  const rule = ruleOf(condition);
  if (!rule) {
    const { before, flags } = axes.leaves.get(condition);
    return () => shown[before] && flags[at[before]];
  }
  const parts = condition[rule].map((part) => compiled(part, axes, at, shown));
  if (rule === "all") return () => parts.every((part) => part());
  return rule === "any" ? () => parts.some((part) => part()) : () => !parts.some((part) => part());
}

/** Go on to the next combination of answers; return false after the last one. */
function moveOn(others, axes, at) {
  for (const other of others) {
    at[other] += 1;
    if (at[other] < axes.get(other).count) return true;
    at[other] = 0;
  }
  return false;
}

/**
 * Return by place the answers that conditions tell apart, each by which leaves it meets; null where
 * there are too many to go through.
 */
function axesOf(questions, relevant) {
  const places = new Map(questions.map(({ id }, place) => [id, place]));
  const leaves = new Map();
  for (const place of relevant) {
    for (const leaf of leavesOf(questions[place].show_if)) {
      const before = places.get(leaf.question);
      leaves.set(before, [...(leaves.get(before) ?? []), leaf]);
    }
  }
  const axes = new Map();
  axes.leaves = new Map();
  for (const [before, named] of leaves) {
    const question = questions[before];
    const kind = kindOf(question);
    const deciding = kind.decidingCodes(question, named);
    if (deciding === null) return null;
    const rows = new Map();
    for (const code of [...deciding, ...(question.allow_skip ? [NO_ANSWER] : [])]) {
      const row = named.map((leaf) => code !== NO_ANSWER && kind.meets(question, code, leaf));
      const key = row.map(Number).join("");
      if (!rows.has(key)) rows.set(key, { row, masked: new Set() });
      rows.get(key).masked.add(code === NO_ANSWER ? code : maskedCode(question, code));
    }
    const classes = [...rows.values()];
    axes.set(before, { count: classes.length, masked: classes.map(({ masked }) => masked) });
    named.forEach((leaf, number) => {
      axes.leaves.set(leaf, { before, flags: classes.map(({ row }) => row[number]) });
    });
  }
  return axes;
}
