// A path: questions with their answers, and what was believed before the first and after each.
// Nothing is changed in place, so that going back is taking an earlier one.

import { next } from "./api.js";
import { pixelsOf } from "./picture.js";

/** The path before the first question. */
export async function begin(model) {
  return { model, steps: [], turns: [await next(model, [])] };
}

export const now = (path) => path.turns[path.turns.length - 1];
export const history = (path) => path.steps.map(({ question, answer }) => ({ query: question.name, answer }));

/** The path with one answer more, to a question or to the one that is asked now. */
export async function answer(path, said, question = now(path).question) {
  const steps = [...path.steps, { question, answer: said, gain: gainOf(path, question) }];
  const grown = { ...path, steps };
  return { ...grown, turns: [...path.turns, await next(path.model, history(grown))] };
}

/** The first k steps of a path. */
export const cut = (path, k) => ({ ...path, steps: path.steps.slice(0, k), turns: path.turns.slice(0, k + 1) });

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
export function say(question, said) {
  if (said === null) return "not known";
  if (question.number && typeof said === "number") return `${said}${question.number.unit ? ` ${question.number.unit}` : ""}`;
  if (!question.patch) return said;
  const pixels = pixelsOf(said, question.patch).filter((pixel) => pixel !== null);
  if (question.patch.levels > 2 || question.patch.channels > 1) {
    const mean = (k) => (pixels.reduce((sum, pixel) => sum + pixel[k], 0) / Math.max(pixels.length, 1)).toFixed(2);
    return question.patch.channels === 1 ? `mean grey ${mean(0)}` : `mean red ${mean(0)}, green ${mean(1)}, blue ${mean(2)}`;
  }
  const lit = pixels.filter(([share]) => share === 1).length;
  return lit === 0 ? "all dark" : lit === pixels.length ? "all lit" : `${lit} of ${pixels.length} pixels lit`;
}

/** What may be answered instead, as [answer, words]. */
export function alternatives(question) {
  const some = question.patch
    ? [[uniform(question.patch, 0), "all dark"], [uniform(question.patch, question.patch.levels - 1), "all lit"]]
    : (question.choices ?? []).map((choice) => [choice, choice]);
  return [...some, [null, "not known"]];
}

// The answer that all pixels of a patch have the same level.
function uniform({ rows, columns, levels, channels }, level) {
  return Array(rows * columns * channels).fill(level).join(levels > 10 ? "-" : "");
}

function gainOf(path, question) {
  const found = now(path).ranked.find(({ name }) => name === question.name);
  return found ? found.gain : null;
}
