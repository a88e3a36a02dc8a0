// Bytes as hexadecimal digits, in Node and in browsers.

export const hex = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const bytes = (digits) =>
  Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
