// A date: one of a list of days, or a day, month or year of a public range. Of a range what is masked
// is one of a few even stretches.

import { userText } from "../components.js";
import { element } from "../dom.js";
import { intervals, labelKind, option, skipOption } from "../label_kind.js";
import { isText, requireThat } from "../promise.js";
import { words } from "../../words/language.js";

const DAY = 86400000;
const MOST_DATES = 40000;
const USUAL_BINS = 12;
const LENGTHS = { day: 10, month: 7, year: 4 };
const REST = { day: "", month: "-01", year: "-01-01" };

/** Return a date as a number of its steps, or null where it is none. */
function numberOf(text, step) {
  if (!isText(text) || text.length !== LENGTHS[step]) return null;
  const whole = text + REST[step];
  const time = Date.parse(`${whole}T00:00:00Z`);
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== whole) return null;
  const found = new Date(time);
  if (step === "day") return Math.round(time / DAY);
  return step === "month" ? 12 * found.getUTCFullYear() + found.getUTCMonth() : found.getUTCFullYear();
}

function textOf(number, step) {
  if (step === "day") return new Date(number * DAY).toISOString().slice(0, 10);
  const year = (value) => String(value).padStart(4, "0");
  if (step === "year") return year(number);
  return `${year(Math.floor(number / 12))}-${String((number % 12) + 1).padStart(2, "0")}`;
}

function pointsOf({ first, last, step }) {
  const [low, high] = [numberOf(first, step), numberOf(last, step)];
  return low === null || high === null ? 0 : Math.max(0, high - low + 1);
}

function stretches(range, bins) {
  const points = pointsOf(range);
  const count = Math.min(bins, points);
  const low = numberOf(range.first, range.step);
  return Array.from({ length: count }, (_, n) => {
    const ends = [Math.floor((n * points) / count), Math.floor(((n + 1) * points) / count) - 1];
    const [from, to] = ends.map((at) => textOf(low + at, range.step));
    return from === to ? from : `${from} – ${to}`;
  });
}

const count = ({ dates, ...range }) => (dates.length ? dates.length : pointsOf(range));

/** Return the code of a date of a range; null where it is none of it. */
function codeOfDate(question, text) {
  const [low, number] = [numberOf(question.first, question.step), numberOf(text, question.step)];
  return number === null || number < low || number - low >= pointsOf(question) ? null : number - low;
}

/** Return the first date of each stretch that is masked as one. */
function startsOf(question) {
  const points = pointsOf(question);
  return question.labels.map((_, n) => Math.floor((n * points) / question.labels.length));
}

const within = intervals(codeOfDate, pointsOf, startsOf);

/** Return a date as people read it: a day of a list in their language, others as digits. */
const shown = (text) => (text.length === LENGTHS.day ? words().day(text) : text);

export const kind = {
  ...labelKind,
  name: "date",
  /** The ends of a first interval: the earlier half. */
  ends({ first, last, step }) {
    const [low, high] = [numberOf(first, step), numberOf(last, step)];
    return low === null || high === null ? [first, last] : [first, textOf(Math.floor((low + high) / 2), step)];
  },

  fields: ["first", "last", "step", "allow_skip"],
  optional: { dates: [], bins: 12 },

  form({ dates = [], first = "", last = "", step = "month", bins = USUAL_BINS }) {
    const known = Object.hasOwn(LENGTHS, step) ? step : "month";
    const range = { first, last, step: known };
    const few = pointsOf(range) <= MOST_DATES && Number.isInteger(bins) ? Math.min(bins, 100) : 0;
    return { labels: dates.length ? dates : stretches(range, few), dates, ...range };
  },

  check({ dates = [], first, last, step, bins = USUAL_BINS }, form) {
    requireThat(Array.isArray(dates) && Object.hasOwn(LENGTHS, step), "a date");
    requireThat(dates.every((day) => numberOf(day, "day") !== null), "a date");
    requireThat(dates.length === 0 || (first === "" && last === ""), "a date");
    requireThat(Number.isInteger(bins) && bins >= 2 && bins <= 100, "a date");
    if (!dates.length) requireThat(pointsOf(form) >= 2 && pointsOf(form) <= MOST_DATES, "a date");
    labelKind.check(null, form);
  },

  skipCode: count,

  answers: (question) => count(question) + (question.allow_skip ? 1 : 0),

  maskedAnswers: ({ labels, allow_skip: skip }) => labels.length + (skip ? 1 : 0),

  maskedCode(question, code) {
    if (question.dates.length || code === undefined) return code;
    const [bins, points] = [question.labels.length, count(question)];
    return code === points ? bins : Math.floor(((code + 1) * bins - 1) / points);
  },

  // A condition names days of a list, or an interval of a range.
  leaves: ({ dates = [] }) => (dates.length ? ["labels"] : ["interval"]),

  ...Object.fromEntries(
    ["checkLeaf", "meets", "decidingCodes"].map((name) => [
      name,
      (question, ...more) => (question.dates.length ? labelKind : within)[name](question, ...more),
    ]),
  ),

  draw(place, answering) {
    const { asked, chosen } = place;
    const { dates, first, last, step } = asked;
    const points = count(asked);
    if (dates.length) {
      return [
        dates.map((day, code) => option(place, answering, code, "option", shown(day))),
        skipOption(place, answering),
      ];
    }
    const low = numberOf(first, step);
    const skip = skipOption(
      place,
      {
        ...answering,
        choose(code) {
          field.value = "";
          answering.choose(code);
        },
      },
      points,
    );
    const take = () => {
      const number = numberOf(field.value, step);
      const code = number === null ? -1 : number - low;
      if (skip) skip.querySelector("input").checked = false;
      answering.choose(code >= 0 && code < points ? code : null);
    };
    const value = chosen === undefined || chosen === points ? "" : textOf(low + chosen, step);
    const common = { className: "date", "aria-label": asked.text, onchange: take };
    const field =
      step === "day"
        ? element("input", { ...common, type: "date", min: first, max: last, value })
        : element(
            "select",
            common,
            ["", ...Array.from({ length: points }, (_, at) => textOf(low + at, step))].map((text) =>
              element("option", { value: text, selected: text === value }, text || "–"),
            ),
          );
    return [
      field,
      element("p", { className: "hint" }, userText(`${shown(first)} – ${shown(last)}`)),
      skip,
    ];
  },

  text(question, code, said) {
    if (code === count(question)) return said.skip;
    const { dates, first, step } = question;
    return shown(dates.length ? dates[code] : textOf(numberOf(first, step) + code, step));
  },

  sentText: ({ labels }, report, said) => labels[report] ?? said.skip,

  split(question, { bins }) {
    const points = count(question);
    return { shape: "counts", labels: question.dates.length || Math.min(bins, points), answers: points };
  },
};
