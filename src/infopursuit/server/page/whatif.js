// Two paths beside each other: as it was answered, and as it would have been.

import { leading, make, percent } from "./dom.js";
import { now, say } from "./path.js";
import { mini, short } from "./steps.js";

/** A comparison. keep() goes on with the new path, drop() with the old one. */
export function comparison(old, other, changed, { keep, drop }) {
  const same = sharedSteps(old, other);
  return make(
    "section", { class: "card whatif", "aria-labelledby": "whatif-title" },
    make("h2", { id: "whatif-title", tabindex: "-1" }, "What if"),
    make("p", {}, `If question ${changed + 1} had been answered “${say(other.steps[changed].question, other.steps[changed].answer)}” and not “${say(old.steps[changed].question, old.steps[changed].answer)}”: ${verdictChange(old, other)}`),
    make(
      "div", { class: "paths" },
      column("As it was answered", old, same, changed),
      column("What if", other, same, changed),
    ),
    make(
      "div", { class: "buttons" },
      make("button", { type: "button", class: "main", onclick: keep }, now(other).question ? "Go on with the new path" : "Keep the new path"),
      make("button", { type: "button", onclick: drop }, "Back to my answers"),
    ),
  );
}

function verdictChange(old, other) {
  const [before, after] = [leading(now(old).posterior, 1)[0], leading(now(other).posterior, 1)[0]];
  const open = now(other).question ? " so far; the next question has no answer yet" : "";
  if (before.name === after.name) return `it would still be ${after.name}, at ${percent(after.p)} instead of ${percent(before.p)}${open}.`;
  return `it would be ${after.name} (${percent(after.p)}) instead of ${before.name} (${percent(before.p)})${open}.`;
}

/** How many questions from the start are the same ones. */
function sharedSteps(old, other) {
  let k = 0;
  while (k < Math.min(old.steps.length, other.steps.length) && old.steps[k].question.name === other.steps[k].question.name) k += 1;
  return k;
}

function column(title, path, same, changed) {
  const items = path.steps.map((step, k) => {
    const [best] = leading(path.turns[k + 1].posterior, 1);
    const text = step.question.patch ? short(step.question.patch) : step.question.sentence;
    return make(
      "li", { class: k === changed ? "changed" : k >= same ? "differs" : "" },
      make("span", {}, text, " ", step.question.patch ? mini(step) : null, " ", make("b", {}, say(step.question, step.answer))),
      make("span", { class: "quiet" }, `then ${best.name} (${percent(best.p)})`),
    );
  });
  const end = now(path);
  const [best] = leading(end.posterior, 1);
  const words = end.question
    ? `Next: ${end.question.patch ? short(end.question.patch) : end.question.sentence}`
    : `${best.name}, ${percent(best.p)}, after ${path.steps.length}`;
  return make("div", { class: "path" }, make("h3", {}, title), make("ol", {}, items), make("p", { class: "end" }, words));
}
