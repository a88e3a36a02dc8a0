// What people get for taking part: promised before they begin, shown once their reports have
// arrived, and asked for where it is an amount.

import { element } from "./dom.js";
import { levelName } from "./level_view.js";
import { strengthOf } from "./strength.js";
import { actions, button, paragraph, userText } from "./components.js";
import { words } from "../words/language.js";

/** What a survey gives, before a level is chosen; null where it gives nothing. */
export function rewardPromise({ reward, levels }) {
  if (!reward) return null;
  const said = words().reward;
  const { amount } = words();
  const money = (name) => said.amount(amount(reward.amounts[name] ?? 0), reward.currency);
  const names = levels.map(({ name }) => name);
  const same = new Set(names.map((name) => reward.amounts[name])).size <= 1;
  return element(
    "section",
    { className: "card reward" },
    element("h2", {}, said.title),
    reward.kind === "codes" && paragraph(said.code),
    reward.kind === "wallet" &&
      (same
        ? element("p", { className: "sum", dir: "auto" }, money(names[0]))
        : element(
            "ul",
            {},
            levels.map(({ name, losses }) =>
              element("li", {}, said.at(money(name), levelName(strengthOf(losses)))),
            ),
          )),
    reward.kind === "wallet" && paragraph(said.whatever, "hint"),
  );
}

/** What somebody got for the reports that have arrived. */
export function rewardReceipt({ paid, code }) {
  const said = words().reward;
  const { amount } = words();
  if (!code && !(paid?.amount > 0)) return null;
  return element(
    "section",
    { className: "card reward", id: "reward" },
    element("h2", {}, said.yours),
    code && element("p", {}, element("code", { className: "sum", dir: "ltr" }, code)),
    code && paragraph(said.codeHint, "hint"),
    paid?.amount > 0 &&
      element("p", { className: "sum", dir: "auto" }, said.amount(amount(paid.amount), paid.currency)),
    paid?.amount > 0 && paragraph(said.paidHint, "hint"),
  );
}

/**
 * What teams owe this person, and what they asked to be paid.
 *
 * @param {{wallets: object[], payouts: object[]}} held
 * @param {{ask: Function, takeBack: Function}} answering
 */
export function wallets({ wallets: owed, payouts }, { ask, takeBack }) {
  const said = words().reward;
  const { amount, day } = words();
  return [
    paragraph(said.walletText),
    owed.map((one, place) => {
      const field = element("input", {
        id: `pay-to-${place}`,
        type: "text",
        autocomplete: "off",
        maxLength: 300,
        dir: "auto",
      });
      return [
        element(
          "p",
          { className: "sum", dir: "auto" },
          said.owed(said.amount(amount(one.balance), one.currency), one.name),
        ),
        one.balance > 0 && [
          element(
            "div",
            { className: "field" },
            element("label", { htmlFor: field.id }, said.payTo),
            field,
            paragraph(said.payToHint, "hint"),
          ),
          actions(button(`ask-${place}`, said.ask, () => ask(one, field.value), "")),
        ],
      ];
    }),
    payouts.length > 0 && element("h3", {}, said.payouts),
    payouts.length > 0 &&
      element(
        "ul",
        { className: "payouts" },
        payouts.map((one) =>
          element(
            "li",
            {},
            element("strong", { dir: "auto" }, said.amount(amount(one.amount), one.currency)),
            element(
              "span",
              { className: "facts-line muted" },
              element("span", {}, said.states[one.state] ?? ""),
              element("span", {}, day(one.day)),
              one.destination && userText(one.destination),
            ),
            ["asked", "refused"].includes(one.state) &&
              button(`back-${one.id}`, said.takeBack, () => takeBack(one), ""),
          ),
        ),
      ),
  ];
}
