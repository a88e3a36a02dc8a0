// What participants see of a draft's questions, drawn by the code that draws it for them.

import { actions, button as theirButton, heading, paragraph } from "../app/components.js";
import { questionView } from "../app/question_view.js";
import { nextVisible } from "../app/conditions.js";
import { words } from "../words/language.js";
import { participantForm, isDrawable } from "./questions.js";

export class Preview {
  /** `moved` is called with the place of the question to go to after a press of a button. */
  constructor(main, moved) {
    this.main = main;
    this.moved = moved;
    this.answers = {};
  }

  show(questions, place) {
    const question = questions[place];
    if (!question) return this.#end(questions);
    if (!isDrawable(question)) {
      return this.#draw("question", [paragraph("This question cannot be shown yet.", "muted")]);
    }
    const asked = participantForm(question);
    const all = questions.map(participantForm);
    const move = (by) => {
      const next = nextVisible(all, this.answers, place, by);
      if (next >= questions.length) this.#end(questions);
      else this.moved(next);
    };
    const view = questionView(
      { asked, index: place, count: questions.length, chosen: this.answers[asked.id] },
      {
        choose: (code) => {
          if (code === null) delete this.answers[asked.id];
          else this.answers[asked.id] = code;
        },
        back: place > 0 ? () => move(-1) : null,
        next: () => move(1),
      },
    );
    return this.#draw("question", view);
  }

  #end(questions) {
    const { seal, common } = words();
    const back = () => this.moved(nextVisible(questions.map(participantForm), this.answers, questions.length, -1));
    this.#draw("end", [
      heading(seal.title),
      paragraph(seal.once, "lead"),
      actions(theirButton("back", common.back, back, "")),
    ]);
  }

  #draw(view, elements) {
    this.main.dataset.view = view;
    this.main.replaceChildren(...elements.flat(Infinity).filter(Boolean));
  }
}
