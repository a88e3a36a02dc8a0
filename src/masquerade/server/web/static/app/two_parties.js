// What only a survey between two parties needs: its modules, which no other survey loads, and the
// steps that differ from masks.

import { answerCodes, visibility } from "./conditions.js";
import { allow } from "./dom.js";
import { BrokenPromise } from "./promise.js";

let loading = null;
let views = null;

/** Return whether a participation is in a survey between two parties. */
export const isSplit = ({ strength }) => strength === "parties";

/** A name within a sentence, whose direction may be another than the sentence's. */
export const isolated = (name) => `\u2068${name}\u2069`;

/** Load the screens that only such a survey has; without a network it may fail. */
export async function loadViews() {
  allow("party-views");
  views ??= await import("./two_party_views.js");
}

/** Return the screens that only such a survey has, once they are loaded. */
export const partyViews = () => views;

/** Return the module with all that the two parties agreed to; loaded when first needed. */
export function loadAgreement() {
  loading ??= load().catch((error) => {
    loading = null; // no network: another attempt may have one
    throw error;
  });
  return loading;
}

async function load() {
  allow("two-parties");
  return import("./agreement.js");
}

/** Run a check of the agreement; what does not hold is a promise that the parties broke. */
async function believed(check) {
  try {
    return await check();
  } catch (error) {
    if (!error.reason) throw error;
    throw new BrokenPromise(error.message, error.reason);
  }
}

/**
 * Check that both parties agreed to a survey, by what the server says and by what the helper says
 * itself; return null, or the request that did not succeed.
 *
 * @param {object} module as `loadAgreement` gives it
 * @param {object} server
 * @param {object} promise with the survey's token
 */
export async function checkParties(module, server, promise) {
  const { helper, approval } = promise.parties;
  const now = Math.floor(Date.now() / 1000);
  await believed(() => module.checkApproval(promise, now));
  const answer = await server.approval(helper, module.taskAddress(approval.task));
  if (!answer.ok && answer.status !== 404) return { ...answer, slug: "helper-away", lost: true };
  await believed(() => module.checkHelper(promise, answer.ok ? answer.data : null));
  return null;
}

/** Check that what is added up is what the survey says, now that its questions are here. */
export function checkSums(module, promise, questions, text) {
  return believed(() => module.agreedTask(promise, questions, text));
}

/** Return the answers of an open participation as a sealed report. */
export async function sealAnswers(module, promise, { questions, text, answers }) {
  const agreed = await checkSums(module, promise, questions, text);
  const codes = answerCodes(questions, answers);
  return module.sealedReport(agreed, codes, visibility(questions, answers));
}
