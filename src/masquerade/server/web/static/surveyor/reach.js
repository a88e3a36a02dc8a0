// Who asks and who may answer: fields of the draft on the audience page.

import { element } from "../app/dom.js";
import { said } from "./said.js";
import { check, fold, numberField, selectField, textField } from "./fields.js";

const PHASES = [
  ["0", said("everybody with the link, once on each device")],
  ["1", said("people with a ticket, once")],
  ["2", said("people with a ticket: enrol until a day, answer from it on")],
];
const KEPT = {
  1: said("Nobody who steals the database can join a ticket with a response. Whoever runs the server can, by the time, because people exchange their ticket just before they answer."),
  2: said("Neither what is kept nor the time of enrolling joins a ticket with a response, also for whoever runs the server. People come twice, so fewer come."),
};

/** The cards of a draft that say how people are reached. */
export class ReachFields {
  #draft;
  #redraw;

  constructor(draft, redraw) {
    this.#draft = draft;
    this.#redraw = redraw;
  }

  fields() {
    return [this.#askers(), this.#tickets(), this.#panel()];
  }

  #text(name, label, more = {}) {
    const { document } = this.#draft;
    const faults = this.#draft.faults(`/${name}`);
    const change = (text) => {
      document[name] = text;
      this.#draft.touch(name);
    };
    return textField(label, document[name], change, { ...more, faults });
  }

  #askers() {
    return element("section", { className: "card" },
      element("h2", {}, said("First screen")),
      this.#text("asked_by", said("Who asks"), { hint: said("The name of a person or organisation.") }),
      this.#text("contact", said("Questions to"), { hint: said("An e-mail address, telephone number or web page.") }),
      this.#text("consent", said("What people agree to"), { lines: 5, hint: said("Empty: nothing is asked. Else nobody begins, and nothing is charged, before they agree.") }));
  }

  #tickets() {
    const { tickets, listed } = this.#draft.document;
    const change = (changes, again = false) => {
      Object.assign(tickets, changes);
      this.#draft.touch("tickets");
      if (again) this.#redraw();
    };
    const faults = this.#draft.faults("/tickets").concat(listed ? this.#draft.faults("/listed") : []);
    const day = element("input", {
      type: "date", id: "answers-from", value: tickets.answers_from ?? "",
      onchange: () => change({ answers_from: day.value || null }),
    });
    const dayField = element("div", { className: "field" },
      element("label", { htmlFor: "answers-from" }, said("People answer from")), day,
      ...this.#draft.faults("/tickets/answers_from").map((text) => element("p", { className: "error" }, text)));
    return element("section", { className: "card" },
      element("h2", {}, said("Who can take part")),
      selectField(said("Who"), String(tickets.phases), PHASES, (phases) => change({ phases: Number(phases) }, true), { faults }),
      tickets.phases > 0 && element("p", { className: "hint" }, KEPT[tickets.phases]),
      tickets.phases > 1 && dayField,
      tickets.phases > 0 && check(said("Remind only those who have not come"), tickets.watched, (watched) => change({ watched }), {
        hint: said("You then look whose ticket was used, and the first screen tells people so. Else a reminder goes to everybody."),
      }),
      tickets.phases > 0 && numberField(said("Wave"), tickets.wave, (wave) => change({ wave }), { whole: true, min: 1, max: 1000, hint: said("A number of this round, where you ask the same people several times.") }));
  }

  #panel() {
    const { panel, origins } = this.#draft.document;
    const change = (changes) => {
      Object.assign(panel, changes);
      this.#draft.touch("panel");
    };
    const faults = (name) => this.#draft.faults(`/panel/${name}`, { below: true });
    const names = (text) => text.split(/[\s,]+/).filter(Boolean);
    const address = (name, label, hint) =>
      textField(label, panel[name], (text) => change({ [name]: text.trim() }), { hint, faults: faults(name) });
    const asked = panel.parameters.length > 0 || panel.complete || origins.length > 0;
    const panelFields = fold(said("A panel, or a page of your own"),
      textField(said("Parameters that the panel sends along"), panel.parameters.join(", "), (text) => change({ parameters: names(text) }), {
        hint: said("As PROLIFIC_PID, STUDY_ID. The first names the person. They are kept beside the completion code, and never beside a response."),
        faults: faults("parameters"),
      }),
      address("complete", said("Address after sending"), said("{code} and {PROLIFIC_PID} stand for their values.")),
      address("screened_out", said("Address for who does not agree or cannot take part"), ""),
      address("full", said("Address for who comes too late"), ""),
      selectField(said("How people go there"), panel.method, [
        ["link", said("by a link (Prolific and most others)")],
        ["form", said("by a form (MTurk)")],
      ], (method) => change({ method })),
      textField(said("Pages that may show the survey"), origins.join("\n"), (text) => {
        this.#draft.document.origins = names(text);
        this.#draft.touch("origins");
      }, { lines: 2, hint: said("One a line, up to the host: https://example.org. No other page can show it within its own."), faults: this.#draft.faults("/origins", { below: true }) }));
    if (asked) panelFields.open = true;
    return element("section", { className: "card" }, element("h2", {}, said("Where people come from")), panelFields);
  }
}
