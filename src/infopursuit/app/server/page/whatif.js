// Two paths beside each other: as it was answered, and as it would have been.

import { button, leading, make } from "./dom.js";
import { now, say } from "./path.js";
import { mini, wording } from "./steps.js";
import { number, percent, questions, t } from "./words.js";

/** A comparison. changed: the steps and the known names that differ. keep() goes on with the new path, drop() with the old one. */
export function comparison(old, other, changed, { keep, drop }) {
  const same = sharedSteps(old, other);
  return make(
    "section", { class: "card whatif", "aria-labelledby": "whatif-title" },
    make("h2", { id: "whatif-title", tabindex: "-1" }, t("page.whatif")),
    make("p", {}, `${changes(old, other, changed)} ${verdictChange(old, other)}`),
    make("div", { class: "paths" }, column(t("page.whatif.old"), old, same, changed), column(t("page.whatif"), other, same, changed)),
    make("div", { class: "buttons" },
      button(t(now(other).question ? "page.whatif.go_on" : "page.whatif.keep"), keep, { class: "main" }),
      button(t("page.whatif.drop"), drop)),
  );
}

function changes(old, other, changed) {
  const all = changed.map((at) => {
    if (typeof at === "string") return { sentence: at, other: number(other.known[at]), said: number(old.known[at] ?? "–") };
    const [was, is] = [old.steps[at], other.steps[at]];
    return { sentence: wording(is.question), other: say(is.question, is.answer, is.applies), said: say(was.question, was.answer, was.applies) };
  });
  return all.map((each) => t("page.whatif.if", each)).join(" ");
}

function verdictChange(old, other) {
  const [before, after] = [leading(now(old).posterior, 1)[0], leading(now(other).posterior, 1)[0]];
  const values = { class: after.name, p: percent(after.p), before: before.name, q: percent(before.p) };
  return t(before.name === after.name ? "page.whatif.still" : "page.whatif.would", values) + (now(other).question ? ` ${t("page.whatif.open")}` : "");
}

/** How many questions from the start are the same ones. */
function sharedSteps(old, other) {
  let k = 0;
  while (k < Math.min(old.steps.length, other.steps.length) && old.steps[k].question.name === other.steps[k].question.name) k += 1;
  return k;
}

function column(title, path, same, changed) {
  const known = changed.filter((at) => typeof at === "string").map((name) => make("li", { class: "changed" }, make("span", {}, `${name} `, make("b", {}, number(path.known[name] ?? "–")))));
  const items = path.steps.map((step, k) => {
    const [best] = leading(path.turns[k + 1].posterior, 1);
    return make(
      "li", { class: changed.includes(k) ? "changed" : k >= same ? "differs" : "" },
      make("span", {}, wording(step.question), " ", step.question.patch ? mini(step) : null, " ", make("b", {}, say(step.question, step.answer, step.applies))),
      make("span", { class: "quiet" }, t("page.steps.then", { class: best.name, p: percent(best.p) })),
    );
  });
  const end = now(path);
  const [best] = leading(end.posterior, 1);
  const words = end.question
    ? t("page.whatif.next", { sentence: wording(end.question) })
    : t("page.whatif.end", { class: best.name, p: percent(best.p), questions: questions(path.steps.length) });
  return make("div", { class: "path" }, make("h3", {}, title),
    known.length ? make("ul", {}, known) : null, make("ol", {}, items), make("p", { class: "end" }, words));
}
