// A comfort for pages of results: what can be pasted is copied.
// All figures and charts are there without it.

import { said } from "./said.js";

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue; // over plain http
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).innerText.trim();
    const before = button.textContent;
    await navigator.clipboard.writeText(text);
    button.textContent = said("Copied");
    setTimeout(() => {
      button.textContent = before;
    }, 2000);
  });
}

const menus = [...document.querySelectorAll("details.menu")];
document.addEventListener("click", ({ target }) => {
  for (const menu of menus) if (!menu.contains(target)) menu.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const menu of menus) {
    if (!menu.open) continue;
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
