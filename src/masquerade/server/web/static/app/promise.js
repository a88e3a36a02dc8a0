// What a server promised, and what holds of it: checks whose failure is a broken promise.

/** The server said one thing and did another, or something that cannot be. */
export class BrokenPromise extends Error {
  /**
   * @param {string} message
   * @param {string|null} reason which of two parties' terms does not hold, where it is one
   */
  constructor(message, reason = null) {
    super(message);
    this.reason = reason;
  }
}

export function requireThat(condition, what) {
  if (!condition) throw new BrokenPromise(`${what} is not what it must be.`);
}

export const isText = (value) => typeof value === "string";
export const isRecord = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Return whether two values of JSON are the same, whatever the order of keys. */
export function same(one, other) {
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((each, place) => same(each, other[place]))
    );
  }
  if (!isRecord(one) || !isRecord(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && same(one[name], other[name]))
  );
}
