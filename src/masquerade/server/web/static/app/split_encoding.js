// From a person's answers to what is split: the device's half of surveys/two_party_encoding.py.
//
// Codes of answers are the app's: 0 for the first label or point, the number of labels for "prefer
// not to say". It is the same for every device, so that the length says nothing.

import { kindOf } from "./kinds/kinds.js";
import { rankingOf } from "../mechanisms/sets.js";
import { Matching, One, Order, Some, Whole } from "../aggregate/survey_circuit.js";

const MOST_BINS = 64;
const MOST_CELLS = 256;
const MOST_CROSSED = 4;

/**
 * How the parts of a vector are made, by the shape that a kind of question gives its answers:
 *   counts  one of `labels`, each of which stands for one of `answers` or for a range of them
 *   ticks   any of `labels`, at most `most`; a second part says who answered, where not all do
 *   order   the first `ranked` of `items`, in an order
 *   total   the sum of all answers alone
 *   matching  the items of a list that win and lose in the `votes` that begin with this question
 *   vote    a further vote on the list of the question before: its block has it too
 */
const SHAPES = {
  counts: {
    block: (part) => new One(part.labels + part.without),
    // Label i holds the answers from floor(i n / b) to below floor((i + 1) n / b).
    measured: (part, code) =>
      code < part.answers
        ? Math.floor(((code + 1) * part.labels - 1) / part.answers)
        : part.labels + code - part.answers,
  },
  ticks: {
    block: (part) => new Some(part.labels, part.most),
    measured: (part, code) =>
      Array.from({ length: part.labels }, (_, place) =>
        code < part.answers && Math.floor(code / 2 ** place) % 2 === 1,
      ),
    states: (part) => (part.without ? new One(1 + part.without) : null),
    state: (part, code) => (code < part.answers ? 0 : 1 + code - part.answers),
    allows: (part, code) => bitsOf(code) <= (part.most ?? part.labels),
  },
  order: {
    block: (part) => new Order(part.items, part.ranked, part.without > 0),
    measured: (part, code) => (code < part.answers ? rankingOf(code, part.items, part.ranked) : []),
    states: (part) => (part.without ? new One(1 + part.without) : null),
    state: (part, code) => (code < part.answers ? 0 : 1 + code - part.answers),
  },
  total: { block: (part) => new Whole(part.answers - 1), measured: (part, code) => code },
  matching: {
    block: (part) => new Matching(part.listed, part.votes, part.answers > 2),
    measured: (part, code, votes) => outcomesOf(votes),
  },
  vote: { block: () => null },
};

/** Return the items that won and those that lost, of votes with a pair each; a tie is in neither. */
function outcomesOf(votes) {
  const decided = votes.filter(({ code }) => code < 2);
  return [0, 1].map((side) => decided.map(({ code, pair }) => pair[side ? 1 - code : code]));
}

/** How the answers to a survey become one vector. */
export class Encoding {
  /**
   * @param {object[]} questions as the app has them: id, kind, labels or min, max and step,
   *   allow_skip, show_if
   * @param {object} [choices]
   * @param {string[][]} [choices.cross] ids of 2 to 4 questions whose joint counts are wanted
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
    const summed = sums.map((id) => placeOf(questions, id));
    this.parts = questions.map((question, place) => {
      const part = kindOf(question).split(question, { bins, summed: summed.includes(place) });
      return { ...part, without: Number(skippable(question)) + Number(conditional(question)) };
    });
    if (summed.some((place) => this.parts[place].shape !== "total")) {
      throw new RangeError("a sum is wanted of what is no number.");
    }
    if (this.parts.some(({ shape, without }) => shape === "total" && without)) {
      throw new RangeError("a sum alone does not say who answered.");
    }
    this.questions = questions;
    this.cross = cross.map((table) => {
      const places = table.map((id) => placeOf(questions, id));
      const counts = places.every((place) => this.parts[place].shape === "counts");
      const several = places.length > 1 && places.length <= MOST_CROSSED;
      const different = several && new Set(places).size === places.length;
      if (!different || !counts || this.#cells(places) > MOST_CELLS) {
        throw new RangeError("a cross table is of too few or too many questions or cells.");
      }
      return places;
    });
  }

  /**
   * One block for each question, then one for each cross table, then one for each question whose own
   * block does not tell who answered.
   */
  get blocks() {
    const own = this.parts.map((part) => SHAPES[part.shape].block(part)).filter(Boolean);
    const states = this.parts.map((part) => SHAPES[part.shape].states?.(part)).filter(Boolean);
    const tables = this.cross.map((places) => new One(this.#cells(places)));
    return [...own, ...tables, ...states];
  }

  /** Return how many symbols can be sent for a question: labels, "no answer" and "not asked". */
  symbols(place) {
    const { labels, without } = this.parts[place];
    return labels + without;
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
    const said = this.parts.map((part, place) => this.#code(place, codes[place], asked[place]));
    const sent = this.parts.map(({ shape, votes }, place) =>
      SHAPES[shape].measured?.(this.parts[place], said[place], this.#votes(place, votes, said)),
    );
    const tables = this.cross.map((places) =>
      places.reduce((cell, place) => cell * this.symbols(place) + sent[place], 0),
    );
    const states = this.parts.flatMap((part, place) =>
      SHAPES[part.shape].states?.(part) ? [SHAPES[part.shape].state(part, said[place])] : [],
    );
    const own = sent.filter((_, place) => SHAPES[this.parts[place].shape].measured);
    return [...own, ...tables, ...states];
  }

  /** Return the votes that begin at a place, each with the pair that was shown. */
  #votes(place, count, said) {
    const own = said.slice(place, place + (count ?? 0));
    return own.map((code, at) => ({ code, pair: this.questions[place + at].pair }));
  }

  /** Return how many cells the table of some questions has. */
  #cells(places) {
    return places.reduce((product, place) => product * this.symbols(place), 1);
  }

  /** Return the code of an answer; after all answers stand "no answer" and "not asked". */
  #code(place, code, asked) {
    const question = this.questions[place];
    const { answers, without, shape } = this.parts[place];
    if (!asked) {
      if (!conditional(question) || code != null) {
        throw new RangeError("a question was not asked and has an answer, or is asked of all.");
      }
      return answers + without - 1;
    }
    const offered = answers + Number(skippable(question));
    const whole = Number.isSafeInteger(code) && code >= 0 && code < offered;
    const { allows = () => true } = SHAPES[shape];
    if (!whole || (code < answers && !allows(this.parts[place], code))) {
      throw new RangeError("an answer is none that the question offers.");
    }
    return code;
  }
}

/** Return the place of a question. */
function placeOf(questions, id) {
  const place = questions.findIndex((question) => question.id === id);
  if (place < 0) throw new RangeError("the survey names a question that it does not have.");
  return place;
}

/** Return how many bits of a code are set. */
const bitsOf = (code) => BigInt(code).toString(2).replaceAll("0", "").length;

const skippable = (question) => question.allow_skip === true;
const conditional = (question) => Boolean(question.show_if);
