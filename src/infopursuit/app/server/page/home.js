// The choice at the start: draw, play, a case, or a table of one's own.

import { button, capital, make } from "./dom.js";
import { performance } from "./performance.js";
import { split } from "./rows.js";
import { client } from "./server.js";
import { t } from "./words.js";

const LARGEST = 5 * 2 ** 20;

export class HomeView {
  constructor(root, { drawn, games, cases, fit }) {
    Object.assign(this, { root, title: "infopursuit" });
    const card = (title, text, to) => make("a", { class: "card choice", href: to }, make("h2", {}, title), make("p", { class: "quiet" }, text), make("span", { class: "go" }, t("page.home.open")));
    const own = fit
      ? card(t("page.home.own"), t("page.home.own_text"), "#fit")
      : make("div", { class: "card choice" }, make("h2", {}, t("page.home.own")), make("p", { class: "quiet" }, t("page.home.own_command")), make("pre", {}, make("code", {}, "infopursuit fit table.csv --label diagnosis --out model\ninfopursuit serve model")));
    root.append(
      make("div", { class: "intro" }, make("h1", { id: "home-title" }, t("page.home")), make("p", {}, t("page.home.intro"))),
      make("div", { class: "choices" },
        cases.map((model) => card(`${t("page.case")}: ${capital(model.name)}`, model.summary, `#case/${encodeURIComponent(model.name)}`)),
        drawn.length ? card(t("page.draw"), t("page.draw.intro"), "#draw") : null,
        games.filter(({ image }) => !image).map((model) => card(`${t("page.ask")}: ${capital(model.name)}`, model.summary, `#ask/${encodeURIComponent(model.name)}`)), own));
  }

  open() {}

  close() {}
}

/** A table of one's own: chosen here, fitted on the server. */
export class FitView {
  constructor(root, attempt) {
    Object.assign(this, { root, attempt, title: t("page.home.own"), table: "" });
    this.file = make("input", { type: "file", id: "fit-file", accept: ".csv,.tsv,.txt", required: true, onchange: () => this.read() });
    this.label = make("select", { id: "fit-label", required: true });
    this.status = make("div", { class: "fit-status", role: "status" });
    this.send = make("button", { type: "submit", class: "main", disabled: true }, t("page.fit.start"));
    this.root.append(make("form", { class: "card token", onsubmit: (event) => { event.preventDefault(); this.fit(); } },
      make("h1", { id: "fit-title" }, t("page.home.own")), make("p", { class: "quiet" }, t("page.fit.hint")),
      make("label", { for: "fit-file" }, t("page.fit.file")), this.file, make("label", { for: "fit-label" }, t("page.fit.label")), this.label,
      make("div", { class: "buttons" }, this.send), this.status));
  }

  open() {}

  close() {}

  async read() {
    const [file] = this.file.files;
    this.table = file && file.size <= LARGEST ? await file.text() : "";
    const rows = split(this.table);
    this.label.replaceChildren(...(rows[0] ?? []).map((name) => make("option", { value: name }, name)));
    this.label.selectedIndex = (rows[0]?.length ?? 0) - 1;
    this.send.disabled = rows.length < 2;
    this.status.textContent = this.table ? t("page.fit.size", { rows: rows.length - 1, columns: rows[0].length }) : t("page.fit.too_large");
  }

  async fit() {
    this.send.disabled = true;
    this.status.textContent = t("page.fit.wait");
    // semicolons between cells become commas, as the server has them
    const first = this.table.split("\n", 1)[0];
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    const table = first.includes("\t") || !first.includes(";") ? this.table : split(this.table).map((row) => row.map(quoted).join(",")).join("\n");
    const found = await this.attempt(() => client.fit(table, this.label.value));
    this.send.disabled = false;
    this.status.textContent = "";
    if (!found) return;
    const open = button(t("page.fit.open"), () => { location.hash = `case/${encodeURIComponent(found.model.name)}`; }, { class: "main" });
    this.status.append(
      make("div", { class: "performance" }, performance(found.performance, this.label.value)), make("div", { class: "buttons" }, open),
      make("details", {}, make("summary", {}, t("page.details")), make("pre", { tabindex: "0" }, found.told.trim())));
    open.focus();
  }
}
