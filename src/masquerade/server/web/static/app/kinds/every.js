// Every kind of question, loaded at once: for the surveyors' pages. Written by tools/kinds.py from
// the modules of this folder. A kind is an object with
//
//   name       of the kind, in definitions
//   fields     of a definition, besides kind, id, text and show_if
//   texts      fields of a definition that people read, besides text: texts, or lists of texts
//   optional   fields that a definition leaves out where they are at the value given here
//   decides    whether the answer can decide which other questions are shown
//   cannotDecide  why it cannot, for whoever writes a survey; absent where it can
//   leaves(definition)           what conditions on it name: "labels", "interval" or "places"; the
//              first is usual
//   leafWords  words between a question and the labels that a condition names
//   ends(definition)             ends of a first interval
//   checkLeaf(question, leaf)    throws where a condition is none on answers to the question
//   meets(question, code, leaf)  whether an answer meets a condition; "no answer" meets none
//   decidingCodes(question, leaves)  codes, between them all that these conditions or masks tell
//              apart; null where there are too many to go through
//   shuffled(definition)  how many options, from the first on, may stand in any order; absent:
//              none. `asked.order` has the codes of all in the order in which they stand
//   crossable  whether two parties can count it in a cross table
//   form(definition)             the fields of the device's form, of any draft
//   check(definition, form)      throws `BrokenPromise` where it is no question of this kind
//   answers(question)            number of codes of answers, "prefer not to say" included
//   skipCode(question)           code of "prefer not to say"
//   maskedAnswers(question)      number of codes that a mask takes, where several answers have one
//   fits(question, device)       whether a mask is one for this kind
//   draw(place, answering)       elements in which an answer is given
//   group(question)              name of those that stand on one screen, or null
//   drawGroup(rows)              elements for all of them, each {place, answering}
//   missing(question, said)      sentence where somebody goes on without an answer
//   text(question, code, said)   name of an answer, and of a report unless there is sentText
//   sentText(question, report, said)  name of a report
//   maskedCode(question, code)   code that a mask takes: the place of the answer's label
//   split(question, {bins, summed})  how two parties add it up: see split_encoding.js

import { KINDS } from "./kinds.js";
import { kind as choice } from "./choice.js";
import { kind as comparison } from "./comparison.js";
import { kind as date } from "./date.js";
import { kind as matrix } from "./matrix.js";
import { kind as nps } from "./nps.js";
import { kind as number } from "./number.js";
import { kind as pair } from "./pair.js";
import { kind as ranking } from "./ranking.js";
import { kind as rating } from "./rating.js";
import { kind as several } from "./several.js";

for (const kind of [choice, comparison, date, matrix, nps, number, pair, ranking, rating, several]) KINDS.set(kind.name, kind);
