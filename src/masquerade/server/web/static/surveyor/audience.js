// Whom to ask, what it may cost, and what that will tell: worked out by the server as one moves.

import { element } from "../app/dom.js";
import { ask, Draft, inPage } from "./draft.js";
import { check, fold, group, numberField, selectField, textField } from "./fields.js";
import { marginText } from "./questions.js";

const ALL = inPage("all-levels");
const GRADED = { none: 8, low: 4, medium: 2, high: 1 }; // Kandappu et al. (2014), as a start
const AFTER_MILLISECONDS = 5000;
const HOW_PAID = {
  none: "Masquerade counts what this comes to and promises nobody anything.",
  codes: "Each sees a code after sending, shows it to the panel, and is paid there. You check codes off on the survey’s page. A code leads nobody to anybody’s answers.",
  wallet: "What the survey may spend is set aside when it opens. People are told the amounts before they begin, and paid when their reports arrive, whatever those are.",
};
const draft = new Draft(inPage("known"), heard);
const at = (id) => document.getElementById(id);
let curve = null;
let drawnFull = 0; // what everybody cost when the fields were drawn

const plan = () => draft.document.plan;
const levels = () =>
  Array.isArray(draft.document.levels) ? draft.document.levels : Object.keys(draft.document.levels);
const capitals = (name) => name[0].toUpperCase() + name.slice(1);

function set(changes, again = false) {
  Object.assign(plan(), changes);
  draft.touch("plan");
  if (again) draw();
}

function pay() {
  const amounts = levels().map((name) => plan().prices[name] ?? 0);
  if (amounts.every((amount) => amount === 0)) return "volunteer";
  return new Set(amounts).size === 1 ? "flat" : "graded";
}

function setPay(kind) {
  const amount = { volunteer: () => 0, flat: () => 10, graded: (name) => 10 * (GRADED[name] ?? 1) };
  const prices = Object.fromEntries(levels().map((name) => [name, amount[kind](name)]));
  const reward = kind === "volunteer" && plan().reward === "wallet" ? "none" : plan().reward;
  set({ prices: kind === "volunteer" ? {} : prices, budget: null, reward }, true);
}

/** What everybody together would cost who can be reached. */
function full() {
  const known = draft.known.forecast?.levels ?? [];
  return known.reduce((sum, { expected, price }) => sum + expected * price, 0);
}

function levelFields() {
  if (!Array.isArray(draft.document.levels)) {
    return element("p", { className: "hint" }, "This survey has masks of its own; see its file.");
  }
  const offered = new Set(levels());
  return group(
    "Levels of protection",
    ALL.map((name) =>
      check(name === "none" ? "None: answers as they are" : capitals(name), offered.has(name), (on) => {
        draft.document.levels = ALL.filter((one) => (one === name ? on : offered.has(one)));
        for (const field of ["prices", "shares"]) {
          plan()[field] = Object.fromEntries(
            Object.entries(plan()[field]).filter(([one]) => draft.document.levels.includes(one)),
          );
        }
        draft.touch("levels", "plan");
        draw();
      }),
    ),
    element(
      "p",
      { className: "hint" },
      "With one level for everybody, the choice says nothing about anybody. With several, each person chooses before seeing a question.",
    ),
    ...draft.faults("/levels").map((text) => element("p", { className: "error" }, text)),
  );
}

