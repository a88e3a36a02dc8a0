// Who this device is: what stays and what goes when its person enters recovery words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Device } from "../../src/masquerade/server/web/static/app/device.js";
import { Disk } from "./disk.mjs";

const [OLD, NEW] = ["ab", "cd"].map((pair) => pair.repeat(16));
const CAPS = { epsilon: 1e6, clear: 0 };

async function furnished() {
  const disk = new Disk();
  const page = disk.seenBy();
  await page.change("device", "secret", () => OLD);
  await page.change("device", "settings", () => ({ caps: CAPS }));
  await page.changeCharged("t", () => ({ record: { step: "opened" }, charge: { token: "t" } }));
  return disk;
}

test("whoever becomes somebody else keeps caps and charges, wherever that is interrupted", async () => {
  for (let last = 0; ; last++) {
    const disk = await furnished();
    let accesses = 0;
    const page = disk.seenBy(() => {
      if (accesses++ === last) throw new Error("the page is gone");
    });
    const done = await new Device(page).become(NEW).then(() => true, () => false);
    const device = new Device(disk.seenBy());
    assert.deepEqual(await device.ownCaps(), CAPS);
    assert.equal((await device.charges()).length, 1);
    assert.equal(await device.known(), done ? NEW : OLD);
    if (!done) continue;
    assert.equal(disk.tables.get("participations"), undefined);
    break;
  }
});

test("a device is enrolled until the day has begun in UTC, as the server counts it", async () => {
  const day = new Date(Date.now() + 864e5 * 5).toISOString().slice(0, 10);
  const begins = Date.parse(`${day}T00:00:00Z`);
  const disk = new Disk();
  for (const [key, from] of [["a", day], ["b", "2001-01-01"], ["c", undefined]]) {
    await disk.seenBy().change("arrivals", key, () => ({ code: "x", hash: "y", from }));
  }
  const device = new Device(disk.seenBy());
  const now = Date.now;
  try {
    for (const [hours, until] of [[-24, day], [-0.1, day], [0.1, ""], [48, ""]]) {
      Date.now = () => begins + hours * 3600e3;
      assert.equal(await device.enrolledUntil(), until, `${hours}`);
    }
  } finally {
    Date.now = now;
  }
});
