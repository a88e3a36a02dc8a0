// Whom people have to trust: the first question of a survey's audience. Both answers are shown with
// what they tell; the second needs a helper that approves the survey.

import { element } from "../app/dom.js";
import { kindOf } from "../app/kinds/kinds.js";
import { epsilonOfOrders, rhoLoss } from "../mechanisms/loss.js";
import { ask } from "./draft.js";
import { grouped, said } from "./said.js";
import { button, fold, group, numberField, selectField, textField } from "./fields.js";

const COSTS = [
  ["0.02", said("little")],
  ["0.1", said("some")],
  ["0.5", said("much")],
];
const MOST_TABLES = 20; // as the server takes them
const MOST_CROSSED = 4;
const DIGITS = 4; // of a fingerprint, compared at a time
const STANDING = {
  proposed: said("Waiting. Tell the helper’s operator that a survey waits on the helper’s page. Once they have approved it, look again."),
  approved: said("Approved. You can open the survey. A change of a question, the cost or the helper has to be approved again."),
  refused: said("Refused. Ask the helper’s operator why. Then change the survey, or ask again as it is."),
};
const NOT_ASKED = said("Not asked yet. When questions and terms are final, ask the helper to approve them; without it the survey cannot be opened.");
const BUTTONS = { proposed: said("Look again"), refused: said("Ask again") };

const CHANGED = said("You changed it since it was approved. Ask the helper to approve it as it is now; without it the survey cannot be opened.");
const AWAY = said("The server could not be reached.");

/** Return what the server said, as a sentence. */
const sentence = ({ detail = AWAY }) => detail.slice(0, 1).toUpperCase() + detail.slice(1);
/** Return the epsilon of a rho at one in a million, with one decimal, never below it. */
const epsilonText = (rho) =>
  grouped(Math.ceil(epsilonOfOrders(rhoLoss(Math.round(1e6 * rho))) / 1e5) / 10);
const hint = (text) => element("p", { className: "hint" }, text);

/** The fields of trust, on the page of the audience. */
export class TrustFields {
  /**
   * @param {object} draft
   * @param {() => void} redraw draws the page anew
   */
  constructor(draft, redraw) {
    Object.assign(this, { draft, redraw, helpers: null, standing: null, failure: "", pair: [] });
    Object.assign(this, { related: new Set(), tablesOpen: false });
    this.added = { address: "", token: "", fingerprint: "" };
    this.adding = { open: false, fault: "" };
  }

  get chosen() {
    return this.draft.document.trust === "two-parties";
  }

  get terms() {
    return this.draft.document.two_parties;
  }

  fields() {
    const { trusts = {} } = this.draft.known;
    const { helper, operator } = this.terms;
    const figure = (name) => (trusts[name] ? trusts[name].words : "–");
    const option = (name, title, text) => {
      const input = element("input", {
        type: "radio",
        name: "trust",
        value: name,
        checked: this.chosen === (name === "two-parties"),
        onchange: () => this.#choose(name),
      });
      const words = element(
        "span",
        {},
        element("b", {}, title),
        " ",
        element("b", { className: "figure" }, figure(name)),
        element("small", { className: "hint block" }, text),
      );
      return element("label", { className: "check" }, input, words);
    };
    const second = helper ? operator || helper : said("the second party");
    return group(
      said("Whom do people have to trust?"),
      option("device", said("Nobody: masks on the device."), said("Each answer is changed by chance before it is sent.")),
      option(
        "two-parties",
        said("Two parties."),
        said("Answers are split in two, one half for you and one for {second}. Nobody sees an answer if {second} and you do not put your halves together.", { second }),
      ),
      hint(said("Half the width of the first question’s 95 % interval, with the people you can reach.")),
      ...(this.chosen ? this.#terms() : []),
    );
  }

  #choose(trust) {
    this.draft.document.trust = trust;
    // Amounts and shares are of levels that the other trust does not have.
    Object.assign(this.draft.document.plan, { prices: {}, shares: {}, budget: null, reward: "none" });
    this.draft.touch("trust", "plan");
    this.redraw();
  }

