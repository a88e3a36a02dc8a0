// Finite fields of prime order with a large power of two in their order (VDAF draft 20, 6.1).
//
// Elements are BigInts from 0 to the modulus less 1. Arithmetic on BigInts does not take the same
// time for all values, which the draft asks for: whoever can time this device's processor while a
// response is split is not guarded against. Zeros are multiplied like everything else.

/** A field: its name, its modulus, and bytes of an element. */
class Field {
  constructor(name, modulus, size) {
    Object.assign(this, { name, modulus, size });
    this.tables = new Map();
  }

  /** Return an integer as an element. */
  reduce(value) {
    const rest = value % this.modulus;
    return rest < 0n ? rest + this.modulus : rest;
  }

  power(base, exponent) {
    let result = 1n;
    for (let square = base, left = exponent; left > 0n; left >>= 1n) {
      if (left & 1n) result = (result * square) % this.modulus;
      square = (square * square) % this.modulus;
    }
    return result;
  }

  /** Return the number whose product with `value` is 1 (Fermat). */
  inverse(value) {
    return this.power(value, this.modulus - 2n);
  }

  /** Return all powers of the principal root of unity of this order, a power of two (6.1.2). */
  roots(order) {
    // 7 generates the multiplicative groups of both fields.
    const root = this.power(7n, (this.modulus - 1n) / BigInt(order));
    const powers = [1n];
    while (powers.length < order) powers.push((powers.at(-1) * root) % this.modulus);
    return powers;
  }

  subtract(left, right) {
    return left.map((value, place) => this.reduce(value - right[place]));
  }

  /** Return elements as bytes, each with its lowest byte first (6.1.1). */
  encode(values) {
    const bytes = new Uint8Array(values.length * this.size);
    const view = new DataView(bytes.buffer);
    const words = this.size / 8;
    values.forEach((value, place) => {
      for (let word = 0; word < words; word++) {
        const part = BigInt.asUintN(64, value >> BigInt(64 * word));
        view.setBigUint64(this.size * place + 8 * word, part, true);
      }
    });
    return bytes;
  }

  /** Return the numbers that bytes encode, also those at or above the modulus. */
  unpack(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const values = [];
    for (let start = 0; start < bytes.length; start += this.size) {
      const low = view.getBigUint64(start, true);
      values.push(this.size === 8 ? low : low | (view.getBigUint64(start + 8, true) << 64n));
    }
    return values;
  }
}

export const FIELD_64 = new Field("Field64", 2n ** 32n * 4294967295n + 1n, 8);
export const FIELD_128 = new Field("Field128", 2n ** 66n * 4611686018427387897n + 1n, 16);
