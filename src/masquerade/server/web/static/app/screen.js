// The page around the views: what is shown, what has the focus, what is said aloud.

import { ownPath } from "./components.js";
import { element } from "./dom.js";
import { LANGUAGES, words } from "../words/language.js";

const PAGES = [
  ["/me", "home"],
  ["/me/ledger", "ledger"],
  ["/me/settings", "settings"],
];

export class Screen {
  constructor(page = document) {
    this.page = page;
    this.main = page.querySelector("main");
    this.announcement = page.getElementById("announcement");
  }

  /** Write the frame in the language spoken now; `prefer` is called with the code of another. */
  frame(path, prefer) {
    const { frame, code, direction } = words();
    const root = this.page.documentElement;
    root.lang = code;
    root.dir = direction;
    const { plain, about } = words();
    const pages = PAGES.map(([href, name]) => [href, frame[name]]);
    const further = [
      ["/me/plain", plain.title],
      ["/me/about", about.short],
    ];
    this.#links("pages", frame.pages, pages, path);
    this.#links("further", frame.further, further, path);
    const skip = this.page.getElementById("skip");
    skip.textContent = frame.skip;
    skip.onclick = (event) => {
      event.preventDefault(); // or the browser takes the focus away again
      this.main.querySelector("h1")?.focus();
    };
    const others = LANGUAGES.filter((language) => language.code !== code);
    this.page.getElementById("languages").replaceChildren(
      ...others.map((language) =>
        element(
          "button",
          {
            type: "button",
            className: "button quiet",
            lang: language.code,
            dir: language.direction,
            onclick: () => prefer(language.code),
          },
          language.name,
        ),
      ),
    );
  }

  #links(id, name, pages, path) {
    const here = (href) => (href === path ? { "aria-current": "page" } : {});
    const nav = this.page.getElementById(id);
    nav.setAttribute("aria-label", name);
    nav.replaceChildren(
      ...pages.map(([href, text]) => element("a", { href: ownPath(href), ...here(href) }, text)),
    );
  }

  show(name, elements, { focus = true } = {}) {
    this.main.dataset.view = name;
    this.main.replaceChildren(...elements.flat(Infinity).filter(Boolean));
    this.announcement.textContent = "";
    this.page.title = `${this.main.querySelector("h1")?.textContent ?? ""} · Masquerade`;
    if (!focus) return;
    globalThis.scrollTo(0, 0);
    this.main.querySelector("h1")?.focus({ preventScroll: true });
  }

  /** Say something to eyes and screen readers alike; `good` where nothing is amiss. */
  announce(text, { good = false } = {}) {
    this.announcement.textContent = "";
    this.announcement.classList.toggle("good", good);
    if (!text) return;
    requestAnimationFrame(() => {
      this.announcement.textContent = text;
    });
  }

  focus(selector) {
    const found = this.page.querySelector(selector);
    found?.scrollIntoView({ block: "nearest" });
    found?.focus({ preventScroll: true });
  }

  /** Show that a pressed button is at work. */
  busy(id, text) {
    const pressed = this.page.getElementById(id);
    if (!pressed) return;
    pressed.disabled = true;
    pressed.textContent = text;
  }
}
