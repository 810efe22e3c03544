// Ways to answer a question: buttons, a number, a list, several components, the pixels of a patch.

import { button, capital, key, make } from "./dom.js";
import { shade } from "./picture.js";
import { number as written, readNumber, t } from "./words.js";

const MANY = 8; // choices from which on they are a list

export const yesNo = (question) => question.choices?.length === 2 && question.choices.includes("yes") && question.choices.includes("no");

/** The elements with which a question is answered; say(answer) is called. keys: show which keys answer. */
export function fields(question, say, { keys = false } = {}) {
  if (question.patch) return patch(question.patch, say);
  if (question.number) return [numberForm(question, say)];
  if (question.components) return components(question.components, say);
  if (!question.choices) return [textForm(question, say)];
  if (question.choices.length > MANY) return [listForm(question, say)];
  return inOrder(question).map((i) => make("button", { type: "button", class: "answer", onclick: () => say(question.choices[i]) },
    capital(question.labels[i]), keys ? key(yesNo(question) ? question.choices[i][0].toUpperCase() : String(i + 1)) : null));
}

/** The indices of the choices as they are shown: "yes" before "no", as people say it. */
export const inOrder = (question) => (yesNo(question) ? ["yes", "no"].map((each) => question.choices.indexOf(each)) : question.choices.map((_, i) => i));

/** A number or a date is typed; Enter answers. Below it the range in training. */
function numberForm({ sentence, number }, say) {
  const input = make("input", {
    type: number.date ? "date" : "text", inputmode: number.date ? null : "decimal", required: true, autocomplete: "off",
    "aria-label": sentence, "aria-describedby": "answer-range answer-outside", oninput: () => look(),
  });
  const outside = make("p", { class: "quiet hint", id: "answer-outside", role: "status" });
  const value = () => (number.date ? input.value : readNumber(input.value));
  const look = () => {
    const given = value();
    input.setCustomValidity(number.date || input.value.trim() === "" || Number.isFinite(given) ? "" : hint.textContent);
    outside.textContent = !number.date && (given < number.low || given > number.high) ? t("page.outside", range) : "";
  };
  const send = (event) => {
    event.preventDefault();
    say(value());
  };
  const range = { low: written(number.low), high: written(number.high), unit: number.unit };
  const hint = make("p", { class: "quiet hint", id: "answer-range" }, t(number.date ? "hint.date" : number.unit ? "hint.number_unit" : "hint.number", range));
  return make("form", { class: "number", onsubmit: send },
    make("div", { class: "number-row" }, input, number.unit ? make("span", { class: "unit" }, number.unit) : null,
      make("button", { type: "submit", class: "main" }, t("page.answer"))), outside, hint);
}

function listForm(question, say) {
  const pick = make("select", { "aria-label": question.sentence }, question.labels.map((label) => make("option", {}, label)));
  return make("form", { class: "number", onsubmit: (event) => { event.preventDefault(); say(question.choices[pick.selectedIndex]); } },
    make("div", { class: "number-row" }, pick, make("button", { type: "submit", class: "main" }, t("page.answer"))));
}

function textForm(question, say) {
  const input = make("input", { type: "text", required: true, autocomplete: "off", "aria-label": question.sentence });
  return make("form", { class: "number", onsubmit: (event) => { event.preventDefault(); say(input.value.trim()); } },
    make("div", { class: "number-row" }, input, make("button", { type: "submit", class: "main" }, t("page.answer"))));
}

/** Several components that are asked for together: one choice of each. */
function components(all, say) {
  const picks = all.map(({ name, choices, answers, unknown }) => {
    const options = [[t("answer.missing"), unknown], ...choices.map((choice, i) => [choice, answers[i]])];
    return make("select", { "aria-label": name }, options.map(([words, value]) => make("option", { value }, words)));
  });
  const rows = picks.map((pick, i) => make("label", { class: "component" }, make("span", {}, all[i].name), pick));
  return [make("div", { class: "components" }, rows), button(t("page.answer"), () => say(picks.map((pick) => pick.value).join(", ")), { class: "main" })];
}

/** A patch is answered by lighting its pixels; levels of grey and of colours are chosen with a slider each. */
function patch({ rows, columns, levels, channels }, say) {
  const place = (i) => ({ row: Math.floor(i / columns) + 1, column: (i % columns) + 1 });
  const grid = (cells) => {
    const element = make("div", { class: "pixels" }, cells);
    element.style.setProperty("--columns", String(columns));
    return element;
  };
  const all = Array.from({ length: rows * columns }, (_, i) => place(i));
  if (levels === 2 && channels === 1) {
    const cells = all.map((at) => make("button", {
      type: "button", class: "pixel", "aria-pressed": "false", "aria-label": t("page.pixel.lit", at),
      onclick: ({ currentTarget: cell }) => cell.setAttribute("aria-pressed", String(cell.getAttribute("aria-pressed") !== "true")),
    }));
    const said = () => cells.map((cell) => (cell.getAttribute("aria-pressed") === "true" ? "1" : "0")).join("");
    return [grid(cells), button(t("page.answer"), () => say(said()), { class: "answer" })];
  }
  const names = channels === 3 ? ["red", "green", "blue"] : ["grey"];
  const pixels = all.map((at) => {
    const sliders = names.map((name) => make("input", { type: "range", min: "0", max: String(levels - 1), value: "0", "aria-label": t(`page.pixel.${name}`, at) }));
    const pixel = make("div", { class: "levels" }, sliders);
    const show = () => { pixel.style.background = shade(sliders.map(({ value }) => value / (levels - 1)), "var(--dark)", "var(--lit)"); };
    pixel.addEventListener("input", show);
    show();
    return { pixel, sliders };
  });
  const said = () => pixels.flatMap(({ sliders }) => sliders.map(({ value }) => value)).join(levels > 10 ? "-" : "");
  return [grid(pixels.map(({ pixel }) => pixel)), button(t("page.answer"), () => say(said()), { class: "answer" })];
}
