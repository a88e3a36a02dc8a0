// Building elements without markup in strings, so that no text is ever read as HTML.

/**
 * Return a new element. `properties` are set as properties where they exist (className, onclick,
 * …) and as attributes otherwise (aria-…, for). Children that are null or false are left out.
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

/**
 * Let a group of modules be loaded. Their hashes stand in a template of the page, so that no other
 * modules than these are run.
 */
export function allow(group) {
  const links = globalThis.document?.getElementById(group);
  if (links) document.head.append(links.content.cloneNode(true));
}