function budgetFields() {
  const kind = pay();
  const most = full();
  const limited = plan().budget !== null;
  const shown = element("output", { className: "figure" }, budgetText());
  const slider = element("input", {
    type: "range",
    id: "budget",
    min: "0",
    max: String(most || 1),
    step: String(Math.max(1, Math.round(most / 200))),
    value: String(plan().budget ?? most),
    "aria-label": "Budget",
    oninput: () => {
      set({ budget: Number(slider.value) >= most ? null : Number(slider.value) });
      shown.textContent = budgetText();
    },
  });
  return group(
    "Pay and budget",
    selectField(
      "Each person gets",
      kind,
      [
        ["volunteer", "nothing: volunteers"],
        ["flat", "the same at every level"],
        ["graded", "more for less protection"],
      ],
      setPay,
    ),
    kind !== "volunteer" &&
      element(
        "div",
        { className: "row" },
        kind === "flat"
          ? numberField("Amount", plan().prices[levels()[0]] ?? 0, (amount) =>
              set({ prices: Object.fromEntries(levels().map((name) => [name, amount])) }),
            { whole: true, min: 0 })
          : levels().map((name) =>
              numberField(capitals(name), plan().prices[name] ?? 0, (amount) =>
                set({ prices: { ...plan().prices, [name]: amount } }),
              { whole: true, min: 0 }),
            ),
        textField("Unit", plan().currency, (text) => text.trim() && set({ currency: text.trim() })),
      ),
    kind === "graded" &&
      element(
        "p",
        { className: "hint" },
        "Paying more for less protection buys precision from those who need the money. The same for everybody is the fair default.",
      ),
    kind !== "volunteer" &&
      most > 0 && [
        element("label", { className: "slider-label", htmlFor: "budget" }, "Budget ", shown),
        slider,
        element("div", { className: "ends", "aria-hidden": "true" }, element("span", {}, "0"), element("span", {}, limited ? String(most) : "no limit")),
      ],
    kind !== "volunteer" &&
      selectField(
        "How it is paid",
        plan().reward,
        [
          ["none", "elsewhere: this is for planning only"],
          ["wallet", "into a wallet here, out of your team’s funds"],
          ["codes", "by a panel, for a completion code"],
        ],
        (reward) => set({ reward }, true),
      ),
    kind !== "volunteer" &&
      element("p", { className: "hint" }, HOW_PAID[plan().reward] ?? HOW_PAID.none),
    kind === "volunteer" &&
      check("Give a completion code", plan().reward === "codes", (on) => set({ reward: on ? "codes" : "none" }), {
        hint: "For people of a panel: each sees a code after sending and shows it there. It leads nobody to anybody’s answers.",
      }),
  );
}

function budgetText() {
  const { budget, currency } = plan();
  return budget === null ? "no limit" : `${budget} ${currency}`;
}

function fairnessFields() {
  const slider = element("input", {
    type: "range", id: "alpha", min: "0", max: "1", step: "0.05",
    value: String(1 - plan().alpha),
    oninput: () => set({ alpha: Math.round(100 * (1 - Number(slider.value))) / 100 }),
  });
  return [
    element("label", { className: "slider-label", htmlFor: "alpha" }, "What a choice of people weighs"),
    slider,
    element("div", { className: "ends", "aria-hidden": "true" }, element("span", {}, "Spread load fairly"), element("span", {}, "Cheapest precision")),
  ];
}

function advanced() {
  return fold(
    "Advanced",
    group("Shares expected at each level", element("div", { className: "row" }, levels().map((name) => {
      const known = draft.known.forecast?.levels.find((one) => one.name === name);
      const share = plan().shares[name] ?? (known ? known.expected / draft.known.forecast.people : 0);
      return numberField(`${capitals(name)}, %`, Math.round(100 * share), (percent) => {
        const shares = Object.fromEntries(levels().map((one) => {
          const other = draft.known.forecast?.levels.find((each) => each.name === one);
          return [one, plan().shares[one] ?? (other ? other.expected / draft.known.forecast.people : 0)];
        }));
        set({ shares: { ...shares, [name]: Math.min(100, Math.max(0, percent)) / 100 } });
      }, { min: 0, max: 100 });
    }))),
    ...fairnessFields(),
    selectField("Policy", plan().policy, [
      ["precision", "most precision for money and privacy (default)"],
      ["stratified-random", "each level by its share, at random"],
      ["random", "anybody, at random"],
    ], (policy) => set({ policy })),
    element("p", { className: "hint" }, "People are chosen by level and price alone. What somebody reported before is not used: reports of one person to two surveys cannot be brought together here."),
  );
}

/** The server answered; fields change with it only where nobody is typing. */
function heard() {
  const typing = document.activeElement?.matches("#plan input:not([type=range], [type=checkbox])");
  if (full() === drawnFull || typing) return drawOutcome();
  return draw();
}

function draw() {
  const fields = () => [...at("plan").querySelectorAll("input, select")];
  const focused = fields().indexOf(document.activeElement);
  drawFields();
  fields()[focused]?.focus();
  drawOutcome();
}

function drawFields() {
  drawnFull = full();
  const people = numberField("People you can reach", plan().people, (count) => {
    if (count >= 1 && count <= 100000) set({ people: count });
  }, { whole: true, min: 1, max: 100000, hint: "An estimate is enough. Everything on the right follows from it.", faults: draft.faults("/plan/people") });
  const day = element("input", {
    type: "date", id: "closes", value: plan().closes ?? "",
    onchange: () => set({ closes: day.value || null }),
  });
  const made = [
    element("section", { className: "card" }, element("h2", {}, "Audience"), people, levelFields(),
      check("Take no more people than planned", plan().quotas, (on) => set({ quotas: on }), { hint: "Whoever comes when a level is full is told before any question, and nothing is charged." }),
      element("div", { className: "field" }, element("label", { htmlFor: "closes" }, "Last day"), day, element("p", { className: "hint" }, "Empty: open until you close it."),
        ...draft.faults("/plan/closes").map((text) => element("p", { className: "error" }, text)))),
    element("section", { className: "card" }, element("h2", {}, "Budget"), budgetFields(), advanced()),
  ];
  at("plan").replaceChildren(...made);
}

