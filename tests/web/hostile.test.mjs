// Every server that lies, of tests/vectors/hostile-server.json: the device trusts none of them.
// The Python client runs the same table in tests/client.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import {
  USUAL_CAPS,
  lowerCaps,
  spentOf,
  balanceOf,
} from "../../src/masquerade/server/web/static/app/budget.js";
import { readInvitation } from "../../src/masquerade/server/web/static/app/invitation.js";
import { BrokenPromise, same } from "../../src/masquerade/server/web/static/app/promise.js";
import { Participation } from "../../src/masquerade/server/web/static/app/participation.js";
import { strengthOf } from "../../src/masquerade/server/web/static/app/strength.js";
import { sha256OfText } from "../../src/masquerade/server/web/static/app/sha256.js";
import { promiseOf, questionsOf } from "../../src/masquerade/server/web/static/app/survey_text.js";
import { Disk } from "./disk.mjs";

const table = JSON.parse(
  readFileSync(new URL("../vectors/hostile-server.json", import.meta.url), "utf8"),
);
const UNDRAWN = [undefined, "reserving", "reserved", "ended"];

/** Return the text of a body in which a server lies as a case says. */
function toldBy(honest, lie) {
  if (!lie) return { status: honest.status, text: JSON.stringify(honest.body) };
  const status = lie.status ?? honest.status;
  if (lie.raw !== undefined) return { status, text: lie.raw };
  if (!lie.change) return { status, text: JSON.stringify(lie.body) };
  const body = structuredClone(honest.body);
  for (const { path, value, delete: gone } of lie.change) {
    const place = path.slice(0, -1).reduce((at, step) => at[step], body);
    const last = path.at(-1);
    if (!gone) place[last] = value;
    else if (Array.isArray(place)) place.splice(last, 1);
    else delete place[last];
  }
  return { status, text: JSON.stringify(body) };
}

/** What api.js makes of a response. */
function answerOf({ status, text }) {
  try {
    const data = JSON.parse(text);
    const slug = String(data.type ?? "").split("/").pop();
    const lost = status >= 500 || [408, 425, 429].includes(status);
    return { ok: status >= 200 && status < 300, status, data, lost, slug };
  } catch {
    return { ok: false, status: 0, data: {}, lost: true, slug: "" };
  }
}

/** A server that answers one survey, lying in some steps, and remembers all that was asked. */
class LyingServer {
  constructor(survey, lies, asked) {
    Object.assign(this, { survey, lies, asked });
  }

  #tell(step, carried = {}) {
    this.asked.push({ step, ...structuredClone(carried) });
    return answerOf(toldBy(this.survey.steps[step], this.lies[step]));
  }

  async invitation() {
    return this.#tell("invitation");
  }

  async invitations() {
    return this.#tell("invitations");
  }

  async reserve() {
    return this.#tell("reserve");
  }

  async open() {
    return this.#tell("open");
  }

  async seal(_id, commitment) {
    return this.#tell("seal", { commitment });
  }

  async respond(_id, { reports }) {
    return this.#tell("send", { reports });
  }

  async withdraw() {
    return this.#tell("withdraw");
  }

  async abandon() {
    return this.#tell("abandon");
  }

  async me() {
    return this.#tell("me");
  }
}

/** One person with one device at one server: everything that the page of a survey does. */
class Attempt {
  constructor(disk, one, lies, asked, draws) {
    const survey = table.surveys[one.survey];
    const { epsilon, clear } = capsOf(one);
    this.server = new LyingServer(survey, lies, asked);
    this.caps = async () => lowerCaps({ epsilon, clear }, (await this.server.me()).data?.caps);
    if (one.caps || one.cap !== undefined) this.caps = async () => ({ epsilon, clear });
    this.part = new Participation(disk.seenBy(), this.server, survey.token, this.caps);
    Object.assign(this, { disk, survey, one, draws });
  }

