// The privacy battery: how much of a lifetime's privacy is left.

import { ownPath } from "./components.js";
import { element } from "./dom.js";
import { words } from "../words/language.js";

/** Return the battery; it leads to the ledger unless `still`. */
export function battery(state, { still = false } = {}) {
  if (!state) return null;
  const left = Math.max(0, Math.min(100, Math.floor(Number(state.percent_left))));
  const { battery: said, amount } = words();
  const inside = [
    element(
      "span",
      { className: "battery-case", "aria-hidden": "true" },
      element("progress", { max: 100, value: left, className: left < 20 ? "low" : "" }),
    ),
    element(
      "span",
      { className: "battery-text" },
      element("strong", {}, said.left(left)),
      element("small", {}, said.spent(amount(state.epsilon_spent), amount(state.epsilon_cap))),
    ),
  ];
  if (still) return element("div", { className: "battery" }, inside);
  return element("a", { className: "battery", href: ownPath("/me/ledger") }, inside);
}
