// Every kind of question, loaded at once: for the surveyors' pages. Written by tools/kinds.py from
// the modules of this folder.

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
