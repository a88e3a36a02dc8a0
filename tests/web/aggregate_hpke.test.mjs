// Encryption to a party: the vectors of RFC 9180, and what is refused. What a device seals is
// opened by Python in tests/aggregate/test_device.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  P256,
  X25519,
  hasKeyExchange,
  seal,
} from "../../src/masquerade/server/web/static/aggregate/hpke.js";
import { readHpkeConfig } from "../../src/masquerade/server/web/static/aggregate/task.js";
import { bytes } from "./aggregate/bytes.mjs";
import { sealed } from "./aggregate/hpke_vectors.mjs";

const { vectors } = JSON.parse(readFileSync(new URL("../vectors/hpke.json", import.meta.url)));
const bound = { info: new Uint8Array(0), aad: new Uint8Array(0) };

for (const vector of vectors) {
  test(`the vector of RFC 9180 comes out: key exchange ${vector.kem_id}`, async () => {
    assert.deepEqual(await sealed(vector), [vector.enc, vector.encryption.ct]);
  });
}

test("both key exchanges are here, and no other is said to be", async () => {
  const has = await Promise.all([P256, X25519, 0x0012].map(hasKeyExchange));
  assert.deepEqual(has, [true, true, false]);
});

test("one message sealed twice is two messages", async () => {
  const [{ kem_id: kem, pkRm }] = vectors;
  const config = { kem, kdf: 1, aead: 1, publicKey: bytes(pkRm) };
  const [first, second] = await Promise.all([0, 1].map(() => seal(config, bytes("aa"), bound)));
  assert.notDeepEqual(first.enc, second.enc);
  assert.notDeepEqual(first.payload, second.payload);
  assert.equal(first.payload.length, 17);
});

const point = bytes(vectors.find(({ kem_id: kem }) => kem === P256).pkRm);
const off = Uint8Array.from(point, (byte, place) => byte ^ Number(place === 64));
const refused = {
  "a point off the curve": { kem: P256, kdf: 1, aead: 1, publicKey: off },
  "a compressed point": { kem: P256, kdf: 1, aead: 1, publicKey: Uint8Array.of(2, ...point.slice(1, 33)) },
  "a point of low order": { kem: X25519, kdf: 1, aead: 1, publicKey: new Uint8Array(32) },
  "another key exchange": { kem: 0x0012, kdf: 1, aead: 1, publicKey: point },
  "the name of a property": { kem: "constructor", kdf: 1, aead: 1, publicKey: point },
  "another cipher": { kem: P256, kdf: 1, aead: 2, publicKey: point },
  "another key derivation": { kem: P256, kdf: 3, aead: 1, publicKey: point },
};
for (const [what, config] of Object.entries(refused)) {
  test(`nothing is sealed to ${what}`, async () => {
    await assert.rejects(seal(config, bytes("aa"), bound));
  });
}

test("a page over plain http cannot encrypt and says so", async (context) => {
  const { getRandomValues } = globalThis.crypto;
  context.mock.getter(globalThis, "crypto", () => ({ getRandomValues }));
  const config = { kem: P256, kdf: 1, aead: 1, publicKey: point };
  await assert.rejects(seal(config, bytes("aa"), bound), /over https only/);
  assert.equal(await hasKeyExchange(P256), false);
});

test("a public key is read from its bytes, and from no others", () => {
  const config = { id: 7, kem: P256, kdf: 1, aead: 1, publicKey: point };
  const written = Uint8Array.of(7, 0, 0x10, 0, 1, 0, 1, 0, 65, ...point);
  assert.deepEqual(readHpkeConfig(written), config);
  for (const other of [written.slice(0, -1), Uint8Array.of(...written, 0), new Uint8Array(9)]) {
    assert.throws(() => readHpkeConfig(other), RangeError);
  }
});
