// Small ways to build the page: elements, and what a screen reader is told.

/** An element: make("button", {class: "main", onclick: f, "aria-pressed": "true"}, "text", child, ...). */
export function make(tag, options = {}, ...children) {
  return fill(document.createElement(tag), options, children);
}

/** The same for a picture. */
export function draw(tag, options = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), options, children);
}

function fill(element, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const button = (words, act, options = {}) => make("button", { type: "button", onclick: act, ...options }, words);
export const key = (name) => make("kbd", { "aria-hidden": "true" }, name);
export const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The classes by probability, largest first. */
export function leading(posterior, n = Infinity) {
  const order = Object.entries(posterior).map(([name, p]) => ({ name, p }));
  return order.sort((a, b) => b.p - a.p).slice(0, n);
}

/** Tell a screen reader; the same words twice are told twice. */
export function tell(words) {
  const live = document.getElementById("live");
  live.textContent = live.textContent === words ? `${words}\u00a0` : words;
}
