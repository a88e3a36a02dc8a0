// Requests: what they carry, how long they are, and what becomes of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Server, padded, request } from "../../src/masquerade/server/web/static/app/api.js";

const answering = (status, data) => async () => ({
  ok: status < 300,
  status,
  json: async () => data,
});

test("a padded body is whole kibibytes, and its spaces are the only thing added", () => {
  for (const reports of [[], [0], [1, -2, 3], new Array(200).fill(123456)]) {
    const body = padded({ reports, salt: "a".repeat(32), level: "high" });
    assert.equal(new TextEncoder().encode(body).length % 1024, 0);
    const { padding, ...content } = JSON.parse(body);
    assert.match(padding, /^ *$/);
    assert.deepEqual(content, { reports, salt: "a".repeat(32), level: "high" });
  }
});

test("the length of a body depends on the number of reports only, not on them or the level", () => {
  for (const count of [1, 7, 40, 60, 200]) {
    const lengths = new Set();
    for (const report of [0, 9, -1, -123456, Number.MIN_SAFE_INTEGER]) {
      for (const level of ["low", "medium", "a".repeat(32)]) {
        const reports = new Array(count).fill(report);
        lengths.add(padded({ reports, salt: "s", level, survey_hash: "h" }).length);
      }
    }
    assert.equal(lengths.size, 1, `${count} reports: ${[...lengths]}`);
  }
});

test("a request carries the secret in its header and nowhere else", async () => {
  const seen = [];
  const fetch = async (...asked) => {
    seen.push(asked);
    return answering(201, { state: "submitted" })();
  };
  const server = new Server(async () => "5e".repeat(16), { fetch });
  await server.respond("id", { reports: [1, 0], salt: "a", level: "low", hash: "h", answers: "NO" });
  const [[url, { method, headers, body, credentials, referrerPolicy, redirect }]] = seen;
  assert.equal(url, "/api/v1/participations/id/response");
  assert.equal(method, "PUT");
  assert.equal(headers["Masquerade-Participant"], "5e".repeat(16));
  assert.equal(credentials, "omit");
  assert.equal(referrerPolicy, "no-referrer");
  assert.equal(redirect, "error");
  const { padding, ...content } = JSON.parse(body);
  assert.ok(padding.length > 0);
  assert.deepEqual(content, { reports: [1, 0], salt: "a", level: "low", survey_hash: "h" });
  assert.ok(!url.includes("5e5e") && !body.includes("5e5e"));
});

test("two servers see two secrets, and neither the one behind them", async () => {
  const seen = [];
  const fetch = async (_url, { headers }) => {
    seen.push(headers["Masquerade-Participant"]);
    return answering(200, {})();
  };
  const secret = `w${"5e".repeat(16)}`;
  for (const leader of ["https://a.example", "https://b.example", "https://a.example:443"]) {
    await new Server(async () => secret, { fetch, leader }).me();
  }
  assert.equal(seen[0], seen[2]);
  assert.notEqual(seen[0], seen[1]);
  assert.ok(seen.every((one) => /^[0-9a-f]{32}$/.test(one) && one !== secret.slice(1)));
});

test("an invitation is asked for by nobody in particular", async () => {
  let headers;
  const fetch = async (_url, options) => {
    ({ headers } = options);
    return answering(200, {})();
  };
  const server = new Server(() => assert.fail("the secret was asked for"), { fetch });
  assert.equal((await server.invitation("a/b?c")).ok, true);
  assert.deepEqual(headers, { Accept: "application/json" });
});

test("a refusal is told from a server that is busy and from a network that is gone", async () => {
  const gone = async () => {
    throw new TypeError("network");
  };
  const garbled = async () => ({
    ok: true, status: 200,
    json: async () => {
      throw new SyntaxError("not JSON");
    },
  });
  for (const fetch of [answering(503, {}), answering(429, {}), gone, garbled]) {
    const { ok, lost } = await request("GET", "/me", { fetch });
    assert.deepEqual([ok, lost], [false, true]);
  }
  const fetch = answering(409, { type: "/problems/wrong-state", state: "sealed" });
  const answer = await request("GET", "/me", { fetch });
  assert.deepEqual([answer.ok, answer.lost, answer.slug], [false, false, "wrong-state"]);
  assert.equal(answer.data.state, "sealed");
});
