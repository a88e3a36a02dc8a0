// Blind RSA on the device: the vectors of RFC 9474, and signers that cheat.

import assert from "node:assert/strict";
import { createHash, constants, generateKeyPairSync, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { blind, bytesOf, finalize, numberOf } from "../../src/masquerade/server/web/static/app/blind_rsa.js";
import { sha384 } from "../../src/masquerade/server/web/static/app/sha384.js";
import { Ticket, readMark } from "../../src/masquerade/server/web/static/app/tickets.js";
import { Disk } from "./disk.mjs";

const VECTORS = JSON.parse(readFileSync(new URL("../vectors/blind-rsa.json", import.meta.url)));
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (found) => Buffer.from(found).toString("hex");

test("bytes of every length up to three blocks have the SHA-384 that others give them", () => {
  for (let length = 0; length <= 300; length++) {
    const given = Uint8Array.from({ length }, (_, index) => (index * 37 + length) % 256);
    assert.equal(hex(sha384(given)), createHash("sha384").update(given).digest("hex"));
  }
});

for (const vector of VECTORS) {
  test(`${vector.name}: the bytes are those of RFC 9474, appendix A`, () => {
    const message = bytes(vector.input_msg);
    const asked = blind(vector.n, message, {
      salt: bytes(vector.salt),
      inverse: BigInt(`0x${vector.inv}`),
    });
    assert.equal(asked.blinded, vector.blinded_msg);
    assert.equal(hex(finalize(vector.n, asked, bytes(vector.blind_sig))), vector.sig);
  });
}

const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
const { n, d } = pair.privateKey.export({ format: "jwk" });
const number = (text) => numberOf(Buffer.from(text, "base64url"));
const KEY = number(n).toString(16);

/** Sign as a server does, without any of its protections. */
function sign(blinded) {
  let [result, base, left] = [1n, numberOf(blinded), number(d)];
  for (; left; left >>= 1n, base = (base * base) % number(n)) {
    if (left & 1n) result = (result * base) % number(n);
  }
  return bytesOf(result, 256);
}

/** A server that exchanges codes, and counts how often it was asked what. */
class Server {
  asked = [];
  answer = (blinded) => ({ ok: true, data: { signature: Buffer.from(sign(blinded)).toString("base64") } });

  async exchange(token, code, blinded) {
    this.asked.push({ token, code, blinded });
    return this.answer(Buffer.from(blinded, "base64"));
  }
}

const TOKEN = "0123456789abcdef";
const HASH = "ab".repeat(32);
const CODE = "0".repeat(20);

test("a ticket verifies elsewhere, and neither code nor message stays on the device", async () => {
  const [disk, server] = [new Disk(), new Server()];
  const ticket = new Ticket(disk.seenBy(), server, TOKEN);
  await ticket.keep({ code: CODE, hash: HASH });
  assert.equal(await ticket.exchange({ key: KEY, wave: 3 }), null);
  const kept = await ticket.read();
  assert.deepEqual(Object.keys(kept).sort(), ["hash", "ticket"]);
  const whole = Buffer.from(kept.ticket, "base64");
  const message = Buffer.concat([whole.subarray(0, 32), Buffer.from(`masquerade ticket:${TOKEN}:3`)]);
  const how = { key: pair.publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 };
  assert.ok(verify("sha384", message, how, whole.subarray(32)));
  assert.equal(await ticket.exchange({ key: KEY, wave: 3 }), null); // asks no more
  assert.equal(server.asked.length, 1);
});

test("after an answer that was lost the same is asked again", async () => {
  const [disk, server] = [new Disk(), new Server()];
  const good = server.answer;
  server.answer = () => ({ ok: false, lost: true, status: 0, data: {}, slug: "" });
  await new Ticket(disk.seenBy(), server, TOKEN).keep({ code: CODE, hash: HASH });
  assert.ok((await new Ticket(disk.seenBy(), server, TOKEN).exchange({ key: KEY, wave: 1 })).lost);
  // Another link is not mixed up with what was asked already.
  await new Ticket(disk.seenBy(), server, TOKEN).keep({ code: "1".repeat(20), hash: HASH });
  server.answer = good;
  assert.equal(await new Ticket(disk.seenBy(), server, TOKEN).exchange({ key: KEY, wave: 1 }), null);
  assert.equal(new Set(server.asked.map(({ code, blinded }) => code + blinded)).size, 1);
});

test("a signature by another key, or none, is a broken promise", async () => {
  for (const signature of ["", "AAAA", null, Buffer.alloc(256, 7).toString("base64"), "<script>"]) {
    const [disk, server] = [new Disk(), new Server()];
    server.answer = () => ({ ok: true, data: { signature } });
    const ticket = new Ticket(disk.seenBy(), server, TOKEN);
    await ticket.keep({ code: CODE, hash: HASH });
    await assert.rejects(ticket.exchange({ key: KEY, wave: 1 }), { name: "Error", message: /signature/ });
    assert.equal((await ticket.read()).ticket, undefined);
  }
});

test("by a key of small primes a signer tells no two messages apart", async () => {
  // Blinding keeps the factors that a message shares with the modulus. Of 40 messages some 34 share
  // one; fewer than 20 have a chance below 1e-6.
  const primes = [];
  for (let next = 3; primes.length < 400; next += 2) if (primes.every((one) => next % one)) primes.push(next);
  let modulus = 1n;
  for (const prime of primes) if (modulus < 1n << 2048n) modulus *= BigInt(prime);
  const digits = modulus.toString(16);
  const key = digits.length % 2 ? `0${digits}` : digits;
  let refused = 0;
  for (let time = 0; time < 40; time++) {
    const [disk, server] = [new Disk(), new Server()];
    server.answer = () => ({ ok: false, lost: true, status: 0, data: {}, slug: "" });
    const ticket = new Ticket(disk.seenBy(), server, TOKEN);
    await ticket.keep({ code: CODE, hash: HASH });
    await ticket.exchange({ key, wave: 1 }).catch((error) => assert.match(error.message, /the key of invitations/));
    const { asked } = await ticket.read();
    assert.equal(server.asked.length, asked ? 1 : 0);
    if (!asked) refused += 1;
    else assert.ok(primes.every((prime) => modulus % BigInt(prime) || BigInt(`0x${asked.blinded}`) % BigInt(prime)));
  }
  assert.ok(refused >= 20, `${refused}`);
});

test("without a code nothing is asked", async () => {
  const [disk, server] = [new Disk(), new Server()];
  const refused = await new Ticket(disk.seenBy(), server, TOKEN).exchange({ key: KEY, wave: 1 });
  assert.equal(refused.slug, "ticket-refused");
  assert.equal(server.asked.length, 0);
});

test("a link's mark is read whole or not at all", () => {
  const named = Buffer.from(HASH, "hex").toString("base64url");
  assert.deepEqual(readMark(`#ticket=${CODE}.${named}`), { code: CODE, hash: HASH });
  for (const wrong of ["", "#", `#ticket=${CODE}`, `#ticket=${CODE}.${named}x`, `#ticket=.${named}`]) {
    assert.equal(readMark(wrong), null);
  }
});
