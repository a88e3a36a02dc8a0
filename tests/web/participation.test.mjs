// The device's half of the protocol: one draw, nothing lost, whatever happens between two steps.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import "../../src/masquerade/server/web/static/app/kinds/every.js";
import { chargeOf } from "../../src/masquerade/server/web/static/app/budget.js";
import {
  Participation,
  canonical,
  checkedQuestions,
  costOf,
} from "../../src/masquerade/server/web/static/app/participation.js";
import { BrokenPromise } from "../../src/masquerade/server/web/static/app/promise.js";
import { ContractServer, refused } from "./contract_server.mjs";
import { Disk } from "./disk.mjs";
import { surveyOf } from "./example_survey.mjs";

const SECRET = "ab".repeat(16);
const LOST = { ok: false, status: 0, data: {}, lost: true, slug: "" };
const SURVEY = surveyOf({ levels: { high: 0.5, medium: 1, low: 2, none: Infinity } });

/** A mask that never draws the same reports twice. */
function countedMask() {
  const mask = (questions, codes) => {
    assert.deepEqual(codes, [1, 0]);
    mask.count++;
    return [10 + mask.count, -mask.count];
  };
  mask.count = 0;
  return mask;
}

function setUp(options = {}) {
  const disk = new Disk();
  const server = new ContractServer({ survey: SURVEY, ...options });
  const mask = countedMask();
  const page = ({ step, wire, secret = SECRET, on = disk, caps } = {}) =>
    new Participation(on.seenBy(step), server.seenBy(secret, wire), "t", caps);
  return { disk, server, mask, page };
}

/** Do what a person does who answers, from wherever they are. */
async function answer(page, server, mask, shown = []) {
  await page.begin(server.invitation(), "high");
  const proceed = async () => {
    const { failure } = await page.proceed();
    if (failure) throw new Error(failure.lost ? "lost" : failure.slug);
  };
  await proceed();
  await page.keepDraft({ answers: { a: 1 }, at: 1 });
  await page.keepDraft({ answers: { b: 0 }, at: 2 });
  await page.draw(mask);
  await proceed();
  const sealed = await page.read();
  if (sealed.reports) shown.push(sealed.reports);
  await page.wish();
  await proceed();
  await page.finish();
  return page.read();
}

/** Return everything that two different draws would show in. */
function draws({ disk, server }, shown) {
  const written = disk.written.map(({ reports }) => reports).filter(Boolean);
  const received = server.received.map((body) => JSON.parse(body).reports);
  return new Set([...written, ...received, ...shown].map(String));
}

for (const reveal of ["before_send", "after_send"]) {
  test(`a response arrives once, sealed before it is sent (${reveal})`, async () => {
    const { disk, server, mask, page } = setUp({ reveal });
    const record = await answer(page(), server, mask);
    assert.equal(record.step, "finished");
    assert.match(record.day, /^\d{4}-\d\d-\d\d$/);
    const [charge] = disk.tables.get("charges").values();
    assert.equal(charge.pure, 1000000);
    const { id, state, reports, salt, commitment } = server.people.get(SECRET);
    assert.equal(state, "submitted");
    assert.deepEqual(reports, [11, -1]);
    const committed = createHash("sha256").update(canonical(id, reports, salt)).digest("hex");
    assert.equal(commitment, committed);
    assert.equal(mask.count, 1);
    assert.deepEqual(server.charged, [id]);
    const kept = JSON.stringify([...disk.tables.get("participations").values()]);
    assert.doesNotMatch(kept, /answers|reports|salt|questions|mechanism|text/);
  });

  test(`a page that dies at any step leads to no second draw and loses nothing (${reveal})`, async () => {
    let died = true;
    let fuse = 0;
    for (; died; fuse++) {
      const { disk, server, mask, page } = setUp({ reveal });
      const shown = [];
      let left = fuse;
      const step = () => {
        if (left-- <= 0) throw new Error("killed");
      };
      // A request can be lost on its way there, and its answer on its way back.
      const wire = async (request) => {
        step();
        const result = await request();
        step();
        return result;
      };
      died = false;
      try {
        await answer(page({ step, wire }), server, mask, shown);
      } catch (error) {
        assert.equal(error.message, "killed");
        died = true;
      }
      const acknowledged = server.people.get(SECRET)?.reports;
      const record = await answer(page(), server, mask, shown);
      assert.equal(record.step, "finished", `killed at ${fuse}`);
      assert.ok(draws({ disk, server }, shown).size <= 1, `killed at ${fuse}`);
      assert.equal(server.commitments.size, 1, `killed at ${fuse}`);
      const { reports } = server.people.get(SECRET);
      if (acknowledged) assert.deepEqual(reports, acknowledged);
      assert.equal(server.charged.length, 1, `charged twice, killed at ${fuse}`);
    }
    assert.ok(fuse > 20, `only ${fuse} steps`);
  });

  test(`every request may get lost, there or back, any number of times (${reveal})`, async () => {
    const { disk, server, mask, page } = setUp({ reveal });
    let requests = 0;
    const wire = async (request) => {
      const turn = requests++ % 3;
      if (turn === 0) return LOST;
      const result = await request();
      return turn === 1 ? LOST : result;
    };
    for (let attempt = 0; attempt < 20; attempt++) {
      try {
        await answer(page({ wire }), server, mask);
      } catch (error) {
        assert.equal(error.message, "lost");
      }
    }
    assert.equal((await page().read()).step, "finished");
    assert.equal(draws({ disk, server }, []).size, 1);
    assert.equal(server.charged.length, 1);
  });
}

