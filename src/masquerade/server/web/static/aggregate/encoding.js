// From a person's answers to what is split: the device's half of surveys/two_party_encoding.py.
//
// Codes of answers are the app's: 0 for the first label or point, the number of labels for "prefer
// not to say". It is the same for every device, so that the length says nothing.

import { One, Some, Whole } from "./survey_circuit.js";

const MOST_BINS = 64;
const MOST_CELLS = 256;

/** How the answers to a survey become one vector. */
export class Encoding {
  /**
   * @param {object[]} questions as the app has them: id, kind, labels or min, max and step,
   *   allow_skip, show_if
   * @param {object} [choices]
   * @param {string[][]} [choices.cross] ids of two questions whose joint counts are wanted
   * @param {number} [choices.bins] into how many ranges a number's scale is cut at most
   * @param {string[]} [choices.sums] ids of numbers of which only the sum is wanted
   */
  constructor(questions, { cross = [], bins = 20, sums = [] } = {}) {
    const ids = questions.map(({ id }) => id);
    if (!ids.length || new Set(ids).size < ids.length) {
      throw new RangeError("a survey's questions have no ids of their own.");
    }
    if (!Number.isInteger(bins) || bins < 2 || bins > MOST_BINS) {
      throw new RangeError(`bins is ${bins}, expected 2 to ${MOST_BINS}.`);
    }
    Object.assign(this, { questions, bins, sums: new Set(sums) });
    for (const id of sums) {
      if (questions[this.#placeOf(id)].kind !== "number") {
        throw new RangeError("a sum is wanted of what is no number.");
      }
    }
    this.cross = cross.map((pair) => {
      const places = pair.map((id) => this.#placeOf(id));
      const cells = places.reduce((product, place) => product * this.symbols(place), 1);
      const summed = pair.some((id) => this.sums.has(id));
      const several = places.some((place) => severalOf(questions[place]));
      if (new Set(places).size !== 2 || summed || several || cells > MOST_CELLS) {
        throw new RangeError("a cross table is not of two questions, or has too many cells.");
      }
      return places;
    });
  }

  /**
   * One block for each question, then one for each cross table, then one for each question with
   * several answers that some people do not answer: bits alone do not tell nothing ticked from that.
   */
  get blocks() {
    const own = this.questions.map((question, place) => {
      if (severalOf(question)) return new Some(question.labels.length, question.most ?? null);
      return this.sums.has(question.id)
        ? new Whole(pointsOf(question) - 1)
        : new One(this.symbols(place));
    });
    const states = this.questions
      .filter((question) => severalOf(question) && without(question))
      .map((question) => new One(1 + without(question)));
    const tables = this.cross.map(([a, b]) => new One(this.symbols(a) * this.symbols(b)));
    return [...own, ...tables, ...states];
  }

  /** Return how many symbols can be sent for a question: labels, "no answer" and "not asked". */
  symbols(place) {
    const question = this.questions[place];
    return this.#labels(question) + without(question);
  }

  /**
   * Return what is split, from the codes of a person's answers.
   *
   * @param {(number|null)[]} codes of each question; null for what was not asked
   * @param {boolean[]} asked whether each was shown
   */
  measurement(codes, asked) {
    const { length } = this.questions;
    if (codes.length !== length || asked.length !== length) {
      throw new RangeError(`${length} questions have not as many answers.`);
    }
    const states = [];
    const sent = this.questions.map((question, place) => {
      if (severalOf(question)) {
        const { flags, state } = this.#flags(question, codes[place], asked[place]);
        if (without(question)) states.push(state);
        return flags;
      }
      if (asked[place]) return this.#code(question, codes[place]);
      if (!conditional(question) || codes[place] != null) {
        throw new RangeError("a question was not asked and has an answer, or is asked of all.");
      }
      return this.symbols(place) - 1; // "not asked" is the last symbol
    });
    const tables = this.cross.map(([a, b]) => sent[a] * this.symbols(b) + sent[b]);
    return [...sent, ...tables, ...states];
  }

  /** Return which options are ticked, and whether it was answered (0), left out or not asked. */
  #flags(question, code, asked) {
    const { labels, most = null } = question;
    const none = labels.map(() => false);
    if (!asked) {
      if (!conditional(question) || code != null) {
        throw new RangeError("a question was not asked and has an answer, or is asked of all.");
      }
      return { flags: none, state: without(question) }; // the last one
    }
    const skip = 2 ** labels.length; // the bit after the last option
    if (skippable(question) && code === skip) return { flags: none, state: 1 };
    const whole = Number.isSafeInteger(code) && code >= 0 && code < skip;
    const flags = whole ? labels.map((_, place) => Math.floor(code / 2 ** place) % 2 === 1) : [];
    if (!whole || flags.filter(Boolean).length > (most ?? labels.length)) {
      throw new RangeError("an answer is none that the question offers.");
    }
    return { flags, state: 0 };
  }

  #code(question, code) {
    const number = question.kind === "number";
    const offered = number
      ? pointsOf(question)
      : question.labels.length + Number(skippable(question));
    if (!Number.isInteger(code) || code < 0 || code >= offered) {
      throw new RangeError("an answer is none that the question offers.");
    }
    if (!number || this.sums.has(question.id)) return code;
    // Bin i holds the points from floor(i n / b) to below floor((i + 1) n / b).
    return Math.floor(((code + 1) * this.#labels(question) - 1) / offered);
  }

  #labels(question) {
    return question.kind === "number"
      ? Math.min(this.bins, pointsOf(question))
      : question.labels.length;
  }

  #placeOf(id) {
    const place = this.questions.findIndex((question) => question.id === id);
    if (place < 0) throw new RangeError("the survey names a question that it does not have.");
    return place;
  }
}

/** Return how many points a number question's scale has. */
function pointsOf({ min, max, step }) {
  return Math.round((Number(max) - Number(min)) / Number(step)) + 1;
}

const skippable = (question) => question.kind !== "number" && question.allow_skip === true;
const severalOf = ({ kind }) => kind === "several";
const without = (question) => Number(skippable(question)) + Number(conditional(question));
const conditional = (question) => Boolean(question.show_if);
