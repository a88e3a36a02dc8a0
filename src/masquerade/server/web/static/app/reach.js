// Who asks, for what consent, and who may answer, as an invitation says it.

import { isRecord, isText, requireThat } from "./promise.js";

const LONGEST = { asked_by: 200, contact: 200, consent: 4000 };
const DAY = /^\d{4}-\d\d-\d\d$/;
const MOST_WAVES = 1000;
// Of 2,048 to 4,096 bits in whole bytes, and odd.
const KEY = /^[89a-f][0-9a-f]{510,1022}[13579bdf]$/;

/** Return what an invitation says of it: nothing of what is empty, as in the survey's text. */
export function readReach(data) {
  const reach = {};
  for (const [name, longest] of Object.entries(LONGEST)) {
    const text = data[name] ?? "";
    requireThat(isText(text) && text === text.trim() && [...text].length <= longest, `the ${name}`);
    if (text) reach[name] = text;
  }
  const terms = data.invitations ?? null;
  if (terms === null) return reach;
  requireThat(isRecord(terms) && Object.keys(terms).length === 4, "the terms of invitations");
  const { key, wave, answers_from: from, watched } = terms;
  requireThat(isText(key) && KEY.test(key) && key.length % 2 === 0, "the key of invitations");
  requireThat(Number.isInteger(wave) && wave >= 1 && wave <= MOST_WAVES, "the wave");
  requireThat(from === null || (isText(from) && DAY.test(from)), "the first day of answers");
  requireThat(typeof watched === "boolean", "whether it is looked who came");
  return { ...reach, invitations: terms };
}
