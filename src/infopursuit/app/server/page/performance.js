// How often a model is right: a sentence, and on demand recall and precision of each class and the confusion matrix.

import { make } from "./dom.js";
import { number, t, unbroken, whole } from "./words.js";

const share = (p) => (p === null ? "–" : t("percent", { p: number((100 * p).toFixed(1)) }));
const weight = (rows) => (rows === null ? "–" : Number.isInteger(rows) ? whole(rows) : number(rows.toFixed(1)));

/** The elements that show `performance` of a model, none where it is null; label: what the classes are values of. */
export function performance(found, label) {
  if (!found) return [];
  const sentence = make("p", {}, make("bdi", {}, unbroken(found.sentence)));
  const { classes = [], confusion = null } = found.figures ?? {};
  if (!classes.length) return [sentence];
  const names = classes.map((each) => each.class);
  const rows = classes.map((each) => [each.class, weight(each.rows), share(each.recall), share(each.precision)]);
  const header = [label || t("label"), t("performance.rows"), t("performance.recall"), t("performance.precision")];
  const tables = [table(header, rows, t("performance.meaning"))];
  if (confusion) {
    const counts = confusion.map((row, i) => [names[i], ...row.map(weight)]);
    tables.push(table([t("performance.true_class"), ...names.map((name) => t("performance.predicted", { class: name }))], counts, t("performance.confusion")));
  }
  return [sentence, make("details", {}, make("summary", {}, t("performance.classes")), make("div", { class: "performance-tables" }, tables))];
}

function table([first, ...others], rows, caption) {
  const head = make("tr", {}, make("th", { scope: "col" }, make("bdi", {}, first)), others.map((name) => make("th", { scope: "col", class: "figure" }, make("bdi", {}, name))));
  const body = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name)), cells.map((cell) => make("td", { class: "figure" }, cell))));
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, body)));
}
