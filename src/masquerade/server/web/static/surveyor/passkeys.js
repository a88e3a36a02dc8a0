// Making a passkey, and signing in with one. The private key never leaves the device.

import { said } from "./said.js";

const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

function bytes(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

function text(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function ask(address, body) {
  const answer = await fetch(address, {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail);
  return found;
}

const credentials = (list) => (list ?? []).map((each) => ({ ...each, id: bytes(each.id) }));

/** Make a passkey for the account that is signed in, and return where to go. */
async function register(name, password) {
  const { options, challenge } = await ask("/account/passkeys/begin", { password });
  const made = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: credentials(options.excludeCredentials),
    },
  });
  const credential = {
    id: made.id,
    rawId: text(made.rawId),
    type: made.type,
    response: {
      clientDataJSON: text(made.response.clientDataJSON),
      attestationObject: text(made.response.attestationObject),
    },
  };
  return (await ask("/account/passkeys", { challenge, credential, name })).next;
}

/** Sign in with a passkey of this device, and return where to go. */
async function signIn(next) {
  const { options, challenge } = await ask("/sign-in/passkey/begin", {});
  const given = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytes(options.challenge),
      allowCredentials: credentials(options.allowCredentials),
    },
  });
  const credential = {
    id: given.id,
    rawId: text(given.rawId),
    type: given.type,
    response: {
      clientDataJSON: text(given.response.clientDataJSON),
      authenticatorData: text(given.response.authenticatorData),
      signature: text(given.response.signature),
      userHandle: given.response.userHandle && text(given.response.userHandle),
    },
  };
  return (await ask("/sign-in/passkey", { challenge, credential, next })).next;
}

/** Do what a form asks for; what goes wrong is said beside it. */
function answer(form, work) {
  const complaint = form.querySelector('[role="alert"]');
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    complaint.textContent = "";
    try {
      location.assign(await work(new FormData(form)));
    } catch (error) {
      const gaveUp = error.name === "NotAllowedError";
      complaint.textContent = gaveUp ? said("No passkey was used. Try again, or use your password.") : error.message;
    }
  });
  form.hidden = false;
}

// Browsers know passkeys only where the address is protected: https, or this computer by its name.
if (window.PublicKeyCredential) {
  const making = document.getElementById("new-passkey");
  const using = document.getElementById("with-passkey");
  if (making) answer(making, (data) => register(data.get("name"), data.get("password") ?? ""));
  if (using) answer(using, (data) => signIn(data.get("next")));
}
