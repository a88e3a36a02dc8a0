// SHA-256, against the one that Node.js has.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { sha256, sha256OfText } from "../../src/masquerade/server/web/static/app/sha256.js";

test("bytes of every length up to three blocks have the hash that others give them", () => {
  for (let length = 0; length <= 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 37 + length) % 256);
    assert.equal(sha256(bytes), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("a text is hashed as UTF-8", () => {
  for (const text of ["", "abc", "قناع", "🎭".repeat(50)]) {
    assert.equal(sha256OfText(text), createHash("sha256").update(text).digest("hex"));
  }
});
