// Requests: what they carry, how long they are, and what becomes of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Server, padded, request } from "../../src/masquerade/server/web/static/app/api.js";
import { secretAt } from "../../src/masquerade/server/web/static/app/recovery.js";

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
  const secret = `w${"5e".repeat(16)}`;
  const origin = "https://a.example";
  const server = new Server(async () => secret, { fetch, origin });
  await server.respond("id", { reports: [1, 0], salt: "a", level: "low", hash: "h", answers: "NO" });
  const [[url, { method, headers, body, credentials, referrerPolicy, redirect }]] = seen;
  assert.equal(url, "/api/v1/participations/id/response");
  assert.equal(method, "PUT");
  assert.equal(headers["Masquerade-Participant"], `w${secretAt(secret, origin)}`);
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
  assert.ok(seen.every((one) => /^w[0-9a-f]{32}$/.test(one) && one !== secret));
});

const HERE = "https://new.example";

/** A server of which one account is to be moved, and what it was asked. */
function movable(former, { addresses = {}, knows = true } = {}) {
  const seen = [];
  const state = { moved: false, knows };
  const fetch = async (url, { method, headers, body }) => {
    const sent = headers["Masquerade-Participant"] ?? "";
    seen.push(`${method} ${url} ${sent[0] ?? ""}`.trim());
    const address = url.replace("/.well-known/masquerade-address", "");
    if (address !== url) {
      const told = addresses[address];
      return told ? answering(200, { address: told })() : answering(404, {})();
    }
    if (url === "/api/v1/me/move") {
      state.moved = JSON.parse(body).former === former;
      state.knows = true;
      return answering(200, { moved: state.moved })();
    }
    return sent[0] === "m" && !state.knows ? answering(401, {})() : answering(200, {})();
  };
  let kept = null;
  const moves = {
    read: async () => kept,
    keep: async (text) => {
      kept = text;
    },
  };
  return { seen, state, options: { fetch, origin: HERE, moves } };
}

test("an account of before moves before anything else is asked, and once", async () => {
  const former = "5e".repeat(16);
  const { seen, options, state } = movable(former);
  const server = new Server(async () => former, options);
  await server.me();
  await server.me();
  assert.deepEqual(seen, ["POST /api/v1/me/move w", "GET /api/v1/me m", "GET /api/v1/me m"]);
  // A server that was restored from a backup of before does not know it.
  state.knows = false;
  assert.equal((await server.me()).ok, true);
  assert.deepEqual(seen.slice(3), ["GET /api/v1/me m", "POST /api/v1/me/move w", "GET /api/v1/me m"]);
});

test("a secret of before without an account is never used as it is", async () => {
  const secret = "5e".repeat(16);
  const { seen, options } = movable("nobody");
  const server = new Server(async () => secret, options);
  await server.me();
  await server.me();
  assert.deepEqual(seen, ["POST /api/v1/me/move w", "GET /api/v1/me w", "GET /api/v1/me w"]);
});

test("where a move is not answered, no other account is begun", async () => {
  const fetch = answering(503, {});
  const server = new Server(async () => "5e".repeat(16), { fetch, origin: HERE });
  assert.equal((await server.reserve("a", "low", "k")).lost, true);
});

test("an account moves from an earlier address only where that says so itself", async () => {
  const secret = `w${"5e".repeat(16)}`;
  const earlier = ["https://old.example", "https://other.example"];
  const former = `w${secretAt(secret, earlier[0])}`;
  const addresses = { [earlier[0]]: HERE, [earlier[1]]: "https://other.example" };
  const sent = [];
  const { seen, options } = movable(former, { addresses });
  const fetch = async (url, asked) => {
    sent.push(`${asked.body ?? ""} ${asked.headers["Masquerade-Participant"] ?? ""}`);
    return options.fetch(url, asked);
  };
  await new Server(async () => secret, { ...options, fetch, earlier }).me();
  assert.equal(seen.at(-1), "GET /api/v1/me m");
  // A liar that names another server as its own gets nothing of what is made for that one.
  assert.ok(!sent.join().includes(secretAt(secret, earlier[1])));
  assert.ok(sent.join().includes(former));
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
