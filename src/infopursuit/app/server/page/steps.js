// The questions and answers so far, as a list. Each answer can be changed, to see what would have come instead.

import { leading, make } from "./dom.js";
import { alternatives, say } from "./path.js";
import { pixelsOf, shade } from "./picture.js";
import { bits, percent, readNumber, t } from "./words.js";

/** change(k, answer) is called when another answer is wanted for step k; look(k) when a step is picked. plain: without bits. */
export function stepList(path, { change, shown = path.steps.length, look = null, plain = false }) {
  const items = path.steps.map((step, k) => {
    const [best] = leading(path.turns[k + 1].posterior, 1);
    const text = wording(step.question);
    const name = look
      ? make("button", { type: "button", class: "plain", onclick: () => look(k + 1), "aria-label": t("page.steps.show", { n: k + 1, text }) }, text)
      : make("span", {}, text);
    return make(
      "li", { class: k < shown ? "" : "later", "aria-current": k + 1 === shown && look ? "step" : null },
      make("div", { class: "step-words" }, name, step.question.patch ? mini(step) : null, make("b", { class: "said" }, say(step.question, step.answer, step.applies))),
      make("div", { class: "step-facts quiet" },
        plain ? null : make("span", {}, step.gain ? t("page.steps.expected", { bits: bits(step.gain) }) : ""),
        make("span", {}, t("page.steps.then", { class: best.name, p: percent(best.p) }))),
      make("div", { class: "step-change" }, changer(step, k, change)),
    );
  });
  return make("ol", { class: "steps" }, items);
}

/** How an answer is changed: another number is typed, another choice picked. */
function changer({ question, answer }, k, change) {
  const label = t("page.steps.change", { n: k + 1, sentence: question.sentence });
  if (question.number && !question.number.date) {
    const input = make("input", {
      type: "text", inputmode: "decimal", "aria-label": label, placeholder: t("page.steps.what_if"), required: true,
      oninput: () => input.setCustomValidity(Number.isFinite(readNumber(input.value)) ? "" : t("ask.a_number")),
    });
    return make("form", { class: "change", onsubmit: (event) => { event.preventDefault(); change(k, readNumber(input.value)); } },
      input, make("button", { type: "submit", "aria-label": `${t("page.show")}: ${label}` }, t("page.show")));
  }
  const choices = alternatives(question).filter(([value]) => value !== answer);
  const picker = make("select", {
    "aria-label": label,
    onchange: (event) => {
      const picked = event.target.selectedIndex;
      event.target.selectedIndex = 0;
      if (picked) change(k, choices[picked - 1][0]);
    },
  }, make("option", {}, t("page.steps.what_if")), choices.map(([, words]) => make("option", {}, words)));
  return picker;
}

export const short = ({ row, column }) => t("page.patch.at", { row: row + 1, column: column + 1 });
export const wording = (question) => (question.patch ? short(question.patch) : question.sentence);

/** A patch as a small grid. */
export function mini({ question, answer }) {
  const grid = make("span", { class: "mini", "aria-hidden": "true" });
  grid.style.setProperty("--columns", String(question.patch.columns));
  pixelsOf(answer, question.patch).forEach((pixel) => {
    const mark = make("i", { class: pixel === null ? "unknown" : pixel.length === 1 && pixel[0] === 1 ? "on" : "" });
    if (pixel && (pixel.length === 3 || pixel[0] % 1)) mark.style.background = shade(pixel, "var(--dark)", "var(--lit)");
    grid.append(mark);
  });
  return grid;
}