test("two tabs that draw at once draw once", async () => {
  const { server, mask, page } = setUp();
  const [one, two] = [page(), page()];
  await one.begin(server.invitation(), "high");
  await one.proceed();
  await one.keepDraft({ answers: { a: 1, b: 0 }, at: 2 });
  const [first, second] = await Promise.all([one.draw(mask), two.draw(mask)]);
  assert.deepEqual(first.reports, second.reports);
  assert.equal(first.salt, second.salt);
  assert.equal(mask.count, 1);
  const late = await two.keepDraft({ answers: { a: 0 }, at: 0 });
  assert.deepEqual(late.answers, { a: 1, b: 0 });
});

test("a level is chosen once; another tab's choice does not replace it", async () => {
  const { server, page } = setUp();
  const first = await page().begin(server.invitation(), "high");
  const second = await page().begin(server.invitation(), "low");
  assert.deepEqual(second, first);
});

test("nothing is shown or sent before the server holds the commitment", async () => {
  const { server, mask, page } = setUp();
  const offline = async (request) => (mask.count ? LOST : request());
  await assert.rejects(answer(page({ wire: offline }), server, mask), /lost/);
  const record = await page().read();
  assert.equal(record.step, "drawn");
  assert.equal(server.received.length, 0);
});

test("after_send sends in one go, and keeps what there is to look at until that is done", async () => {
  const { server, mask, page } = setUp({ reveal: "after_send" });
  const here = page();
  await here.begin(server.invitation(), "high");
  await here.proceed();
  await here.keepDraft({ answers: { a: 1, b: 0 }, at: 2 });
  await here.draw(mask);
  const { record } = await here.proceed();
  assert.equal(record.step, "sent");
  assert.deepEqual(record.reports, [11, -1]);
  assert.deepEqual(record.answers, { a: 1, b: 0 });
  await here.finish();
  assert.equal((await here.read()).answers, undefined);
});

test("of two devices of one person, the one that seals first counts", async () => {
  const { server, mask, page } = setUp();
  const [phone, laptop] = [page(), page({ on: new Disk() })];
  for (const device of [phone, laptop]) {
    await device.begin(server.invitation(), "high");
    await device.proceed();
    await device.keepDraft({ answers: { a: 1, b: 0 }, at: 2 });
    await device.draw(mask);
  }
  await phone.proceed();
  const { failure, record } = await laptop.proceed();
  assert.equal(failure.slug, "commitment-mismatch");
  assert.equal(record.step, "ended");
  assert.equal(record.reason, "elsewhere");
  assert.equal(record.reports, undefined);
});

test("a survey begun elsewhere at another level goes on at that level", async () => {
  const { server, page } = setUp();
  await server.reserve(SECRET, "t", "medium", "k");
  const here = page();
  await here.begin(server.invitation(), "high");
  const { failure, record } = await here.proceed();
  assert.equal(failure.slug, "already-participated");
  assert.equal(record.level, "medium");
  assert.equal(record.step, "reserved");
});

test("a reservation that is given back costs nothing and can be made again", async () => {
  const { server, page } = setUp();
  const here = page({ wire: async (request) => request() });
  await here.begin(server.invitation(), "high");
  assert.equal(await here.giveUp(), null);
  assert.equal((await here.read()).reason, "expired");
  await here.forget();
  assert.equal(await here.read(), null);
  await here.begin(server.invitation(), "high");
  const { record } = await here.proceed();
  assert.equal(record.step, "opened");
  assert.equal(server.charged.length, 1);
});