function drawOutcome() {
  const { forecast, errors } = draft.known;
  if (!forecast) {
    at("outcome").replaceChildren(
      element("section", { className: "card" }, element("h2", {}, "Not ready for a forecast"),
        element("ul", {}, errors.map(({ detail }) => element("li", {}, detail))),
        element("a", { href: `/surveys/${draft.known.token}/edit` }, "To the questions")),
    );
    return;
  }
  const rows = forecast.levels.map((level) =>
    element("tr", {},
      element("td", {}, element("b", {}, level.name)),
      element("td", { className: "num" }, `${level.asked} of ${level.expected}`),
      element("td", { className: "num" }, level.price ? `${level.price}` : "–"),
      element("td", { className: `num${level.share_of_cap > 1 ? " bad" : ""}` }, `${level.percent_of_cap} %`)));
  const dear = forecast.levels.filter((level) => level.share_of_cap > 1).map(({ name }) => name);
  const texts = new Map(draft.document.questions.map(({ id, text }) => [id, text]));
  at("outcome").replaceChildren(
    element("section", { className: "card outcome" },
      element("h2", {}, "What you can expect"),
      element("p", { className: "big-number" }, `${forecast.asked}`, element("small", { className: "muted" }, ` people${forecast.cost ? `, ${forecast.cost} ${forecast.currency}` : ""}`)),
      element("ul", { className: "margins" }, forecast.questions.map((one) =>
        element("li", {}, element("span", { dir: "auto" }, texts.get(one.id)), element("b", { className: "figure" }, marginText(one))))),
      element("p", { className: "hint" }, "Half the width of 95 % intervals, people and masks together."),
      element("div", { id: "curve" }),
      element("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Levels" }, element("table", { className: "data" },
        element("thead", {}, element("tr", {}, ["Level", "People", "Pay", "Of a lifetime’s cap"].map((text, place) => element("th", { className: place ? "num" : "" }, text)))),
        element("tbody", {}, rows))),
      dear.length > 0 && element("p", { className: "notice" }, `At level ${dear.join(" and ")} this survey takes more than a lifetime’s usual cap, so nobody can choose it and nobody is planned for it. Ask fewer questions, or leave the level out.`)),
  );
  drawCurve();
}

/** Draw the expected error of the first question against the cost; the table below says the same. */
async function drawCurve() {
  const box = at("curve");
  if (pay() === "volunteer" || !full()) return;
  const wanted = JSON.stringify([draft.known.version, plan()]);
  if (curve?.wanted !== wanted) {
    const { budget: _own, ...rest } = plan();
    const answer = await ask("POST", `${draft.path}/curve`, rest);
    if (answer.status === 429) setTimeout(drawCurve, AFTER_MILLISECONDS); // asked too often
    if (!answer.ok) return;
    curve = { wanted, points: answer.data.points };
  }
  const points = curve.points.filter(({ margin }) => margin !== null);
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
  const now = draft.known.forecast;
  const first = now?.questions[0];
  if (first?.margin) {
    const [x, y] = place({ cost: Math.min(now.cost, most), margin: Math.min(first.margin, top) });
    drawing.append(svg("circle", { cx: x, cy: y, r: 6, class: "now" }));
  }
  drawing.append(
    svg("text", { x: 30, y: height - 4 }, "0"),
    svg("text", { x: width - 10, y: height - 4, "text-anchor": "end" }, `${most} ${plan().currency}`),
    svg("text", { x: 30, y: 10 }, marginText({ ...first, margin: top })),
  );
  const table = element("table", { className: "data" },
    element("thead", {}, element("tr", {}, element("th", { className: "num" }, "Cost"), element("th", { className: "num" }, "People"), element("th", { className: "num" }, "Interval"))),
    element("tbody", {}, points.map((one) => element("tr", {},
      element("td", { className: "num" }, String(one.cost)), element("td", { className: "num" }, String(one.asked)), element("td", { className: "num" }, marginText({ ...first, margin: one.margin }))))));
  box.replaceChildren(element("h3", {}, "Error against cost"), drawing, fold("The same as a table", table));
}

for (const link of document.querySelectorAll("#next, .steps a")) draft.guard(link);
draw();
