// The phone beside the builder: what participants see, drawn by the code that draws it for them.

import { button as theirButton, heading, paragraph } from "../pieces.js";
import { element } from "../dom.js";
import { questionView } from "../questionview.js";
import { nextShown } from "../shown.js";
import { words } from "../words.js";
import { asAsked, canBeShown } from "./questions.js";

export class Preview {
  /** `moved` is called with the place of the question that is shown after a press of a button. */
  constructor(screen, moved) {
    this.screen = screen;
    this.moved = moved;
    this.answers = {};
  }

  show(questions, place) {
    const question = questions[place];
    if (!question) return this.#end(questions, place);
    if (!canBeShown(question)) {
      this.screen.replaceChildren(paragraph("This question cannot be shown yet.", "muted"));
      return;
    }
    const asked = asAsked(question);
    const all = questions.map(asAsked);
    const move = (by) => {
      const next = nextShown(all, this.answers, place, by);
      if (next >= questions.length) this.show(questions, next);
      else if (next >= 0) this.moved(next);
    };
    const count = questions.length;
    const chosen = this.answers[asked.id];
    const view = questionView({ asked, index: place, count, chosen }, {
      choose: (code) => {
        if (code === null) delete this.answers[asked.id];
        else this.answers[asked.id] = code;
      },
      back: place > 0 ? () => move(-1) : null,
      next: () => move(1),
    });
    this.screen.replaceChildren(...view.flat(Infinity).filter(Boolean));
    this.#quiet();
  }

  #end(questions, place) {
    const { seal, common } = words();
    this.screen.replaceChildren(
      heading(seal.title),
      paragraph(seal.once, "lead"),
      element(
        "div",
        { className: "actions" },
        theirButton("back", common.back, () => this.moved(Math.max(0, place - 1)), ""),
      ),
    );
    this.#quiet();
  }

  /** The page has its own first heading; this one is a part of it. */
  #quiet() {
    for (const title of this.screen.querySelectorAll("h1")) {
      title.setAttribute("aria-level", "2");
      title.setAttribute("role", "heading");
    }
  }
}
