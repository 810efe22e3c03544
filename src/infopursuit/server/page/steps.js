// The questions and answers so far, as a list. Each answer can be changed, to see what would have come instead.

import { alternatives, say } from "./path.js";
import { bits, leading, make, percent } from "./dom.js";
import { pixelsOf, shade } from "./picture.js";

/** change(k, answer) is called when another answer is wanted for step k; look(k) when a step is picked. */
export function stepList(path, { change, shown = path.steps.length, look = null }) {
  const items = path.steps.map((step, k) => {
    const [best] = leading(path.turns[k + 1].posterior, 1);
    const text = step.question.patch ? short(step.question.patch) : step.question.sentence;
    const picker = make("select", {
      "aria-label": `What if the answer to question ${k + 1}, ${step.question.sentence}, were another`,
      onchange: (event) => {
        const picked = event.target.selectedIndex;
        event.target.selectedIndex = 0;
        if (picked) change(k, choices[picked - 1][0]);
      },
    });
    const choices = alternatives(step.question).filter(([value]) => value !== step.answer);
    picker.append(make("option", {}, "What if …"), ...choices.map(([, words]) => make("option", {}, words)));
    const name = look
      ? make("button", { type: "button", class: "plain", onclick: () => look(k + 1), "aria-label": `Show step ${k + 1}: ${text}` }, text)
      : make("span", {}, text);
    return make(
      "li", { class: k < shown ? "" : "later", "aria-current": k + 1 === shown && look ? "step" : null },
      make("div", { class: "step-words" }, name, step.question.patch ? mini(step) : null, make("b", { class: "said" }, say(step.question, step.answer))),
      make("div", { class: "step-facts quiet" }, make("span", {}, step.gain ? `${bits(step.gain)} expected` : ""), make("span", {}, `then ${best.name} (${percent(best.p)})`)),
      make("div", { class: "step-change" }, picker),
    );
  });
  return make("ol", { class: "steps" }, items);
}

export const short = ({ row, column }) => `Patch at row ${row + 1}, column ${column + 1}`;

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
