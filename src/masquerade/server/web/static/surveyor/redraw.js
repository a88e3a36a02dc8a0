// Drawing a part of a page anew while somebody types in it: what has the focus stays where it is,
// with its caret, and everything around it is what it should be now.

const FOCUSABLE = "input, select, textarea, button, summary";

/** Let `container` show these nodes. */
export function redraw(container, nodes) {
  const fresh = container.cloneNode(false);
  fresh.append(...nodes.flat(Infinity).filter(Boolean));
  keepOpen(container, fresh);
  const focused = document.activeElement;
  if (!container.contains(focused) || container === focused) {
    container.replaceChildren(...fresh.childNodes);
    return;
  }
  const path = [];
  for (let node = focused; node !== container; node = node.parentElement) path.unshift(node);
  if (alike(container, fresh, path)) {
    weave(container, fresh, path);
    return;
  }
  const [place, key] = [[...container.querySelectorAll(FOCUSABLE)].indexOf(focused), focused.closest("[data-key]")?.dataset.key];
  const { selectionStart: from, selectionEnd: to } = focused;
  container.replaceChildren(...fresh.childNodes);
  const named = key && container.querySelector(`[data-key="${CSS.escape(key)}"] :is(${FOCUSABLE})`);
  const next = named || container.querySelectorAll(FOCUSABLE)[place];
  next?.focus({ preventScroll: true });
  if (next && typeof from === "number" && next.setSelectionRange) next.setSelectionRange(from, to);
}

/** What was unfolded stays unfolded. */
function keepOpen(container, fresh) {
  const open = [...container.querySelectorAll("details[open] > summary")].map(({ textContent }) => textContent);
  for (const summary of fresh.querySelectorAll("details > summary")) {
    if (open.includes(summary.textContent)) summary.parentElement.open = true;
  }
}

/** Return whether the way to the focused element is the same in both. */
function alike(old, fresh, path) {
  const [step, ...rest] = path;
  if (!step) return old.tagName === fresh.tagName && old.id === fresh.id;
  if (old.childNodes.length !== fresh.childNodes.length || old.tagName !== fresh.tagName) return false;
  return alike(step, fresh.childNodes[[...old.childNodes].indexOf(step)], rest);
}

function weave(old, fresh, path) {
  const [step, ...rest] = path;
  const others = [...fresh.childNodes];
  [...old.childNodes].forEach((node, place) => {
    const other = others[place];
    if (node !== step) {
      // A box to tick holds what it does from when it was drawn: it is drawn anew.
      const still = ["P", "LABEL", "LEGEND"].includes(node.tagName) && !node.querySelector("input");
      if (still && node.isEqualNode(other)) return;
      node.replaceWith(other);
    } else if (rest.length) {
      weave(node, other, rest);
    } else {
      for (const name of ["aria-invalid", "aria-current", "data-place"]) {
        if (other.hasAttribute(name)) node.setAttribute(name, other.getAttribute(name));
        else node.removeAttribute(name);
      }
      if (node.tagName === "BUTTON") {
        Object.assign(node, { onclick: other.onclick, onkeydown: other.onkeydown });
        node.replaceChildren(...other.childNodes);
      }
    }
  });
}