test("what is not sent is deleted, and never drawn again", async () => {
  const { disk, server, mask, page } = setUp();
  const here = page();
  await here.begin(server.invitation(), "high");
  await here.proceed();
  await here.keepDraft({ answers: { a: 1, b: 0 }, at: 2 });
  await here.draw(mask);
  await here.proceed();
  assert.equal(await here.giveUp(), null);
  const record = await here.read();
  assert.equal(record.reason, "abandoned");
  assert.equal(record.reports, undefined);
  await here.forget();
  await here.begin(server.invitation(), "high");
  await here.draw(mask);
  assert.equal((await here.read()).step, "ended");
  assert.equal(disk.tables.get("charges").size, 1);
  assert.equal(mask.count, 1);
});

test("a response can be taken back", async () => {
  const { server, mask, page } = setUp();
  await answer(page(), server, mask);
  assert.equal(await page().withdraw(), null);
  assert.equal((await page().read()).reason, "withdrawn");
  assert.equal(server.people.get(SECRET).reports, null);
});

test("questions that are not what was promised are not kept, let alone answered", async () => {
  const { disk, server, mask, page } = setUp();
  const here = page();
  await here.begin(server.invitation(), "high");
  server.survey = surveyOf({ levels: { high: 8, medium: 1, low: 2, none: Infinity } });
  await assert.rejects(here.proceed(), BrokenPromise);
  assert.equal((await here.read()).step, "reserved");
  await here.draw(mask);
  assert.equal(mask.count, 0);
  server.survey = SURVEY; // an honest server again: it can go on
  const { record } = await here.proceed();
  assert.equal(record.step, "opened");
  assert.equal(disk.tables.get("charges").size, 1);
});

test("questions that were changed on the disk are not masked", async () => {
  const { disk, server, mask, page } = setUp();
  const here = page();
  await here.begin(server.invitation(), "high");
  await here.proceed();
  await here.keepDraft({ answers: { a: 1, b: 0 }, at: 2 });
  const record = disk.tables.get("participations").get("t");
  record.text = record.text.replace("Asked a?", "Asked z?");
  await assert.rejects(here.draw(mask), BrokenPromise);
  record.text = SURVEY.text;
  record.questions[0].text = "Asked z?";
  await assert.rejects(here.draw(mask), BrokenPromise);
  assert.throws(() => checkedQuestions(record), BrokenPromise);
  assert.equal(mask.count, 0);
  record.questions[0].text = "Asked a?";
  assert.equal((await here.draw(mask)).step, "drawn");
});

const STATES = ["expired", "reserved", "opened", "abandoned", "withdrawn", "submitted", null, 5];

for (const step of ["seal", "respond", "withdraw", "abandon"]) {
  for (const state of STATES) {
    test(`what was drawn is never drawn again: ${step} is refused as ${state}`, async () => {
      const { disk, server, mask, page } = setUp();
      const lies = { [step]: async () => refused("wrong-state", { state }) };
      const lying = page();
      lying.server = { ...lying.server, ...lies };
      await answer(lying, server, mask).catch(() => {});
      await lying.giveUp();
      await lying.withdraw();
      for (let attempt = 0; attempt < 3; attempt++) {
        const honest = page();
        await honest.forget();
        await answer(honest, server, mask).catch(() => {});
      }
      assert.ok(mask.count <= 1);
      assert.ok(draws({ disk, server }, []).size <= 1);
      assert.ok(server.commitments.size <= 1);
      assert.equal(disk.tables.get("charges").size, 1);
    });
  }
}

test("whoever was masked here is not masked again, though the record of it is gone", async () => {
  const { disk, server, mask, page } = setUp();
  await answer(page(), server, mask);
  disk.tables.get("participations").clear(); // as when other recovery words are entered
  const record = await page({ secret: "cd".repeat(16) }).begin(server.invitation(), "high");
  assert.deepEqual([record.step, record.reason], ["ended", "here"]);
  await page().forget();
  assert.equal((await page().read()).step, "ended");
});

test("the cost is on the disk before the request that opens, and comes back only unopened", async () => {
  const { disk, server, page } = setUp();
  const charges = () => [...(disk.tables.get("charges")?.values() ?? [])];
  const seen = [];
  const here = page();
  const honest = here.server.open;
  here.server = { ...here.server, open: (id) => {
    seen.push(charges().length);
    return seen.length === 1 ? refused("wrong-state", { state: "expired" }) : honest(id);
  } };
  const cost = costOf(await here.begin(server.invitation(), "high"));
  assert.equal(charges().length, 0);
  await here.proceed();
  assert.deepEqual(charges(), []);
  assert.equal((await here.read()).reason, "expired");
  await here.forget();
  server.people.clear();
  await here.begin(server.invitation(), "high");
  await here.proceed();
  assert.deepEqual(seen, [1, 1]);
  assert.deepEqual(charges(), [{ token: "t", place: 1, ...chargeOf(cost) }]);
  await here.giveUp();
  assert.equal(charges().length, 1);
});