  /** Answer as far as the server lets; `codes` are the answers. */
  async answer(codes) {
    const { data } = await this.server.invitation();
    const invitation = readInvitation(data, this.survey.token);
    const consent = this.one.consent === true;
    const record = await this.part.begin(invitation, this.survey.level, { consent });
    if (!record) return invitation;
    await this.part.proceed();
    const { questions } = (await this.part.read()) ?? {};
    if (questions) {
      const answers = Object.fromEntries(questions.map(({ id }, place) => [id, codes[place]]));
      await this.part.keepDraft({ answers, at: questions.length });
    }
    await this.part.draw((asked) => {
      this.draws.push(asked.length);
      return asked.map(() => this.draws.length);
    });
    await this.part.proceed();
    await this.part.wish();
    await this.part.proceed();
    return invitation;
  }
}

function capsOf({ cap, caps = {} }) {
  const epsilon = caps.epsilon ?? cap;
  return {
    epsilon: epsilon === undefined ? USUAL_CAPS.epsilon : epsilon * 1e6,
    clear: caps.clear ?? (cap === 10 ? 200 : USUAL_CAPS.clear),
  };
}

/** Run one case; return what happened. */
async function run(one, lies = one.lies) {
  const disk = new Disk();
  const [asked, draws] = [[], []];
  const survey = table.surveys[one.survey];
  const attempt = new Attempt(disk, one, lies, asked, draws);
  let error = null;
  let invitation = null;
  try {
    invitation = await attempt.answer(survey.codes);
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error === null || error instanceof BrokenPromise, `${one.name}: ${error?.stack}`);
  const record = await attempt.part.read();
  const charges = await disk.seenBy().readAll("charges");
  return { disk, asked, draws, error, invitation, record, charges, survey, attempt };
}

const steps = (asked) => asked.map(({ step }) => step).filter((step) => step !== "me");

/** Return everything a page shows in numbers, as this device works it out. */
async function shownBy({ invitation, charges, attempt, record }) {
  const caps = await attempt.caps();
  return {
    levels: invitation.levels.map(({ losses, clear }) => [losses, clear, strengthOf(losses)]),
    charges,
    standing: balanceOf(charges, caps),
    strength: record?.strength,
  };
}

const EXPECTED = {
  async "refuses-invitation"(found) {
    assert.ok(found.error);
    assert.deepEqual(steps(found.asked), ["invitation"]);
    assert.equal(found.record, null);
    assert.deepEqual([found.draws, found.charges], [[], []]);
  },
  async refuses(found, one) {
    assert.deepEqual(found.draws, []);
    assert.ok(!steps(found.asked).some((step) => ["seal", "send"].includes(step)));
    assert.ok(UNDRAWN.includes(found.record?.step));
    assert.equal(found.record?.questions, undefined);
    // With an honest server the same device goes on, or begins anew.
    const { disk, asked, draws, survey } = found;
    const honest = new Attempt(disk, one, {}, asked, draws);
    await honest.part.forget();
    await honest.answer(survey.codes).catch(async (error) => {
      assert.ok(error instanceof BrokenPromise);
      await honest.part.giveUp(); // as the page offers, where the survey is another one now
      await honest.part.forget();
      await honest.answer(survey.codes);
    });
    assert.equal((await honest.part.read()).step, "finished");
    assert.equal(draws.length, 1);
  },
  async "own-numbers"(found, one) {
    assert.equal(found.error, null);
    assert.equal(found.record.step, "finished");
    const honest = await run(one, {});
    assert.deepEqual(await shownBy(found), await shownBy(honest));
    assert.equal(found.record.bill, undefined);
  },
  async "one-draw"(found, one) {
    const { disk, asked, draws, survey } = found;
    for (const lies of [one.lies, {}, {}]) {
      const again = new Attempt(disk, one, lies, asked, draws);
      await again.part.giveUp().catch(() => {});
      await again.part.withdraw().catch(() => {});
      await again.part.forget();
      await again.answer(survey.other_codes).catch((error) => assert.ok(error instanceof BrokenPromise));
    }
    assert.ok(draws.length <= 1, `${draws.length} draws`);
    const carried = (name) => new Set(asked.map((each) => each[name]).filter(Boolean).map(String));
    assert.ok(carried("commitment").size <= 1);
    assert.ok(carried("reports").size <= 1);
    assert.equal(spentOf(await disk.seenBy().readAll("charges")).surveys, 1);
  },
  async "begin-again"(found, one) {
    assert.deepEqual([found.draws, found.charges], [[], []]);
    const { disk, asked, draws, survey } = found;
    const honest = new Attempt(disk, one, {}, asked, draws);
    await honest.part.forget();
    await honest.answer(survey.codes);
    assert.equal((await honest.part.read()).step, "finished");
  },
  async over(found, one) {
    assert.deepEqual(found.draws, []);
    assert.equal(found.record.step, "ended");
    const { disk, asked, draws, survey } = found;
    const honest = new Attempt(disk, one, {}, asked, draws);
    await honest.part.forget();
    await honest.answer(survey.codes);
    assert.equal((await honest.part.read()).step, "ended");
    assert.deepEqual(draws, []);
  },
  async "stops-at-own-cap"(found) {
    assert.equal(found.record, null);
    assert.ok(!steps(found.asked).includes("reserve"));
    assert.deepEqual(found.draws, []);
  },
};

