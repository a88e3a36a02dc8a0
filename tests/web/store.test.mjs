// The promise that masks are drawn once, whatever happens between two steps.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  SurveyMemory,
  participantName,
  workingStorage,
} from "../../src/masquerade/server/web/static/store.js";

const SETTLE = 2;

/** What the disk holds; outlives every page. It remembers all that was ever written. */
class Disk {
  entries = new Map();
  written = [];
}

/** A page's view of the disk. After `fuse` operations the page is killed and can do nothing. */
class FakeStorage {
  constructor(disk, fuse = Infinity) {
    this.disk = disk;
    this.fuse = fuse;
    this.operations = 0;
  }

  #burn() {
    if (this.operations >= this.fuse) throw new Error("killed");
    this.operations++;
  }

  getItem(key) {
    this.#burn();
    return this.disk.entries.get(key) ?? null;
  }

  setItem(key, value) {
    this.#burn();
    this.disk.entries.set(key, String(value));
    this.disk.written.push([key, String(value)]);
  }

  removeItem(key) {
    this.#burn();
    this.disk.entries.delete(key);
  }
}

/**
 * Storages of several tabs: each sees its own writes at once and the others' `lag` later. As in
 * browsers, all come to agree: a write never replaces a later one.
 */
function laggingStorages(count, lag) {
  const views = Array.from({ length: count }, () => new Map());
  let writes = 0;
  return views.map((mine) => {
    const change = (key, value) => {
      const write = { value, order: ++writes };
      const apply = (view) => {
        if ((view.get(key)?.order ?? 0) < write.order) view.set(key, write);
      };
      apply(mine);
      setTimeout(() => views.forEach(apply), lag);
    };
    return {
      getItem: (key) => mine.get(key)?.value ?? null,
      setItem: (key, value) => change(key, value),
      removeItem: (key) => change(key, null),
    };
  });
}

/** navigator.locks, as far as it is used. */
class FakeLocks {
  last = Promise.resolve();

  request(_name, work) {
    const result = this.last.then(work);
    this.last = result.catch(() => {});
    return result;
  }
}

/** A draw that is different every time, so that a second one would be seen. */
function countedDraw() {
  const draw = () => {
    draw.count++;
    return {
      reports: [draw.count, 0],
      pairs: [{ question: "Q", mine: "TRUE ANSWER", sent: `sent ${draw.count}` }],
    };
  };
  draw.count = 0;
  return draw;
}

function memoryOf(disk, { fuse, locks = null, hash = "h" } = {}) {
  return new SurveyMemory(new FakeStorage(disk, fuse), "t", hash, { locks, settle: SETTLE });
}

const sealedWrites = (disk) => disk.written.filter(([key]) => key === "masquerade.sealed.t");

for (const [name, makeLocks] of [["with locks", () => new FakeLocks()], ["without", () => null]]) {
  test(`sealing twice gives the same reports (${name})`, async () => {
    const disk = new Disk();
    const draw = countedDraw();
    const locks = makeLocks();
    const first = await memoryOf(disk, { locks }).seal(draw);
    const second = await memoryOf(disk, { locks }).seal(draw);
    assert.deepEqual(second, first);
    assert.equal(first.stage, "sealed");
    assert.match(first.response_id, /^[0-9a-f]{32}$/);
    assert.equal(draw.count, 1);
  });

  test(`tabs that seal at the same moment share one draw (${name})`, async () => {
    const disk = new Disk();
    const draw = countedDraw();
    const locks = makeLocks();
    const tabs = Array.from({ length: 4 }, () => memoryOf(disk, { locks }));
    const seen = await Promise.all(tabs.map((tab) => tab.seal(draw)));
    for (const other of seen) assert.deepEqual(other, seen[0]);
    assert.equal(draw.count, 1);
    assert.equal(sealedWrites(disk).length, 1);
  });

  test(`tabs that see each other's writes late share one draw (${name})`, async () => {
    const draw = countedDraw();
    const options = { locks: makeLocks(), settle: 40 };
    const tabs = laggingStorages(3, 8).map(
      (storage) => new SurveyMemory(storage, "t", "h", options),
    );
    const later = (tab, wait) =>
      new Promise((resolve) => setTimeout(resolve, wait)).then(() => tab.seal(draw));
    const seen = await Promise.all(tabs.map((tab, index) => later(tab, 3 * index)));
    for (const other of seen) assert.deepEqual(other, seen[0]);
    assert.equal(draw.count, 1);
  });

  test(`a crash between any two steps never leads to a second draw (${name})`, async () => {
    const script = async (memory, draw, shown) => {
      memory.read();
      memory.saveDraft({ q: 1 }, 1);
      shown.push((await memory.seal(draw)).reports);
      memory.wishToSend();
      shown.push(memory.read().reports); // what would go into the request
      memory.markSent({ survey_epsilon: 1 });
    };
    let fuse = 0;
    let survived = false;
    while (!survived) {
      const disk = new Disk();
      const draw = countedDraw();
      const shown = [];
      try {
        await script(memoryOf(disk, { fuse, locks: makeLocks() }), draw, shown);
        survived = true;
      } catch (error) {
        assert.equal(error.message, "killed");
      }
      const next = memoryOf(disk, { locks: makeLocks() });
      if (next.read().stage !== "sent") await script(next, draw, shown);
      assert.equal(new Set(shown.map(String)).size, 1, `killed at ${fuse}: ${shown}`);
      assert.equal(sealedWrites(disk).length, 1, `killed at ${fuse}`);
      next.read();
      assert.deepEqual([...disk.entries.keys()].sort(), ["masquerade.sent.t"]);
      fuse++;
    }
    assert.ok(fuse > 15);
  });
}

