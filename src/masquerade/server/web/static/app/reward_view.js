// What people get for taking part: promised before they begin, shown once their reports have
// arrived.

import { element } from "./dom.js";
import { levelName } from "./level_view.js";
import { strengthOf } from "./strength.js";
import { paragraph } from "./components.js";
import { words } from "../words/language.js";

/** What a survey gives, before a level is chosen; null where it gives nothing. */
export function rewardPromise({ reward, levels }) {
  if (!reward) return null;
  const said = words().reward;
  const { amount } = words();
  const money = (name) => said.amount(amount(reward.amounts[name] ?? 0), reward.currency);
  const names = levels.map(({ name }) => name);
  const worth = names.some((name) => reward.amounts[name] > 0);
  const same = new Set(names.map((name) => reward.amounts[name])).size <= 1;
  return element(
    "section",
    { className: "card reward" },
    element("h2", {}, said.title),
    paragraph(said.code),
    worth &&
      (same
        ? element("p", { className: "sum", dir: "auto" }, money(names[0]))
        : element(
            "ul",
            {},
            levels.map(({ name, losses }) =>
              element("li", {}, said.at(money(name), levelName(strengthOf(losses)))),
            ),
          )),
    worth && !same && paragraph(said.tells, "hint"),
  );
}

/** What somebody got for the reports that have arrived. */
export function rewardReceipt({ reward, code }) {
  const said = words().reward;
  const { amount } = words();
  if (!code) return null;
  return element(
    "section",
    { className: "card reward", id: "reward" },
    element("h2", {}, said.yours),
    element("p", {}, element("code", { className: "sum", dir: "ltr" }, code)),
    reward?.amount > 0 &&
      element("p", { className: "sum", dir: "auto" }, said.amount(amount(reward.amount), reward.currency)),
    paragraph(said.codeHint, "hint"),
  );
}

