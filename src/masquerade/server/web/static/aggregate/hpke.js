// Encryption to a party's public key: HPKE in base mode (RFC 9180), by the browser's WebCrypto.
//
// HKDF-SHA256 and AES-128-GCM with a key exchange over P-256, which every browser has, or X25519
// where the browser has it. WebCrypto is there on pages over https and on localhost alone; without
// it nothing is sealed, and nothing is sent.

import { bigEndian, joined } from "./xof.js";

export const P256 = 0x0010;
export const X25519 = 0x0020;
const HKDF_SHA256 = 0x0001;
const AES_128_GCM = 0x0001;

const KEMS = {
  [P256]: { algorithm: { name: "ECDH", namedCurve: "P-256" }, publicSize: 65 },
  [X25519]: { algorithm: { name: "X25519" }, publicSize: 32 },
};
const VERSION = text("HPKE-v1");
const NOTHING = new Uint8Array(0);
const BASE = 0; // the mode without a sender's key

/** Return the bytes of an ASCII text. */
export function text(characters) {
  return new TextEncoder().encode(characters);
}

/** Return bytes in hexadecimal. */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the bytes of a text in hexadecimal. */
export function unhex(digits) {
  if (typeof digits !== "string" || !/^(?:[0-9a-f]{2})*$/.test(digits)) {
    throw new RangeError("a text is not hexadecimal.");
  }
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Return the browser's cryptography, or throw where plain http has none. */
export function subtleCrypto() {
  const { subtle } = globalThis.crypto ?? {};
  if (!subtle) {
    throw new Error("This page cannot encrypt: the browser allows it over https only.");
  }
  return subtle;
}

/** Return the SHA-256 of bytes. */
export async function sha256(bytes) {
  return new Uint8Array(await subtleCrypto().digest("SHA-256", bytes));
}

/** Return whether this browser has a key exchange. */
export async function hasKeyExchange(kem) {
  try {
    return Boolean(await subtleCrypto().generateKey(KEMS[kem].algorithm, false, ["deriveBits"]));
  } catch {
    return false;
  }
}

/**
 * Return `enc` and the encrypted bytes, for the holder of the private key alone.
 *
 * @param {{kem: number, kdf: number, aead: number, publicKey: Uint8Array}} config
 * @param {Uint8Array} plaintext
 * @param {{info: Uint8Array, aad: Uint8Array}} bound what the reader has to know to open it
 */
export async function seal(config, plaintext, bound) {
  requireSuite(config);
  const { algorithm } = KEMS[config.kem];
  const ephemeral = await subtleCrypto().generateKey(algorithm, false, ["deriveBits"]);
  return sealFrom(ephemeral, config, plaintext, bound);
}

/** Seal by a given key pair: for test vectors; whoever knows it can read what was sealed. */
export async function sealFrom(ephemeral, config, plaintext, { info, aad }) {
  const { kem, publicKey } = requireSuite(config);
  const subtle = subtleCrypto();
  const { algorithm } = KEMS[kem];
  // A point off the curve is refused here.
  const recipient = await subtle.importKey("raw", publicKey, algorithm, true, []);
  const enc = new Uint8Array(await subtle.exportKey("raw", ephemeral.publicKey));
  const { name } = algorithm;
  const exchange = { name, public: recipient };
  const secret = new Uint8Array(await subtle.deriveBits(exchange, ephemeral.privateKey, 256));
  // A point of low order gives a secret that everybody knows (RFC 9180, 7.1.4).
  if (secret.every((byte) => byte === 0)) throw new RangeError("a public key is of low order.");
  // ExtractAndExpand (4.1)
  const kemSuite = joined(text("KEM"), bigEndian(kem, 2));
  const fromSecret = await labeledExtract(kemSuite, NOTHING, "eae_prk", secret);
  const shared = await fromSecret("shared_secret", joined(enc, publicKey), 32);
  // KeySchedule (5.1)
  const identifiers = [kem, HKDF_SHA256, AES_128_GCM].map((id) => bigEndian(id, 2));
  const suite = joined(text("HPKE"), ...identifiers);
  const schedule = joined(
    [BASE],
    await labeledHash(suite, "psk_id_hash", NOTHING),
    await labeledHash(suite, "info_hash", info),
  );
  const fromShared = await labeledExtract(suite, shared, "secret", NOTHING);
  const [key, nonce] = await Promise.all([
    fromShared("key", schedule, 16), fromShared("base_nonce", schedule, 12),
  ]);
  const cipher = await subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  // One message a key, so that the nonce of the first is the only one.
  const parameters = { name: "AES-GCM", iv: nonce, additionalData: aad };
  const sealed = await subtle.encrypt(parameters, cipher, plaintext);
  return { enc, payload: new Uint8Array(sealed) };
}

function requireSuite(config) {
  const { kem, kdf, aead, publicKey } = config;
  const known = Object.hasOwn(KEMS, kem) && kdf === HKDF_SHA256 && aead === AES_128_GCM;
  if (!known || publicKey.length !== KEMS[kem].publicSize) {
    throw new RangeError("a public key is of a kind that this device does not use.");
  }
  return config;
}

function labeled(suite, label, bytes) {
  return joined(VERSION, suite, text(label), bytes);
}

/** LabeledExtract by itself, without a salt, which is a key of zeros (RFC 5869, 2.2). */
async function labeledHash(suite, label, bytes) {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await subtleCrypto().importKey("raw", new Uint8Array(32), hmac, false, ["sign"]);
  return new Uint8Array(await subtleCrypto().sign("HMAC", key, labeled(suite, label, bytes)));
}

/** Return LabeledExpand of what LabeledExtract gives: WebCrypto does the two in one (section 4). */
async function labeledExtract(suite, salt, label, bytes) {
  const material = labeled(suite, label, bytes);
  const key = await subtleCrypto().importKey("raw", material, "HKDF", false, ["deriveBits"]);
  return async (expandLabel, context, length) => {
    const info = joined(bigEndian(length, 2), labeled(suite, expandLabel, context));
    const parameters = { name: "HKDF", hash: "SHA-256", salt, info };
    return new Uint8Array(await subtleCrypto().deriveBits(parameters, key, 8 * length));
  };
}