test("a draft never replaces sealed reports, and is never taken up after them", async () => {
  const disk = new Disk();
  const late = memoryOf(disk);
  late.saveDraft({ q: 0 }, 0);
  const sealed = await memoryOf(disk).seal(countedDraw());
  assert.equal(late.saveDraft({ q: 1 }, 1), false);
  assert.deepEqual(late.read().reports, sealed.reports);
  assert.equal(disk.entries.has("masquerade.draft.t"), false);
});

test("once sent, only the bill remains", async () => {
  const disk = new Disk();
  const memory = memoryOf(disk);
  memory.saveDraft({ q: 1 }, 1);
  await memory.seal(countedDraw());
  memory.wishToSend();
  const bill = { survey_epsilon: 1.5, total_epsilon: 3, surveys: 2, day: "2026-11-21" };
  memory.markSent(bill);
  const kept = ["masquerade.sent.t", JSON.stringify({ sent: true, bill })];
  assert.deepEqual([...disk.entries], [kept]);
  assert.equal((await memoryOf(disk).seal(countedDraw())).stage, "sent");
});

test("sealed reports outlive a change of the survey, a draft does not", async () => {
  const disk = new Disk();
  memoryOf(disk).saveDraft({ q: 1 }, 1);
  assert.equal(memoryOf(disk).read().stage, "draft");
  assert.equal(memoryOf(disk, { hash: "other" }).read().stage, "fresh");
  const sealed = await memoryOf(disk).seal(countedDraw());
  const later = memoryOf(disk, { hash: "other" }).read();
  assert.deepEqual(later.reports, sealed.reports);
  assert.equal(later.survey_hash, "h");
});

test("a damaged entry is never replaced by a new draw", async () => {
  for (const text of ["", "{", "null", "[]", "7", '{"sealed":false}']) {
    const disk = new Disk();
    disk.entries.set("masquerade.sealed.t", text);
    const draw = countedDraw();
    assert.equal((await memoryOf(disk).seal(draw)).stage, "damaged");
    assert.equal(draw.count, 0);
  }
});

test("answers deleted unsent leave a mark, so that this device does not draw again", async () => {
  const disk = new Disk();
  const memory = memoryOf(disk);
  await memory.seal(countedDraw());
  memory.deleteUnsent();
  const draw = countedDraw();
  assert.equal((await memoryOf(disk).seal(draw)).stage, "deleted");
  assert.equal(draw.count, 0);
  assert.deepEqual([...disk.entries.keys()], ["masquerade.sent.t"]);
});

test("where writing fails, nothing is shown", async () => {
  const disk = new Disk();
  const memory = memoryOf(disk, { locks: new FakeLocks() });
  memory.storage.setItem = () => {
    throw new Error("full");
  };
  await assert.rejects(memory.seal(countedDraw()), /full/);
  assert.equal(memory.read().stage, "fresh");
});

test("a storage that throws or forgets does not count as working", () => {
  const throws = { setItem() { throw new Error("denied"); } };
  const forgets = { setItem() {}, getItem: () => null, removeItem() {} };
  assert.equal(workingStorage(() => throws), null);
  assert.equal(workingStorage(() => forgets), null);
  assert.equal(workingStorage(() => { throw new Error("denied"); }), null);
  assert.equal(workingStorage(() => undefined), null);
  const good = new FakeStorage(new Disk());
  assert.equal(workingStorage(() => good), good);
});

test("the device keeps its random name", () => {
  const disk = new Disk();
  const name = participantName(new FakeStorage(disk));
  assert.match(name, /^[0-9a-f]{32}$/);
  assert.equal(participantName(new FakeStorage(disk)), name);
});
