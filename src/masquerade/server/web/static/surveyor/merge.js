// Two people changed one draft: what each changed alone is taken, and where both did, what is here.

import { isRecord, same } from "../app/promise.js";

/** Return a field as it was changed here, with what was changed elsewhere alone. */
export function merged(base, mine, theirs) {
  if (same(mine, base)) return theirs;
  const lists = [base, mine, theirs].every((one) => Array.isArray(one) && one.every((each) => isRecord(each) && each.id));
  if (lists) return mergedLists(base, mine, theirs);
  if (![base, mine, theirs].every(isRecord)) return mine;
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
  const pairs = names
    .map((name) => [name, same(mine[name], base[name]) ? theirs[name] : mine[name]])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(pairs);
}

/** Questions, by their ids: in the order of here, then those that were added elsewhere. */
function mergedLists(base, mine, theirs) {
  const by = (list) => new Map(list.map((one) => [one.id, one]));
  const [old, own, other] = [by(base), by(mine), by(theirs)];
  const kept = mine
    .map((one) => (same(one, old.get(one.id)) ? other.get(one.id) : one))
    .filter(Boolean);
  return [...kept, ...theirs.filter(({ id }) => !old.has(id) && !own.has(id))];
}
