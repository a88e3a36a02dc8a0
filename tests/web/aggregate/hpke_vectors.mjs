// The vectors of RFC 9180, in Node and in browsers.

import { P256, hasKeyExchange, sealFrom } from "../../../src/masquerade/server/web/static/aggregate/hpke.js";
import { bytes, hex } from "./bytes.mjs";

const base64 = (part) =>
  btoa(String.fromCharCode(...part)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** Return a key pair of a vector, as the browser has it. */
async function pairOf({ kem_id: kem, skEm, pkEm }) {
  const [secret, point] = [bytes(skEm), bytes(pkEm)];
  const known = kem === P256;
  const algorithm = known ? { name: "ECDH", namedCurve: "P-256" } : { name: "X25519" };
  const jwk = known
    ? { kty: "EC", crv: "P-256", x: base64(point.slice(1, 33)), y: base64(point.slice(33)) }
    : { kty: "OKP", crv: "X25519", x: base64(point) };
  const { subtle } = globalThis.crypto;
  return {
    publicKey: await subtle.importKey("jwk", jwk, algorithm, true, []),
    privateKey: await subtle.importKey("jwk", { ...jwk, d: base64(secret) }, algorithm, false, ["deriveBits"]),
  };
}

/** Return what a vector's message is sealed to, or null where the browser has not its key exchange. */
export async function sealed(vector) {
  if (!(await hasKeyExchange(vector.kem_id))) return null;
  const { kem_id: kem, kdf_id: kdf, aead_id: aead, encryption } = vector;
  const config = { kem, kdf, aead, publicKey: bytes(vector.pkRm) };
  const bound = { info: bytes(vector.info), aad: bytes(encryption.aad) };
  const { enc, payload } = await sealFrom(await pairOf(vector), config, bytes(encryption.pt), bound);
  return [hex(enc), hex(payload)];
}
