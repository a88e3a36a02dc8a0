// TurboSHAKE128 of RFC 9861: the sponge over Keccak-p[1600] with 12 rounds.
//
// JavaScript has no 64-bit integers that are fast, so each lane of the state is two 32-bit halves:
// the lower of lane i stands at 2i, the upper at 2i + 1.

const RATE = 168; // bytes of the state that take and give data
const ROUNDS = 12;
const LANES = 25;

/** Rotation of each lane and the place it goes to (steps rho and pi of FIPS 202, section 3.2). */
const TURNS = new Uint8Array(LANES);
const PLACES = new Uint8Array(LANES);
for (let x = 1, y = 0, step = 0; step < 24; step++) {
  TURNS[x + 5 * y] = (((step + 1) * (step + 2)) / 2) % 64;
  [x, y] = [y, (2 * x + 3 * y) % 5];
}
for (let x = 0; x < 5; x++) {
  for (let y = 0; y < 5; y++) PLACES[x + 5 * y] = y + 5 * ((2 * x + 3 * y) % 5);
}

/** Constants of the last 12 of 24 rounds, by the linear feedback register of FIPS 202, 3.2.5. */
const CONSTANTS = new Int32Array(2 * ROUNDS);
for (let round = 0, register = 1; round < 24; round++) {
  for (let j = 0; j < 7; j++) {
    const bit = 2 ** j - 1; // 0, 1, 3, 7, 15, 31, 63
    if (register & 1 && round >= ROUNDS) {
      CONSTANTS[2 * (round - ROUNDS) + (bit >> 5)] ^= 1 << (bit & 31);
    }
    register = register & 0x80 ? ((register << 1) ^ 0x171) & 0xff : register << 1;
  }
}

const turned = new Int32Array(2 * LANES);
const parity = new Int32Array(10);

// Written without arrays made on the way: a device splits one response, so this code mostly runs
// before the browser has compiled it.
function permute(state) {
  for (let round = 0; round < ROUNDS; round++) {
    // theta: each lane takes the parity of two columns
    for (let x = 0; x < 10; x++) {
      parity[x] = state[x] ^ state[x + 10] ^ state[x + 20] ^ state[x + 30] ^ state[x + 40];
    }
    for (let x = 0; x < 10; x += 2) {
      const low = parity[(x + 2) % 10];
      const high = parity[(x + 3) % 10];
      const addLow = parity[(x + 8) % 10] ^ ((low << 1) | (high >>> 31));
      const addHigh = parity[(x + 9) % 10] ^ ((high << 1) | (low >>> 31));
      for (let lane = x; lane < 2 * LANES; lane += 10) {
        state[lane] ^= addLow;
        state[lane + 1] ^= addHigh;
      }
    }
    // rho and pi: each lane is turned, and goes elsewhere
    for (let lane = 0; lane < LANES; lane++) {
      const swapped = TURNS[lane] >> 5; // by 32 or more: the halves change places
      const low = state[2 * lane + swapped];
      const high = state[2 * lane + 1 - swapped];
      const by = TURNS[lane] & 31;
      const place = 2 * PLACES[lane];
      // a shift by 32 is none in JavaScript, so the other half is shifted twice
      turned[place] = (low << by) | ((high >>> 1) >>> (31 - by));
      turned[place + 1] = (high << by) | ((low >>> 1) >>> (31 - by));
    }
    // chi: the only step that is not linear
    for (let row = 0; row < 2 * LANES; row += 10) {
      for (let x = 0; x < 10; x++) {
        state[row + x] =
          turned[row + x] ^ (~turned[row + ((x + 2) % 10)] & turned[row + ((x + 4) % 10)]);
      }
    }
    state[0] ^= CONSTANTS[2 * round];
    state[1] ^= CONSTANTS[2 * round + 1];
  }
}

/** An endless stream of bytes from a message. */
export class TurboShake128 {
  #state = new Int32Array(2 * LANES);
  #block = new Uint8Array(RATE); // what the state gives, lowest byte of each half first
  #used = 0; // bytes of the block that were read

  /**
   * @param {Uint8Array} message
   * @param {number} domain 1 to 127, so that no use has the stream of another
   */
  constructor(message, domain) {
    const padded = new Uint8Array((Math.floor(message.length / RATE) + 1) * RATE);
    padded.set(message);
    padded[message.length] = domain;
    padded[padded.length - 1] ^= 0x80;
    const view = new DataView(padded.buffer);
    for (let block = 0; block < padded.length; block += RATE) {
      for (let word = 0; word < RATE / 4; word++) {
        this.#state[word] ^= view.getInt32(block + 4 * word, true);
      }
      permute(this.#state);
    }
    this.#show();
  }

  /** Return the next bytes of the stream. */
  read(length) {
    const bytes = new Uint8Array(length);
    for (let place = 0; place < length; ) {
      if (this.#used === RATE) {
        permute(this.#state);
        this.#show();
      }
      const next = this.#block.subarray(this.#used, this.#used + length - place);
      bytes.set(next, place);
      place += next.length;
      this.#used += next.length;
    }
    return bytes;
  }

  #show() {
    const view = new DataView(this.#block.buffer);
    for (let word = 0; word < RATE / 4; word++) view.setInt32(4 * word, this.#state[word], true);
    this.#used = 0;
  }
}
