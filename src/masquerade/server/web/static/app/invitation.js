// What a server says of a survey before a level is chosen, believed only where it can be checked.
// What is shown of it is what `readInvitation` returns: amounts are worked out from the masks.

import { KINDS } from "./kinds/kinds.js";
import { readLook } from "./look.js";
import { languagesOfInvitation } from "./languages.js";
import { BrokenPromise, isRecord, isText, requireThat, same } from "./promise.js";
import { readPanel } from "./panel.js";
import { readReach } from "./reach.js";
import { lossesOfDrawn, lossesOfSums } from "../mechanisms/losses.js";
import { deviceOf } from "../mechanisms/text.js";

const TOPICS = ["everyday", "personal", "sensitive"];
const REVEALS = ["before_send", "after_send"];
const STATES = ["open", "closing", "closed", "enrolling"];
const MOST_QUESTIONS = 200;
const SLACK = 2; // millionths: the last digit may be rounded otherwise

/** The level at which nothing is masked; no other may have its name. */
export const UNMASKED = "none";

/** The level of a survey whose answers are split between two parties. */
export const TWO_PARTIES = "two-parties";

const isCount = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;

/**
 * Return an invitation of which every number is this device's own, or throw `BrokenPromise`.
 *
 * @param {object} data as the server sent it
 * @param {string} token of the survey that was asked for
 * @returns {object} with `levels`: `{name, mechanisms, losses, clear}` each
 */
export function readInvitation(data, token) {
  requireThat(isRecord(data) && data.token === token, "the survey's token");
  const { title, description, topic, template, estimator, reveal, hash, linked, kinds } = data;
  requireThat(isText(title) && title.trim() && isText(description), "the title");
  requireThat(TOPICS.includes(topic) && isText(template) && isText(estimator), "the topic");
  requireThat(REVEALS.includes(reveal), "when masks are shown");
  requireThat(isHash(hash), "the hash");
  requireThat(STATES.includes(data.state), "the state");
  requireThat(isCount(data.questions, MOST_QUESTIONS), "the number of questions");
  requireThat(
    isRecord(kinds) &&
      Object.entries(kinds).every(([kind, n]) => KINDS.has(kind) && isCount(n, 200)) &&
      Object.values(kinds).reduce((all, each) => all + each, 0) === data.questions,
    "what the questions are",
  );
  requireThat(
    Array.isArray(linked) && linked.every((group) => isGroup(group, data.questions)),
    "which questions decide over others",
  );
  const draw = readDraw(data.draw ?? null, data.questions);
  const parties = readParties(data);
  requireThat(!parties || draw === null, "which questions are drawn");
  const reach = readReach(data);
  const levels = parties ? [readSplitLevel(data)] : readLevels(data);
  const fixed = levels.length === 1 ? levels[0].name : null;
  requireThat(data.fixed_level === fixed, "the fixed level");
  return {
    token, title, description, topic, template, estimator, reveal, hash, linked, kinds, draw, levels,
    parties, fixed, state: data.state, questions: data.questions,
    look: readLook(data.look),
    languages: languagesOfInvitation(data),
    simulated: data.simulated === true,
    reward: readReward(data.reward),
    reach, asked_by: reach.asked_by ?? "", contact: reach.contact ?? "", consent: reach.consent ?? "",
    panel: readPanel(data.panel),
    published: data.results === true,
  };
}

/**
 * Return an invitation with the second party that served this page, which has to be the survey's;
 * whoever opened a survey there is asked nothing that is masked, or added up with somebody else.
 */
export function fromHost(invitation, host) {
  const { helper, fingerprint } = invitation.parties ?? {};
  if (host && (helper !== host.address || fingerprint !== host.fingerprint)) {
    throw new BrokenPromise("the survey names another second party.", "host");
  }
  return { ...invitation, host };
}

export const isHash = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);

function isGroup(group, questions) {
  return (
    Array.isArray(group) &&
    group.length > 1 &&
    group.every((place, at) => Number.isInteger(place) && place > (group[at - 1] ?? -1)) &&
    group.at(-1) < questions
  );
}

/** Return how many blocks of questions a person is asked, and which there are; null for all. */
function readDraw(given, questions) {
  if (given === null) return null;
  requireThat(isRecord(given) && Array.isArray(given.blocks), "which questions are drawn");
  const { asked, blocks } = given;
  const places = blocks.flat().sort((one, other) => one - other);
  const whole = places.length === questions && places.every((place, at) => place === at);
  requireThat(whole && blocks.every((block) => Array.isArray(block) && block.length > 0), "the blocks");
  requireThat(isCount(asked, blocks.length - 1), "how many questions are drawn");
  return { asked, blocks };
}

