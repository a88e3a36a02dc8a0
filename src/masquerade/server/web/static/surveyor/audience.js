// Whom to ask, what it may cost, and what that will tell: worked out by the server as one moves.

import "../app/kinds/every.js";
import { element } from "../app/dom.js";
import { ask, Draft, inPage } from "./draft.js";
import { redraw } from "./redraw.js";
import { check, fold, group, numberField, selectField, textField } from "./fields.js";
import { marginShown } from "./questions.js";
import { grouped, levelName, said } from "./said.js";
import { ReachFields } from "./reach.js";
import { TrustFields } from "./trust.js";

const ALL = inPage("all-levels");
const GRADED = { none: 8, low: 4, medium: 2, high: 1 }; // Kandappu et al. (2014), as a start
const AFTER_MILLISECONDS = 5000;
const HOW_PAID = {
  none: said("Masquerade counts what this comes to and promises nobody anything."),
  codes: said("People are told the amounts before they begin, and each sees a code after sending, whatever they answered. They show it to you or to a panel and are paid there. You check codes off on the survey’s page, with their amounts. Nothing that is kept joins a code with a response."),
};
const at = (id) => document.getElementById(id);
const capitals = (name) => levelName(name)[0].toUpperCase() + levelName(name).slice(1);

/** Say how often the same people can be asked all of it again. */
function again(levels) {
  const known = levels.filter(({ times_again: times }) => times !== null);
  if (!known.length) return null;
  const least = Math.min(...known.map(({ times_again: times }) => times));
  const often = least === 1 ? said("Can be asked again once within the caps.") : said("Can be asked again {count} times within the caps.", { count: least });
  return element("p", {}, least ? often : said("Cannot be asked again within the caps."));
}

/** The page: the fields of the plan, and beside them what the server works out of it. */
class AudiencePage {
  #draft = new Draft(inPage("known"), () => this.#draw());
  #trust = new TrustFields(this.#draft, () => this.#draw());
  #reach = new ReachFields(this.#draft, () => this.#draw());
  #curve = null; // the points of error against cost, and of which plan they are

  start() {
    for (const link of document.querySelectorAll("#next, .steps a")) this.#draft.guard(link);
    this.#draw();
  }

