// Bars that show how probable each class is.

import { leading, make } from "./dom.js";
import { percent, t } from "./words.js";

/** A list of bars. fixed: all classes in their own order; else the leading ones, and the rest in one line. side(name, best):
 * what stands beside a bar. */
export class Bars {
  constructor(label, { fixed = false, most = 8, side = null } = {}) {
    Object.assign(this, { fixed, most, side });
    this.list = make("ul", { class: side ? "bars with-side" : "bars", "aria-label": label });
    this.rest = make("p", { class: "quiet rest" });
    this.element = make("div", {}, this.list, this.rest);
    this.rows = new Map();
  }

  show(posterior) {
    const order = leading(posterior);
    // nobody leads while the first two are as good as each other
    const best = order.length > 1 && order[0].p - order[1].p < 1e-9 ? null : order[0].name;
    const shown = this.fixed ? Object.entries(posterior).map(([name, p]) => ({ name, p })) : order.slice(0, this.most);
    const wanted = shown.map((entry) => this.row(entry, entry.name === best));
    for (const [name, row] of this.rows) if (!wanted.includes(row.element)) (row.element.remove(), this.rows.delete(name));
    wanted.forEach((element, i) => this.list.children[i] !== element && this.list.insertBefore(element, this.list.children[i] ?? null));
    const others = order.slice(this.most).filter(() => !this.fixed);
    const left = others.reduce((sum, { p }) => sum + p, 0);
    this.rest.textContent = others.length ? t("page.bars.rest", { n: others.length, p: percent(left) }) : "";
    this.rest.hidden = !others.length;
  }

  row({ name, p }, best) {
    let row = this.rows.get(name);
    if (!row) {
      const fill = make("span", { class: "fill" });
      const value = make("span", { class: "value" });
      const aside = this.side ? make("span", { class: "side" }) : null;
      const element = make("li", {}, make("span", { class: "name" }, name), make("span", { class: "track", "aria-hidden": "true" }, fill), value, aside);
      row = { element, fill, value, aside };
      this.rows.set(name, row);
    }
    row.fill.style.setProperty("--p", String(p));
    row.value.textContent = percent(p);
    row.element.classList.toggle("best", best);
    if (row.aside) row.aside.replaceChildren(...[this.side(name, best)].filter(Boolean));
    return row.element;
  }
}
