// Small ways to build the page: elements, words for numbers, and what a screen reader is told.

/** An element: make("button", {class: "main", onclick: f, "aria-pressed": "true"}, "text", child, ...). */
export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A probability as a reader wants it: one that is short of one is never called 100 %. */
export function percent(p) {
  if (p > 0.99 && p < 1) return `${Math.min(100 * p, 99.9).toFixed(1)}\u00a0%`;
  if (p > 0 && p < 0.005) return "<\u00a01\u00a0%";
  return `${Math.round(100 * p)}\u00a0%`;
}

export const bits = (amount) => `${amount.bits.toFixed(2)}\u00a0bits`;
export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
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