test("an answer that comes late opens nothing that was given up and begun anew", async () => {
  const { disk, server, page } = setUp();
  const late = page();
  await late.begin(server.invitation(), "high");
  const honest = late.server.open;
  let waiting = 0;
  late.server = { ...late.server, open: async (id) => {
    const answer = await honest(id);
    if (waiting++) return answer;
    // Another tab gives it up as unopened, its charge with it, and reserves anew.
    const other = page();
    other.server = { ...other.server, abandon: async () => {
      server.people.clear();
      return { ok: true, status: 200, data: { id, state: "expired" }, lost: false, slug: "" };
    } };
    assert.equal(await other.giveUp(), null);
    await other.forget();
    const again = await other.begin(server.invitation(), "high");
    await other.reserve(again);
    assert.equal(disk.tables.get("charges").size, 0);
    return answer;
  } };
  await late.proceed();
  const names = disk.written.filter(({ step }) => step === "opened").map(({ id }) => id);
  assert.deepEqual(names, ["2".padStart(32, "0")]);
  assert.equal(disk.tables.get("charges").size, 1);
  assert.equal(waiting, 2);
});

test("a refusal for good leaves the choice of a level open", async () => {
  for (const slug of ["budget-exhausted", "too-many-reservations"]) {
    const { disk, server, page } = setUp();
    const here = page();
    here.server = { ...here.server, reserve: async () => refused(slug) };
    await here.begin(server.invitation(), "high");
    const { record, failure } = await here.proceed();
    assert.equal(failure.slug, slug);
    assert.equal(record, null);
    assert.equal(disk.tables.get("charges")?.size ?? 0, 0);
  }
});

test("the device stops at its own cap, whatever the server admits", async () => {
  const { disk, server, mask, page } = setUp();
  const caps = async () => ({ epsilon: 900000, clear: 0 }); // it costs 1
  assert.equal(await page({ caps }).begin(server.invitation(), "high"), null);
  assert.equal(server.people.size, 0);
  const exact = async () => ({ epsilon: 1000000, clear: 0 });
  const record = await answer(page({ caps: exact }), server, mask);
  assert.equal(record.step, "finished");
  // What another tab has charged since the level was chosen counts too.
  disk.tables.clear();
  server.people.clear();
  const late = page({ caps: exact });
  await late.begin(server.invitation(), "high");
  disk.tables.set("charges", new Map([["u", { token: "u", place: 1, ...chargeOf(costOf(
    await late.read())) }]]));
  const { failure } = await late.proceed();
  assert.equal(failure.slug, "own-cap");
  assert.equal((await late.read()).step, "reserved");
});

test("sending without a mask needs a yes here, also to a level begun elsewhere", async () => {
  const { server, page } = setUp();
  const caps = async () => ({ epsilon: 1e7, clear: 2 });
  await assert.rejects(page({ caps }).begin(server.invitation(), "none"), BrokenPromise);
  await server.reserve(SECRET, "t", "none", "k");
  const here = page({ caps });
  await here.begin(server.invitation(), "high");
  const { record, failure } = await here.proceed();
  assert.equal(failure.slug, "already-participated");
  assert.equal(record, null);
});

test("a survey that closed takes nothing more, and says so", async () => {
  const { server, mask, page } = setUp();
  const here = page();
  await here.begin(server.invitation(), "high");
  await here.proceed();
  await here.keepDraft({ answers: { a: 1, b: 0 }, at: 2 });
  await here.draw(mask);
  server.closed = true;
  const { failure } = await here.proceed();
  assert.equal(failure.slug, "wrong-state");
  assert.equal(failure.lost, false);
  await here.dropUnsent();
  assert.equal((await here.read()).reports, undefined);
});

test("a list of invitations that never ends is given up", async () => {
  const { server, page } = setUp();
  await server.reserve(SECRET, "t", "medium", "k");
  for (const next of [() => "again", (count) => `page ${count}`]) {
    const here = page();
    await here.begin(server.invitation(), "high");
    let count = 0;
    server.invitations = async () => {
      count += 1;
      return { ok: true, status: 200, data: { invitations: [], next_cursor: next(count) } };
    };
    const { failure } = await here.proceed();
    assert.equal(failure.slug, "already-participated");
    assert.ok(count <= 1001);
  }
});
