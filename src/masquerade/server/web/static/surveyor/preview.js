// What participants see of a draft, drawn by the code that draws it for them.

import { actions, button as theirButton, heading, paragraph } from "../app/components.js";
import { nextPage, placesOn, readLayout } from "../app/pages.js";
import { pageView } from "../app/page_view.js";
import { words } from "../words/language.js";
import { asItOpens } from "./draft_pages.js";
import { participantForm, isDrawable } from "./questions.js";
import { said } from "./said.js";

export class Preview {
  /** `moved` is called with the place of the question to go to, or `{page}`, after a button. */
  constructor(main, moved) {
    this.main = main;
    this.moved = moved;
    this.answers = {};
    this.agreed = {};
    this.last = ""; // what was chosen, as text
  }

  /** Show a draft, perhaps `unmasked`, at the place of a question, or of a page `{page}`. */
  show(draft, place) {
    const asked = draft.questions[place];
    const read = this.#read(draft);
    const [part] = asked ? asItOpens({ questions: [asked] }).questions : []; // none of a matrix without rows
    if (!draft.questions.length && !draft.pages?.length) {
      return this.#draw("question", [paragraph(said("There is no question yet."), "muted")]);
    }
    if (!read || (asked && !(part && isDrawable(part)))) {
      return this.#draw("question", [paragraph(said("This question cannot be shown yet."), "muted")]);
    }
    const { questions, layout, drawn } = read;
    const at = typeof place === "object" ? drawn.indexOf(place.page) : pageWith(layout.pages, questions, asked?.id);
    if (at < 0 && draft.pages?.[place.page]) {
      const { heading: title } = draft.pages[place.page];
      return this.#draw("question", [title && heading(title, { dir: "auto" }), paragraph(said("Nothing is on this page yet."), "muted")]);
    }
    if (at < 0 || at >= layout.pages.length) return this.#end(draft, read);
    const known = {
      questions, answers: this.answers, images: layout.images, agreed: this.agreed,
      index: at, count: layout.pages.length,
      // What is being written is seen, whoever would be shown it.
      always: placesOn(layout.pages[at]).filter((one) => always(asked, questions[one])),
    };
    const move = (by) => this.#go(draft, read, nextPage(layout.pages, questions, this.answers, at, by));
    const view = pageView(layout.pages[at], known, {
      choose: ({ id }, code) => {
        if (code === null) delete this.answers[id];
        else this.answers[id] = code;
      },
      agree: (text, on) => {
        this.agreed[text] = on;
      },
      back: at > 0 ? () => move(-1) : null,
      next: () => move(1),
    });
    this.#draw("question", view);
    return this.#scroll(place, placesOn(layout.pages[at]).filter((one) => always(asked, questions[one])));
  }

  /** Show the question that was chosen just now, where it is not the first of its page. */
  #scroll(place, [first]) {
    const chosen = JSON.stringify(place);
    if (chosen === this.last) return;
    this.last = chosen;
    const field = this.main.querySelector(`#q${first}`);
    const { top = 0 } = field?.getBoundingClientRect() ?? {};
    globalThis.scrollTo(0, field ? top + globalThis.scrollY : 0);
  }

  /** Return the questions and pages of a draft, and the places of pages that show something; null where they do not go together yet. */
  #read(draft) {
    try {
      const opened = asItOpens(draft);
      const questions = opened.questions.map((one) => participantForm(one, draft.unmasked));
      const all = (opened.pages ?? []).map((page) => ({
        ...page, items: page.items.filter((item) => item.block !== "image" || draft.images[item.image]),
      }));
      const drawn = [...all.keys()].filter((at) => all[at].items.length);
      return { questions, drawn, layout: readLayout({ ...opened, pages: drawn.map((at) => all[at]) }, questions) };
    } catch {
      return null;
    }
  }

  /** Go to a page, by its first question where it has one. */
  #go(draft, read, at) {
    const { questions, layout, drawn } = read;
    if (at >= layout.pages.length) return this.#end(draft, read);
    if (at < 0) return this.moved(-1);
    const [first] = placesOn(layout.pages[at]);
    const id = first === undefined ? null : questions[first].of || questions[first].id;
    const place = draft.questions.findIndex((one) => one.id === id);
    return this.moved(place < 0 ? { page: drawn[at] } : place);
  }

  #end(draft, read) {
    const { seal, common } = words();
    const last = nextPage(read.layout.pages, read.questions, this.answers, read.layout.pages.length, -1);
    this.#draw("end", [
      heading(seal.title),
      paragraph(seal.once, "lead"),
      actions(theirButton("back", common.back, () => this.#go(draft, read, last), "")),
    ]);
  }

  #draw(view, elements) {
    this.main.dataset.view = view;
    this.main.replaceChildren(...elements.flat(Infinity).filter(Boolean));
  }
}

/** Return whether a question is of what is being written. */
const always = (asked, { id, of }) => Boolean(asked) && [id, of].includes(asked.id);

/** Return the place of the page on which a question stands; -1 after the last one. */
function pageWith(pages, questions, id) {
  return pages.findIndex((page) => placesOn(page).some((place) => questions[place].id === id));
}
