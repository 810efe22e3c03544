// A path: what was known, questions with their answers, and what was believed before the first and after each.
// Nothing is changed in place, so that going back is taking an earlier one.

import { pixelsOf } from "./picture.js";
import { client } from "./server.js";
import { number, t } from "./words.js";

const AT_ONCE = 6;

/** What a path is for the server. */
export const given = (path) => ({
  known: path.known, later: path.later,
  history: path.steps.map(({ question, answer, applies }) => ({ query: question.name, answer, ...(applies === false ? { applies } : {}) })),
});

const turn = (path, options = {}) => client.next(path.model, { ...given(path), ...options });
export const now = (path) => path.turns[path.turns.length - 1];

/** The path before the first question. */
export async function begin(model, known = {}) {
  const path = { model, known, later: [], steps: [], turns: [] };
  return { ...path, turns: [await turn(path)] };
}

/** The path with one answer more, to a question or to the one that is asked now. applies: false for "does not apply". */
export async function answer(path, said, question = now(path).question, { applies = true } = {}) {
  const steps = [...path.steps, { question, answer: said, applies, gain: gainOf(path, question) }];
  const grown = { ...path, steps, later: path.later.filter((name) => name !== question.name), more: false, stopped: false };
  return { ...grown, turns: [...path.turns, await turn(grown)] };
}

/** The same answers, and another question: the one that is asked now comes later; or one more after the stop. */
export async function anotherQuestion(path, { aside = null, more = false } = {}) {
  const other = { ...path, later: aside ? [...path.later.filter((name) => name !== aside), aside] : path.later, more, stopped: false };
  return { ...other, turns: [...path.turns.slice(0, -1), await turn(other, { more })] };
}

/** The first k steps of a path. */
export const cut = (path, k) => ({ ...path, steps: path.steps.slice(0, k), turns: path.turns.slice(0, k + 1), more: false, stopped: false });

/** A path from what was kept of it. queries: {name: question}. steps: [{query, answer, applies}]. */
export async function restore(model, queries, { known = {}, later = [], steps = [], more = false, stopped = false }) {
  const found = steps.filter(({ query }) => queries.has(query)).map(({ query, answer: said, applies = true }) => ({ question: queries.get(query), answer: said, applies, gain: null }));
  const path = { model, known, later, steps: found, turns: [], stopped, more };
  const turns = [];
  for (let k = 0; k <= found.length; k += AT_ONCE) { // some at once, in their order
    const some = Array.from({ length: Math.min(AT_ONCE, found.length + 1 - k) }, (_, i) => k + i);
    turns.push(...await Promise.all(some.map((at) => turn({ ...path, steps: found.slice(0, at), later: at === found.length ? later : [] }, { more: more && at === found.length }))));
  }
  found.forEach((step, k) => { step.gain = gainOf({ turns: turns.slice(0, k + 1) }, step.question); });
  return { ...path, turns };
}

/** What would have come if answer k had been another: later questions are answered by `answerer`, as far as it can. */
export async function whatIf(path, k, said, answerer, most = 60) {
  let other = await answer(cut(path, k), said, path.steps[k].question);
  while (now(other).question && other.steps.length < most) {
    const known = answerer(now(other).question);
    if (known === undefined) break;
    other = await answer(other, known);
  }
  return other;
}

/** Answers the questions that a path has answered; undefined for all others. */
export function sameAnswers(path) {
  const known = new Map(path.steps.map(({ question, answer: said }) => [question.name, said]));
  return (question) => known.get(question.name);
}

/** An answer in words. */
export function say(question, said, applies = true) {
  if (said === null) return t(applies ? "answer.missing" : "answer.not_applicable");
  if (question.number && typeof said === "number") return `${number(said)}${question.number.unit ? ` ${question.number.unit}` : ""}`;
  if (!question.patch) return question.labels?.[question.choices.indexOf(said)] ?? said;
  const pixels = pixelsOf(said, question.patch).filter((pixel) => pixel !== null);
  if (question.patch.levels > 2 || question.patch.channels > 1) {
    const mean = (k) => number((pixels.reduce((sum, pixel) => sum + pixel[k], 0) / Math.max(pixels.length, 1)).toFixed(2));
    return question.patch.channels === 1 ? t("page.patch.grey", { mean: mean(0) }) : t("page.patch.colour", { red: mean(0), green: mean(1), blue: mean(2) });
  }
  const lit = pixels.filter(([share]) => share === 1).length;
  return lit === 0 ? t("page.patch.dark") : lit === pixels.length ? t("page.patch.lit") : t("page.patch.some", { lit, all: pixels.length });
}

/** What may be answered instead, as [answer, words]. */
export function alternatives(question) {
  const some = question.patch
    ? [[uniform(question.patch, 0), t("page.patch.dark")], [uniform(question.patch, question.patch.levels - 1), t("page.patch.lit")]]
    : (question.choices ?? []).map((choice, i) => [choice, question.labels[i]]);
  return [...some, [null, t("answer.missing")]];
}

// The answer that all pixels of a patch have the same level.
function uniform({ rows, columns, levels, channels }, level) {
  return Array(rows * columns * channels).fill(level).join(levels > 10 ? "-" : "");
}

function gainOf(path, question) {
  return now(path).ranked.find(({ name }) => name === question.name)?.gain ?? null;
}
