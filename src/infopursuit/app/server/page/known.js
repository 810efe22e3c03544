// What is known of a case before the first question: a form of all columns, filled by hand or from a pasted or uploaded row.

import { button, make } from "./dom.js";
import { readRow, typed } from "./rows.js";
import { t } from "./words.js";

const LARGEST = 2 ** 20;

export class KnownForm {
  /** use({column: value}) is called when the values are to be used. */
  constructor(use) {
    this.use = use;
    this.columns = new Map();
    this.count = make("span", { class: "quiet" });
    this.status = make("p", { class: "quiet", role: "status" });
    this.grid = make("div", { class: "known-grid" });
    this.text = make("textarea", { rows: "3", spellcheck: "false", "aria-label": t("page.known.paste"), placeholder: t("page.known.paste"), oninput: () => this.paste(this.text.value) });
    this.file = make("input", { type: "file", accept: ".csv,.tsv,.json,.txt", "aria-label": t("page.known.file"), onchange: () => this.upload() });
    const send = (event) => { event.preventDefault(); this.use(this.values()); };
    this.element = make("details", { class: "card known" },
      make("summary", {}, make("b", {}, t("page.known")), " ", this.count),
      make("p", { class: "quiet" }, t("page.known.hint")),
      make("div", { class: "known-row" }, this.text, this.file), this.status,
      make("form", { onsubmit: send }, this.grid, make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, t("page.known.use")), button(t("page.known.clear"), () => { this.clear(); this.use({}); }))));
  }

  /** The columns of a model; one that several questions are about is typed as it is in a table. */
  offer(queries) {
    this.columns.clear();
    for (const each of queries) if (!each.components) this.columns.set(each.column, this.columns.has(each.column) ? null : each);
    this.inputs = new Map([...this.columns].map(([name, question]) => [name, this.input(name, question)]));
    this.grid.replaceChildren(...[...this.inputs].map(([name, input]) => {
      const number = this.columns.get(name)?.number;
      return make("label", {}, make("span", {}, name, number?.unit ? ` (${number.unit})` : ""), input);
    }));
  }

  /** Under which name a question's answer is known. */
  keyOf(question) {
    return this.columns.get(question.column) ? question.column : question.name;
  }

  input(name, question) {
    if (question?.choices && !question.number) {
      return make("select", {}, make("option", { value: "" }, "–"), question.choices.map((choice, i) => make("option", { value: choice }, question.labels[i])));
    }
    const number = question?.number;
    return make("input", { type: number?.date ? "date" : "text", inputmode: number && !number.date ? "decimal" : null, autocomplete: "off" });
  }

  values() {
    return Object.fromEntries([...this.inputs].filter(([, input]) => input.value.trim() !== "").map(([name, input]) => [name, typed(input.value, this.columns.get(name))]));
  }

  show(known) {
    const n = Object.keys(known).length;
    this.count.textContent = n ? t("page.known.count", { n }) : "";
    if (n && !Object.keys(this.values()).length) this.fill(known);
  }

  fill(known) {
    for (const [name, value] of Object.entries(known)) {
      const input = this.inputs.get(name);
      const match = input?.options ? [...input.options].find((option) => option.value.toLowerCase() === String(value).toLowerCase() || (option.value === "yes" && /^(1|true|y)$/i.test(value)) || (option.value === "no" && /^(0|false|n)$/i.test(value))) : null;
      if (input) input.value = input.options ? match?.value ?? "" : String(value);
    }
  }

  clear() {
    for (const input of this.inputs.values()) input.value = "";
    this.text.value = this.status.textContent = "";
  }

  paste(text) {
    if (!text.trim()) return;
    try {
      const { known, strange, rows } = readRow(text, this.columns);
      this.fill(known);
      const parts = [t("page.known.found", { n: Object.keys(known).length, all: this.columns.size })];
      if (rows > 1) parts.push(t("page.known.first_row", { n: rows }));
      if (strange.length) parts.push(t("page.known.strange", { names: strange.slice(0, 6).join(t("comma")) }));
      this.status.textContent = parts.join(" ");
    } catch {
      this.status.textContent = t("page.known.unreadable");
    }
  }

  async upload() {
    const [file] = this.file.files;
    if (!file) return;
    this.text.value = file.size > LARGEST ? "" : await file.text();
    if (file.size > LARGEST) this.status.textContent = t("page.known.too_large");
    else this.paste(this.text.value);
  }
}