  #plan() {
    return this.#draft.document.plan;
  }

  #levels() {
    const { levels: chosen } = this.#draft.document;
    if (this.#trust.chosen) return ["two-parties"];
    return Array.isArray(chosen) ? chosen : Object.keys(chosen);
  }

  #change(changes, again = false) {
    Object.assign(this.#plan(), changes);
    this.#draft.touch("plan");
    if (again) this.#draw();
  }

  #pay() {
    const amounts = this.#levels().map((name) => this.#plan().prices[name] ?? 0);
    if (amounts.every((amount) => amount === 0)) return "volunteer";
    return new Set(amounts).size === 1 ? "flat" : "graded";
  }

  #choosePay(kind) {
    const amount = { volunteer: () => 0, flat: () => 10, graded: (name) => 10 * (GRADED[name] ?? 1) };
    const prices = Object.fromEntries(this.#levels().map((name) => [name, amount[kind](name)]));
    this.#change({ prices: kind === "volunteer" ? {} : prices, budget: null }, true);
  }

  /** What everybody together would cost who can be reached. */
  #fullCost() {
    const known = this.#draft.known.forecast?.levels ?? [];
    return known.reduce((sum, { expected, price }) => sum + expected * price, 0);
  }

  #levelFields() {
    if (!Array.isArray(this.#draft.document.levels)) {
      return element("p", { className: "hint" }, said("This survey has masks of its own; see its file."));
    }
    const offered = new Set(this.#levels());
    return group(
      said("Levels of protection"),
      ALL.map((name) =>
        check(name === "none" ? said("None: answers as they are") : capitals(name), offered.has(name), (on) => {
          this.#draft.document.levels = ALL.filter((one) => (one === name ? on : offered.has(one)));
          for (const field of ["prices", "shares"]) {
            this.#plan()[field] = Object.fromEntries(
              Object.entries(this.#plan()[field]).filter(([one]) => this.#draft.document.levels.includes(one)),
            );
          }
          this.#draft.touch("levels", "plan");
          this.#draw();
        }),
      ),
      element(
        "p",
        { className: "hint" },
        said("With one level for everybody, the choice says nothing about anybody. With several, each person chooses before seeing a question."),
      ),
      ...this.#draft.faults("/levels").map((text) => element("p", { className: "error" }, text)),
    );
  }

  #budgetFields() {
    const kind = this.#pay();
    const most = this.#fullCost();
    const limited = this.#plan().budget !== null;
    const shown = element("output", { className: "figure" }, this.#budgetText());
    const slider = element("input", {
      type: "range",
      id: "budget",
      min: "0",
      max: String(most || 1),
      step: String(Math.max(1, Math.round(most / 200))),
      value: String(this.#plan().budget ?? most),
      "aria-label": said("Budget"),
      oninput: ({ target }) => {
        this.#change({ budget: Number(target.value) >= most ? null : Number(target.value) }, true);
      },
    });
    return group(
      said("Pay and budget"),
      selectField(
        said("Each person gets"),
        kind,
        [
          ["volunteer", said("nothing: volunteers")],
          ["flat", said("the same at every level")],
          ["graded", said("more for less protection")],
        ],
        (one) => this.#choosePay(one),
      ),
      kind !== "volunteer" &&
        element(
          "div",
          { className: "row" },
          kind === "flat"
            ? numberField(said("Amount"), this.#plan().prices[this.#levels()[0]] ?? 0, (amount) =>
                this.#change({ prices: Object.fromEntries(this.#levels().map((name) => [name, amount])) }),
              { whole: true, min: 0, max: 1000000000 })
            : this.#levels().map((name) =>
                numberField(capitals(name), this.#plan().prices[name] ?? 0, (amount) =>
                  this.#change({ prices: { ...this.#plan().prices, [name]: amount } }),
                { whole: true, min: 0, max: 1000000000 }),
              ),
          textField(said("Unit"), this.#plan().currency, (text) => this.#change({ currency: text }), {
            key: "/plan/currency",
            most: 16,
            faults: this.#draft.faults("/plan/currency"),
          }),
        ),
      kind === "graded" &&
        element(
          "p",
          { className: "hint" },
          said("Paying more for less protection buys precision from those who need the money. The same for everybody is the fair default."),
        ),
      kind !== "volunteer" &&
        most > 0 && [
          element("label", { className: "slider-label", htmlFor: "budget" }, said("Budget"), " ", shown),
          slider,
          element("div", { className: "ends", "aria-hidden": "true" }, element("span", {}, "0"), element("span", {}, limited ? grouped(most) : said("no limit"))),
        ],
      kind !== "volunteer" &&
        selectField(
          said("How it is paid"),
          this.#plan().reward,
          [
            ["none", said("elsewhere: this is for planning only")],
            ["codes", said("for a completion code, by you or a panel")],
          ],
          (reward) => this.#change({ reward }, true),
        ),
      kind !== "volunteer" &&
        element("p", { className: "hint" }, HOW_PAID[this.#plan().reward] ?? HOW_PAID.none),
      kind === "volunteer" &&
        check(said("Give a completion code"), this.#plan().reward === "codes", (on) => this.#change({ reward: on ? "codes" : "none" }), {
          hint: said("For people of a panel: each sees a code after sending and shows it there. Nothing that is kept joins it with a response."),
        }),
    );
  }

  #budgetText() {
    const { budget, currency } = this.#plan();
    return budget === null ? said("no limit") : `${grouped(budget)} ${currency}`;
  }

  #fairnessFields() {
    const slider = element("input", {
      type: "range", id: "alpha", min: "0", max: "1", step: "0.05",
      value: String(1 - this.#plan().alpha),
      oninput: () => this.#change({ alpha: Math.round(100 * (1 - Number(slider.value))) / 100 }),
    });
    return [
      element("label", { className: "slider-label", htmlFor: "alpha" }, said("What a choice of people weighs")),
      slider,
      element("div", { className: "ends", "aria-hidden": "true" }, element("span", {}, said("Spread load fairly")), element("span", {}, said("Cheapest precision"))),
    ];
  }

  #advanced() {
    return fold(
      said("Advanced"),
      group(said("Shares expected at each level"), element("div", { className: "row" }, this.#levels().map((name) => {
        const known = this.#draft.known.forecast?.levels.find((one) => one.name === name);
        const share = this.#plan().shares[name] ?? (known ? known.expected / this.#draft.known.forecast.people : 0);
        return numberField(`${capitals(name)}, %`, Math.round(100 * share), (percent) => {
          const shares = Object.fromEntries(this.#levels().map((one) => {
            const other = this.#draft.known.forecast?.levels.find((each) => each.name === one);
            return [one, this.#plan().shares[one] ?? (other ? other.expected / this.#draft.known.forecast.people : 0)];
          }));
          this.#change({ shares: { ...shares, [name]: Math.min(100, Math.max(0, percent)) / 100 } });
        }, { min: 0, max: 100 });
      }))),
      ...this.#fairnessFields(),
      selectField(said("Policy"), this.#plan().policy, [
        ["precision", said("most precision for money and privacy (default)")],
        ["stratified-random", said("each level by its share, at random")],
        ["random", said("anybody, at random")],
      ], (policy) => this.#change({ policy })),
      element("p", { className: "hint" }, said("People are chosen by level and price alone. What somebody reported before is not used: reports of one person to two surveys cannot be brought together here.")),
    );
  }

  #draw() {
    this.#drawFields();
    this.#drawOutcome();
  }

  #drawFields() {
    const people = numberField(said("People you can reach"), this.#plan().people, (count) => this.#change({ people: count }), {
      key: "/plan/people", whole: true, min: 1, max: 100000, hint: said("An estimate is enough. Everything on the right follows from it."), faults: this.#draft.faults("/plan/people") });
    const day = element("input", {
      type: "date", id: "closes", value: this.#plan().closes ?? "",
      onchange: () => this.#change({ closes: day.value || null }),
    });
    const made = [
      element("section", { className: "card" }, element("h2", {}, said("Audience")), this.#trust.fields(), people, this.#trust.chosen ? null : this.#levelFields(),
        check(said("Take no more people than planned"), this.#plan().quotas, (on) => this.#change({ quotas: on }), { hint: said("Whoever comes when a level is full is told before any question, and nothing is charged.") }),
        element("div", { className: "field" }, element("label", { htmlFor: "closes" }, said("Last day")), day, element("p", { className: "hint" }, said("It ends at midnight in {zone}. Empty: open until you close it.", { zone: at("plan").dataset.zone })),
          ...this.#draft.faults("/plan/closes").map((text) => element("p", { className: "error" }, text)))),
      element("section", { className: "card" }, element("h2", {}, said("Budget")), this.#budgetFields(), this.#advanced()),
      ...this.#reach.fields(),
    ];
    redraw(at("plan"), made);
  }

  #drawOutcome() {
    const { forecast, errors } = this.#draft.known;
    if (!forecast) {
      at("outcome").replaceChildren(
        element("section", { className: "card" }, element("h2", {}, said("Not ready for a forecast")),
          element("ul", {}, errors.map(({ detail }) => element("li", {}, detail))),
          element("a", { className: "button", href: `/surveys/${this.#draft.known.token}/edit` }, said("To the questions"))),
      );
      return;
    }
    const rows = forecast.levels.map((level) =>
      element("tr", {},
        element("td", {}, element("b", {}, levelName(level.name))),
        element("td", { className: "num" }, said("{asked} of {expected}", { asked: level.asked, expected: level.expected })),
        element("td", { className: "num" }, level.price ? grouped(level.price) : "–"),
        element("td", { className: `num${level.share_of_cap > 1 ? " bad" : ""}` }, level.name === "none" ? "–" : `${grouped(level.percent_of_cap)} %`)));
    const dear = forecast.levels.filter((level) => level.share_of_cap > 1).map(({ name }) => levelName(name));
    const texts = new Map(this.#draft.document.questions.flatMap(({ kind, id, text, rows }) => kind === "matrix"
      ? rows.map((row, place) => [place ? `${id}-${place + 1}` : id, `${text} – ${row}`])
      : [[id, text]]));
    at("outcome").replaceChildren(
      element("section", { className: "card outcome" },
        element("h2", {}, said("What you can expect")),
        element("p", { className: "big-number" }, grouped(forecast.asked), element("small", { className: "muted" }, " ", said("people"), forecast.cost ? `, ${grouped(forecast.cost)} ${forecast.currency}` : "")),
        element("ul", { className: "margins" }, forecast.questions.map((one) =>
          element("li", {}, element("span", { dir: "auto" }, texts.get(one.id)), marginShown(one)))),
        element("p", { className: "hint" }, this.#trust.chosen ? said("The truth lies so near to what you will see, in 95 of 100 surveys: people and noise together.") : said("The truth lies so near to what you will see, in 95 of 100 surveys: people and masks together.")),
        element("div", { id: "curve" }),
        element("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": said("Levels") }, element("table", { className: "data" },
          element("thead", {}, element("tr", {}, [said("Level"), said("People"), said("Pay"), said("Of a lifetime’s cap")].map((text, place) => element("th", { className: place ? "num" : "" }, text)))),
          element("tbody", {}, rows))),
        again(forecast.levels),
        dear.length > 0 && element("p", { className: "notice" }, said("At level {levels} this survey takes more than a lifetime’s usual cap, so nobody can choose it and nobody is planned for it. Ask fewer questions, or leave the level out.", { levels: dear.join(", ") }))),
    );
    this.#drawCurve();
  }

  /** Draw the expected error of the first question against the cost; the table below says the same. */
  async #drawCurve() {
    const box = at("curve");
    if (this.#pay() === "volunteer" || !this.#fullCost()) return;
    const wanted = JSON.stringify([this.#draft.known.version, this.#plan()]);
    if (this.#curve?.wanted !== wanted) {
      const { budget: _own, ...rest } = this.#plan();
      const answer = await ask("POST", `${this.#draft.path}/curve`, rest);
      if (answer.status === 429) setTimeout(() => this.#drawCurve(), AFTER_MILLISECONDS); // asked too often
      if (!answer.ok) return;
      this.#curve = { wanted, points: answer.data.points };
    }
    const points = this.#curve.points.filter(({ margin }) => margin !== null);
    if (points.length < 2 || !box.isConnected) return;
    const [width, height] = [320, 120];
    const most = Math.max(...points.map(({ cost }) => cost)) || 1;
    const top = Math.max(...points.map(({ margin }) => margin));
    const place = ({ cost, margin }) => [30 + ((width - 40) * cost) / most, height - 18 - ((height - 46) * margin) / top];
    const svg = (tag, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
      made.textContent = text;
      return made;
    };
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    drawing.append(
      svg("line", { x1: 30, x2: width - 10, y1: height - 18, y2: height - 18, class: "axis" }),
      svg("polyline", { points: points.map((one) => place(one).join(",")).join(" "), class: "line" }),
      ...points.map((one) => svg("circle", { cx: place(one)[0], cy: place(one)[1], r: 3, class: "point-of-line" })),
    );
    const now = this.#draft.known.forecast;
    const first = now?.questions[0];
    if (first?.margin) {
      const [x, y] = place({ cost: Math.min(now.cost, most), margin: Math.min(first.margin, top) });
      drawing.append(svg("circle", { cx: x, cy: y, r: 6, class: "now" }));
    }
    drawing.append(
      svg("text", { x: 30, y: height - 4 }, "0"),
      svg("text", { x: width - 10, y: height - 4, "text-anchor": "end" }, `${grouped(most)} ${this.#plan().currency}`),
      svg("text", { x: 30, y: 10 }, points.find(({ margin }) => margin === top).words),
    );
    const table = element("table", { className: "data" },
      element("thead", {}, element("tr", {}, element("th", { className: "num" }, said("Cost")), element("th", { className: "num" }, said("People")), element("th", { className: "num" }, said("Interval")))),
      element("tbody", {}, points.map((one) => element("tr", {},
        element("td", { className: "num" }, grouped(one.cost)), element("td", { className: "num" }, grouped(one.asked)), element("td", { className: "num" }, one.words)))));
    box.replaceChildren(element("h3", {}, said("Error against cost")), drawing, fold(said("The same as a table"), table));
  }
}

new AudiencePage().start();