  #change(changes, again = false) {
    Object.assign(this.terms, changes);
    // Another text, which nobody has approved.
    this.standing = { state: null, changed: this.standing?.changed || this.standing?.state === "approved" };
    this.draft.touch("two_parties");
    if (again) this.redraw();
  }

  #terms() {
    if (this.helpers === null) this.#load();
    const { helper, rho, minimum, fingerprint } = this.terms;
    const known = this.helpers ?? [];
    const digits = fingerprint.match(new RegExp(`.{${DIGITS}}`, "g"))?.join(" ");
    const costs = COSTS.some(([value]) => value === rho) ? COSTS : [...COSTS, [rho, said("chosen in the file")]];
    const faults = ["/two_parties", "/two_parties/helper"].flatMap((place) => this.draft.faults(place));
    return [
      selectField(
        said("Second party"),
        helper,
        [["", said("choose a helper")], ...known.map((one) => [one.address, `${one.operator}, ${one.address}`])],
        (address) => {
          const { operator = "", fingerprint: key = "" } = known.find((one) => one.address === address) ?? {};
          this.#change({ helper: address, operator, fingerprint: key }, true);
        },
        { faults: helper ? faults : [said("Choose a helper, or add one below.")] },
      ),
      digits && element("p", {}, said("Its fingerprint, which people are shown: "), element("code", {}, digits)),
      this.#adding(),
      selectField(
        said("Privacy that taking part may cost"),
        rho,
        costs.map(([value, words]) => [value, said("{cost}: rho {rho}, epsilon {epsilon}", { cost: words, rho: Number(value), epsilon: epsilonText(value) })]),
        (value) => this.#change({ rho: value }),
        { hint: said("More cost means less noise. The price is the same for everybody.") },
      ),
      numberField(said("Show no sum of fewer people than"), minimum, (count) => this.#change({ minimum: count }), { whole: true, min: 2, max: 1000000 }),
      this.#tables(),
      this.#approval(),
    ];
  }

  /** Ask the server how the helper stands to the draft as it is here: it is saved first. */
  async #ask(method, query = "") {
    if (!this.terms.helper || !(await this.draft.flush())) return { ok: false, data: { detail: "" } };
    return ask(method, `${this.draft.path}/helper${query}`);
  }

  async #load() {
    this.helpers = [];
    const [helpers, standing] = await Promise.all([
      ask("GET", "/api/v1/helpers"),
      this.#ask("GET"),
    ]);
    if (helpers.ok) this.helpers = helpers.data.helpers;
    if (standing.ok) this.standing = standing.data;
    this.redraw();
  }

  #adding() {
    const { fault } = this.adding;
    const wrong = ["fingerprint", "token"].find((name) => fault.includes(name)) ?? "address";
    const field = (label, name, hintText) =>
      textField(label, this.added[name], (text) => (this.added[name] = text.trim()), {
        hint: hintText,
        faults: fault && name === wrong ? [fault] : [],
      });
    const adding = fold(
      said("Add a helper"),
      hint(said("Somebody else runs it, with masquerade helper, and gives you these three by phone or letter.")),
      field(said("Address"), "address", said("Such as https://helper.example.org")),
      field(said("Fingerprint"), "fingerprint", said("32 digits. They show that nobody put another key in between.")),
      field(said("Token"), "token", said("By it the helper knows this server.")),
      button(said("Add"), async () => {
        const answer = await ask("POST", "/api/v1/helpers", this.added);
        this.adding.fault = answer.ok ? "" : sentence(answer.data);
        if (!answer.ok) {
          this.redraw();
          return document.querySelector("#adding [aria-invalid]").focus();
        }
        this.adding.open = false;
        const { address, operator, fingerprint } = answer.data;
        this.helpers = null;
        return this.#change({ helper: address, operator, fingerprint }, true);
      }),
    );
    adding.id = "adding";
    adding.open = this.adding.open;
    adding.addEventListener("toggle", () => (this.adding.open = adding.open));
    return adding;
  }

  /** Two questions whose answers are counted together: nothing else can be crossed later. */
  #tables() {
    const questions = this.draft.document.questions.filter((question) => kindOf(question).crossable);
    const named = (id) => questions.find((one) => one.id === id)?.text || id;
    const { cross } = this.terms;
    const choose = (place) =>
      selectField(place ? said("by") : said("Count"), this.pair[place] ?? "", [["", said("a question")], ...questions.map(({ id, text }) => [id, text || id])], (id) => {
        this.pair[place] = id;
      });
    const tables = fold(
      said("Cross tables ({count})", { count: cross.length }),
      hint(said("Single answers are nowhere, so tables have to be declared now. Each adds noise to everything.")),
      element("ul", {}, cross.map((pair, place) =>
        element("li", {}, pair.map(named).join(" × "), " ",
          button(said("Remove"), () => this.#change({ cross: cross.filter((_, other) => other !== place) }, true), { label: said("Remove {table}", { table: pair.map(named).join(" × ") }) })))),
      choose(0),
      choose(1),
      button(said("Add the table"), () => {
        const [first, second] = this.pair;
        if (!first || !second || first === second) return;
        this.pair = [];
        this.#change({ cross: [...cross, [first, second]] }, true);
      }),
      this.#relations(questions),
    );
    tables.open = this.tablesOpen;
    tables.addEventListener("toggle", () => (this.tablesOpen = tables.open));
    return tables;
  }

  /** Questions whose answers are to be related later: that needs the table of every pair of them. */
  #relations(questions) {
    const status = element("p", { role: "status" });
    const declare = button(said("Declare these relations"), () =>
      this.#change({ cross: [...this.terms.cross, ...this.#undeclared(questions)] }, true));
    const update = () => {
      const { words, wrong, open } = this.#relationsCost(this.#undeclared(questions).length);
      Object.assign(status, { textContent: words, className: wrong ? "error" : "" });
      declare.disabled = !open;
      const size = this.#related(questions).length;
      together.disabled = size < 2 || size > MOST_CROSSED || this.terms.cross.length >= MOST_TABLES;
    };
    const together = button(said("Declare one table of them all"), () =>
      this.#change({ cross: [...this.terms.cross, this.#related(questions)] }, true));
    update();
    return group(
      said("Relations between"),
      hint(said("Correlations and regressions need a table of every pair. Answers count by their numbers, and of two labels as 0 and 1; questions of more labels, and those that may be skipped, have none. One table of two to four questions lets any of them be explained by the others in odds, whatever their answers; it has a count for each combination of answers, so it needs more people.")),
      ...questions.map(({ id, text }) => {
        const onchange = ({ target }) => {
          this.related[target.checked ? "add" : "delete"](id);
          update();
        };
        const input = element("input", { type: "checkbox", checked: this.related.has(id), onchange });
        return element("label", { className: "check" }, input, element("span", {}, text || id));
      }),
      status,
      declare,
      together,
    );
  }

  /** Return the ids of the questions to relate. */
  #related(questions) {
    return questions.map(({ id }) => id).filter((id) => this.related.has(id));
  }

  /** Return the pairs of the questions to relate that are no tables yet. */
  #undeclared(questions) {
    const chosen = this.#related(questions);
    return chosen
      .flatMap((first, place) => chosen.slice(place + 1).map((second) => [first, second]))
      .filter((pair) =>
        !this.terms.cross.some((known) => known.length === 2 && pair.every((id) => known.includes(id))));
  }

  /** Return what more tables cost, in words, and whether they can be declared. */
  #relationsCost(more) {
    const { cross } = this.terms;
    if (!more) return { words: this.related.size > 1 ? said("All pairs of these are declared.") : said("Choose two or more.") };
    const all = cross.length + more;
    if (all > MOST_TABLES) {
      return { words: said("{count} tables would be declared, and a survey has at most {most}. Choose fewer questions.", { count: all, most: MOST_TABLES }), wrong: true };
    }
    // Each block has about an equal part of rho, so that the spread of noise grows with their root.
    const blocks = this.draft.document.questions.length + cross.length;
    const larger = Math.round(100 * (Math.sqrt(1 + more / blocks) - 1));
    const words = more === 1
      ? said("1 more table: the noise on every count is about {percent} % larger.", { percent: larger })
      : said("{count} more tables: the noise on every count is about {percent} % larger.", { count: more, percent: larger });
    return { words, open: true };
  }

  #approval() {
    const state = this.standing?.state;
    const asked = async () => {
      const answer = await this.#ask("POST", state === "refused" ? "?again=true" : "");
      if (answer.ok) this.standing = answer.data;
      this.failure = answer.ok ? "" : sentence(answer.data);
      this.redraw();
    };
    const none = this.standing?.changed ? CHANGED : NOT_ASKED;
    return group(
      said("The helper’s approval"),
      element("p", { role: "status" }, STANDING[state] ?? none),
      this.failure && element("p", { className: "error", role: "alert" }, this.failure),
      state !== "approved" && button(BUTTONS[state] ?? said("Ask the helper"), asked, { disabled: !this.terms.helper }),
    );
  }
}
