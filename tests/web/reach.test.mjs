// Who asks, for what consent and with which ticket, as the device believes it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { filled, readPanel } from "../../src/masquerade/server/web/static/app/panel.js";
import { BrokenPromise } from "../../src/masquerade/server/web/static/app/promise.js";
import { readReach } from "../../src/masquerade/server/web/static/app/reach.js";

const KEY = `8${"0".repeat(766)}1`;
const TERMS = { key: KEY, wave: 1, answers_from: null, watched: false };

test("what is empty is left out, as in the survey's text", () => {
  assert.deepEqual(readReach({}), {});
  assert.deepEqual(readReach({ asked_by: "", contact: "", consent: "", invitations: null }), {});
  const said = { asked_by: "We", contact: "a@example.org", consent: "Agree?", invitations: TERMS };
  assert.deepEqual(readReach(said), said);
});

test("texts and terms that cannot be are broken promises", () => {
  const wrong = [
    { asked_by: 1 }, { asked_by: " a" }, { contact: "x".repeat(201) }, { consent: "x".repeat(4001) },
    { consent: [] }, { invitations: 1 }, { invitations: {} }, { invitations: { ...TERMS, more: 1 } },
    { invitations: { ...TERMS, key: "" } }, { invitations: { ...TERMS, key: KEY.toUpperCase() + "0" } },
    { invitations: { ...TERMS, key: `${KEY.slice(0, -1)}2` } }, // even
    { invitations: { ...TERMS, key: `1${KEY.slice(1)}` } }, // its highest bit is not set
    { invitations: { ...TERMS, key: "8".repeat(511) } }, { invitations: { ...TERMS, key: `8${"1".repeat(1025)}` } },
    { invitations: { ...TERMS, wave: 0 } }, { invitations: { ...TERMS, wave: 1.5 } },
    { invitations: { ...TERMS, answers_from: "soon" } }, { invitations: { ...TERMS, watched: 1 } },
  ];
  for (const each of wrong) assert.throws(() => readReach(each), BrokenPromise, JSON.stringify(each));
});

test("of a panel only names and addresses are taken that can be", () => {
  assert.equal(readPanel(null), null);
  assert.equal(readPanel("https://example.org"), null);
  const panel = readPanel({
    parameters: ["PID", "a b", 1, "x".repeat(40)],
    complete: "https://example.org/done?c={code}&p={PID}",
    screened_out: "javascript:alert(1)",
    full: "http://example.org/",
    method: "form",
  });
  assert.deepEqual(panel, {
    parameters: ["PID"], complete: "https://example.org/done?c={code}&p={PID}", form: true,
  });
  assert.equal(
    filled(panel.complete, { PID: "a&b=/é" }, "1234"),
    "https://example.org/done?c=1234&p=a%26b%3D%2F%C3%A9",
  );
  assert.equal(filled(panel.complete, {}), "https://example.org/done?c=&p=");
});