function readLevels({ levels, masks, linked, questions, draw = null }) {
  requireThat(Array.isArray(levels) && levels.length > 0 && isRecord(masks), "the levels");
  const found = levels.map((level) => {
    requireThat(isRecord(level), "a level");
    const { name, mechanisms } = level;
    requireThat(isText(name) && /^[a-z][a-z0-9-]{0,31}$/.test(name), "a level's name");
    requireThat(Array.isArray(mechanisms) && mechanisms.length === questions, "the masks");
    checkForms(mechanisms, masks);
    const losses = lossesOfDrawn(mechanisms, linked, draw);
    requireThat(!draw || losses.clear === 0, "which questions are drawn");
    checkStatement(level, losses);
    const clear = losses.clear > 0;
    requireThat(clear === (name === UNMASKED), "what a level is called");
    requireThat(!clear || losses.clear === questions, "a level without masks");
    return { name, mechanisms, losses, clear };
  });
  requireThat(new Set(found.map(({ name }) => name)).size === found.length, "a level's name");
  return found;
}

// What nobody on the way can change: https, or this computer itself.
const ORIGIN =
  /^http(s:[/][/][a-z0-9.:[\]-]{1,300}|:[/][/](localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?)$/;

const SUMS = /^two-parties:\d{1,30}\/\d{1,30}\/[0-9./]{1,80}(;\d{1,30}\/\d{1,30}\/[0-9./]{1,80}){0,4095}$/;

/** Return who the two parties are and what shows that they agreed; null where masks protect. */
function readParties({ trust = "device", two_parties: given = null }) {
  requireThat(trust === TWO_PARTIES || (trust === "device" && given === null), "whom to trust");
  if (trust !== TWO_PARTIES) return null;
  requireThat(isRecord(given) && isRecord(given.approval), "the second party");
  const { helper, operator, fingerprint, minimum, approval } = given;
  // Shown as a link, so that it has to be an address and nothing else.
  requireThat(isText(helper) && ORIGIN.test(helper), "its address");
  requireThat(isText(operator) && operator.trim() && operator.length <= 200, "who runs it");
  requireThat(isText(fingerprint) && /^[0-9a-f]{32}$/.test(fingerprint), "its fingerprint");
  requireThat(Number.isSafeInteger(minimum) && minimum >= 2, "the least number of answers");
  const { task, configuration, terms, public_key, signature } = approval;
  const facts = { task, configuration, terms, public_key, signature };
  requireThat(Object.values(facts).every(isText) && isHash(task), "the second party's approval");
  return { helper, operator, fingerprint, minimum, approval: facts };
}

/** Return the one level of a survey between two parties: its noise, block by block. */
function readSplitLevel({ levels, masks }) {
  requireThat(Array.isArray(levels) && levels.length === 1 && isRecord(levels[0]), "the level");
  requireThat(isRecord(masks) && Object.keys(masks).length === 0, "the masks");
  const { name, mechanisms } = levels[0];
  requireThat(name === TWO_PARTIES && mechanisms?.length === 1, "the level");
  const [sums] = mechanisms;
  requireThat(isText(sums) && SUMS.test(sums), "what the sums cost");
  const losses = lossesOfSums(sums);
  requireThat(losses.loss.orders[0] > 0, "what the sums cost");
  checkStatement(levels[0], losses);
  return { name, mechanisms: [], sums, losses, clear: false };
}

/** Throw unless the whole numbers of every mechanism are those that follow from its text. */
export function checkForms(mechanisms, masks) {
  requireThat(isRecord(masks), "the masks");
  for (const text of new Set(mechanisms)) {
    let device = null;
    try {
      device = deviceOf(text);
    } catch {
      requireThat(false, "a mask");
    }
    requireThat(Object.hasOwn(masks, text) && same(masks[text], device), "a mask's form");
  }
}

/** Throw where the server says that a level costs less than is certain, or nothing readable. */
function checkStatement(level, { single, delta, clear, least }) {
  const certain = clear
    ? { rho: Infinity, single: Infinity, event: Infinity, user: Infinity, delta: 0 }
    : { single, ...least, delta: delta * 1e6 };
  for (const [said, name] of [
    [level.rho, "rho"],
    [level.epsilon_single, "single"],
    [level.epsilon_event, "event"],
    [level.epsilon_user, "user"],
    [level.delta, "delta"],
  ]) {
    const limit = certain[name];
    const enough =
      limit === Infinity
        ? said === "inf"
        : Number.isFinite(said) && said >= 0 && said * 1e6 >= limit - (name === "delta" ? 0 : SLACK);
    requireThat(enough, `what a level costs, ${name},`);
  }
}

/** What the survey gives is the server's word; what is no amount or no code is left out. */
function readReward(reward) {
  if (!isRecord(reward) || reward.kind !== "codes") return null;
  const { kind, currency, amounts } = reward;
  const known = isText(currency) && isRecord(amounts) && Object.values(amounts).every(Number.isFinite);
  return known ? { kind, currency, amounts } : null;
}
