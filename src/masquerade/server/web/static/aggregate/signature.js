// Signatures of a helper: ECDSA over P-256 with SHA-256; the device's half of signature.py.

import { hex, sha256, subtleCrypto, text } from "./hpke.js";
import { joined } from "./xof.js";

const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const HASH = { name: "ECDSA", hash: "SHA-256" };
const APPROVAL = joined(text("masquerade helper approves task"), [0]);
const DIGITS = 32; // of a hash in hexadecimal: what people compare of a key

/** Return what people compare of a public key. */
export async function fingerprintOf(publicKey) {
  return hex(await sha256(publicKey)).slice(0, DIGITS);
}

/** Return whether a key signed the configuration of a task; bytes that are no key did not. */
export async function isApproved(publicKey, signature, configuration) {
  const subtle = subtleCrypto();
  try {
    const key = await subtle.importKey("raw", publicKey, CURVE, false, ["verify"]);
    return await subtle.verify(HASH, key, signature, joined(APPROVAL, configuration));
  } catch {
    return false;
  }
}
