// Who asks and who may answer: fields of the draft on the audience page.

import { element } from "../app/dom.js";
import { check, fold, numberField, selectField, textField } from "./fields.js";

const PHASES = [
  ["0", "everybody with the link, once on each device"],
  ["1", "people with a ticket, once"],
  ["2", "people with a ticket: enrol until a day, answer from it on"],
];
const KEPT = {
  1: "Nobody who steals the database can join a ticket with a response. Whoever runs the server can, by the time, because people exchange their ticket just before they answer.",
  2: "Neither what is kept nor the time of enrolling joins a ticket with a response, also for whoever runs the server. People come twice, so fewer come.",
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
      element("h2", {}, "First screen"),
      this.#text("asked_by", "Who asks", { hint: "The name of a person or organisation." }),
      this.#text("contact", "Questions to", { hint: "An e-mail address, telephone number or web page." }),
      this.#text("consent", "What people agree to", { lines: 5, hint: "Empty: nothing is asked. Else nobody begins, and nothing is charged, before they agree." }));
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
      element("label", { htmlFor: "answers-from" }, "People answer from"), day,
      ...this.#draft.faults("/tickets/answers_from").map((text) => element("p", { className: "error" }, text)));
    return element("section", { className: "card" },
      element("h2", {}, "Who can take part"),
      selectField("Who", String(tickets.phases), PHASES, (phases) => change({ phases: Number(phases) }, true), { faults }),
      tickets.phases > 0 && element("p", { className: "hint" }, KEPT[tickets.phases]),
      tickets.phases > 1 && dayField,
      tickets.phases > 0 && check("Remind only those who have not come", tickets.watched, (watched) => change({ watched }), {
        hint: "You then look whose ticket was used, and the first screen tells people so. Else a reminder goes to everybody.",
      }),
      tickets.phases > 0 && numberField("Wave", tickets.wave, (wave) => change({ wave }), { whole: true, min: 1, max: 1000, hint: "A number of this round, where you ask the same people several times." }));
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
    const panelFields = fold("A panel, or a page of your own",
      textField("Parameters that the panel sends along", panel.parameters.join(", "), (text) => change({ parameters: names(text) }), {
        hint: "As PROLIFIC_PID, STUDY_ID. The first names the person. They are kept beside the completion code, and never beside a response.",
        faults: faults("parameters"),
      }),
      address("complete", "Address after sending", "{code} and {PROLIFIC_PID} stand for their values."),
      address("screened_out", "Address for who does not agree or cannot take part", ""),
      address("full", "Address for who comes too late", ""),
      selectField("How people go there", panel.method, [
        ["link", "by a link (Prolific and most others)"],
        ["form", "by a form (MTurk)"],
      ], (method) => change({ method })),
      textField("Pages that may show the survey", origins.join("\n"), (text) => {
        this.#draft.document.origins = names(text);
        this.#draft.touch("origins");
      }, { lines: 2, hint: "One a line, up to the host: https://example.org. No other page can show it within its own.", faults: this.#draft.faults("/origins", { below: true }) }));
    if (asked) panelFields.open = true;
    return element("section", { className: "card" }, element("h2", {}, "Where people come from"), panelFields);
  }
}
