import assert from "node:assert/strict";
import { test } from "node:test";

import { send } from "../../src/masquerade/server/web/static/send.js";

const sealed = {
  sealed: true,
  stage: "sealed",
  wanted: true,
  survey_hash: "ab",
  response_id: "cd",
  reports: [1, 0],
  pairs: [{ question: "Q", mine: "TRUE ANSWER", sent: "Masked" }],
};

const answering = (status, answer) => async () => ({
  ok: status < 300,
  status,
  json: async () => answer,
});

test("the request is the four fields and nothing else", async () => {
  const seen = [];
  const fetch = async (...request) => {
    seen.push(request);
    return answering(201, { accepted: true, bill: { survey_epsilon: 1 } })();
  };
  const outcome = await send("/api/x", "ef", sealed, { fetch });
  assert.deepEqual(outcome, { accepted: true, bill: { survey_epsilon: 1 } });
  assert.equal(seen.length, 1);
  const [url, { method, headers, body, credentials, referrerPolicy }] = seen[0];
  assert.equal(url, "/api/x");
  assert.equal(method, "POST");
  assert.deepEqual(headers, { "Content-Type": "application/json" });
  assert.equal(credentials, "omit");
  assert.equal(referrerPolicy, "no-referrer");
  assert.equal(
    body,
    '{"participant":"ef","response_id":"cd","survey_hash":"ab","reports":[1,0]}',
  );
});

test("a repeat that the server already knows is accepted", async () => {
  const outcome = await send("/", "ef", sealed, { fetch: answering(200, { accepted: true }) });
  assert.equal(outcome.accepted, true);
});

test("a refusal carries the server's words and is not tried again by itself", async () => {
  const fetch = answering(409, { title: "Closed", status: 409, detail: "It closed yesterday." });
  assert.deepEqual(await send("/", "ef", sealed, { fetch }), {
    accepted: false,
    refused: true,
    detail: "It closed yesterday.",
  });
});

test("a busy server, a lost connection and a garbled answer may be tried again", async () => {
  const lost = async () => {
    throw new TypeError("network");
  };
  const garbled = async () => ({
    ok: true,
    status: 200,
    json: async () => {
      throw new SyntaxError("not JSON");
    },
  });
  for (const fetch of [answering(503, {}), answering(429, {}), answering(200, {}), lost, garbled]) {
    const outcome = await send("/", "ef", sealed, { fetch });
    assert.equal(outcome.accepted, false);
    assert.equal(outcome.refused, false);
  }
});