test("the table has hundreds of lies, and only outcomes that are known here", () => {
  assert.ok(table.cases.length >= 400);
  assert.deepEqual(
    [...new Set(table.cases.map(({ expect }) => expect))].sort(),
    Object.keys(EXPECTED).sort(),
  );
});

test("an honest server is answered", async () => {
  for (const survey of Object.keys(table.surveys)) {
    const found = await run({ survey, consent: true, caps: { epsilon: 20, clear: 2 } }, {});
    assert.equal(found.record.step, "finished");
    assert.deepEqual(found.draws.length, 1);
  }
});

for (const one of table.cases) {
  test(`${one.expect}: ${one.survey}: ${one.name}`, async () => EXPECTED[one.expect](await run(one), one));
}

/** Return the path of every value within a value, itself left out. */
function pathsOf(value, path = []) {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => {
    const step = Array.isArray(value) ? Number(key) : key;
    return [[...path, step], ...pathsOf(value[key], [...path, step])];
  });
}

const JUNK = [null, true, -1, 0, 0.5, 1e300, "", "x", "inf", [], [[]], {}, "__proto__"];

test("whatever one value of an invitation is, it is refused or changes no number", () => {
  const { steps, token } = table.surveys.work;
  const honest = readInvitation(steps.invitation.body, token);
  const numbers = (invitation) =>
    invitation.levels.map(({ name, mechanisms, losses, clear }) => [name, mechanisms, losses, clear]);
  let refused = 0;
  const paths = pathsOf(steps.invitation.body);
  for (const path of paths) {
    for (const value of JUNK) {
      const lie = { change: [{ path, value }] };
      const { data } = answerOf(toldBy(steps.invitation, lie));
      try {
        const found = readInvitation(data, token);
        if (path.at(-1) !== "name") assert.deepEqual(numbers(found), numbers(honest), `${path}`);
        for (const { name } of found.levels) assert.match(name, /^[a-z][a-z0-9-]*$/);
      } catch (error) {
        assert.ok(error instanceof BrokenPromise, `${path} is ${JSON.stringify(value)}: ${error.stack}`);
        refused++;
      }
    }
  }
  assert.ok(paths.length > 100 && refused > 1000, `${refused} of ${paths.length * JUNK.length}`);
});

test("whatever one value of the survey's text is, nothing but the promised one is asked", () => {
  const { steps, token, level } = table.surveys.work;
  const whole = JSON.parse(steps.open.body.survey);
  for (const path of pathsOf(whole)) {
    for (const value of JUNK) {
      const body = structuredClone(whole);
      const place = path.slice(0, -1).reduce((at, step) => at[step], body);
      if (place[path.at(-1)] === value) continue;
      place[path.at(-1)] = value;
      const text = JSON.stringify(body);
      // The hash is that of the text from the beginning: only what it holds can tell.
      const invitation = readInvitation(steps.invitation.body, token);
      const promise = { ...promiseOf(invitation), hash: sha256OfText(text) };
      try {
        const asked = questionsOf(text, promise, level);
        for (const { device, labels, kind } of asked) {
          assert.ok(kind === "number" || labels.every((label) => typeof label === "string"));
          assert.ok(same(device, steps.open.body.masks[asked.find((one) => one.device === device)
            .mechanism]));
        }
      } catch (error) {
        assert.ok(error instanceof BrokenPromise, `${path} is ${JSON.stringify(value)}: ${error.stack}`);
      }
    }
  }
});
