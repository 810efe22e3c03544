// An explanation as one HTML file that needs nothing else: no scripts, nothing from another host.

import { count, percent } from "./dom.js";
import { ranked, REASONS, revealed } from "./told.js";

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.7rem;margin:0 0 .3rem}p{margin:.3rem 0}.quiet{opacity:.7}ol{padding-left:1.6rem}li{margin:1rem 0;break-inside:avoid}
.bar{display:grid;grid-template-columns:9rem 1fr 4rem;gap:.6rem;align-items:center;font-size:.9rem}.bar svg{width:100%;height:.6rem}
.bar span:last-child{text-align:right}svg.image{width:9rem;height:9rem;image-rendering:pixelated;border:1px solid #8888}
@media print{body{margin:0}}`;

const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The text of the file. */
export function report(told, model) {
  const k = told.steps.length;
  const [best] = ranked(told, k);
  const end = told.stopped_because === "open" ? "It has not stopped yet." : `It stopped because ${REASONS[told.stopped_because] ?? told.stopped_because}.`;
  const steps = told.steps.map((step, i) => `<li><p>${escape(step.sentence)} <b>${escape(step.said)}</b></p>
<p class="quiet">${step.gain === null ? "" : `expected gain ${(step.gain / Math.LN2).toFixed(2)} bits`}</p>
${told.shape ? image(told, i + 1) : ""}${bars(told, i + 1)}</li>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Explanation: ${escape(best.name)}</title><style>${STYLE}</style></head><body>
<h1>${escape(best.name)}, ${percent(best.p)}</h1>
<p>After ${count(k, "question")} to the model ${escape(model.name)}. ${end} These answers are all that the prediction was made from.</p>
<p class="quiet">${escape(model.summary)}</p>
<h2>Before the first question</h2>${bars(told, 0)}
<h2>Questions and answers</h2><ol>${steps.join("\n")}</ol></body></html>
`;
}

function bars(told, k) {
  return ranked(told, k).slice(0, 5).map(({ name, p }) => `<div class="bar"><span>${escape(name)}</span>
<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="6" rx="1" fill="#8883"/><rect width="${(100 * p).toFixed(2)}" height="6" rx="1" fill="#14708f"/></svg>
<span>${percent(p)}</span></div>`).join("");
}

function image(told, k) {
  const [rows, columns] = told.shape;
  const newest = new Set(told.steps[k - 1].atoms);
  const cells = revealed(told, k).flatMap((line, r) => line.map((value, c) => {
    if (value === null) return "";
    const fill = newest.has(r * columns + c) ? (value ? "#b45309" : "#fde6c4") : value ? "#1b2a33" : "#e8eef0";
    return `<rect x="${c}" y="${r}" width="1" height="1" fill="${fill}"/>`;
  }));
  return `<svg class="image" viewBox="0 0 ${columns} ${rows}" role="img" aria-label="What was seen after ${count(k, "question")}"><rect width="${columns}" height="${rows}" fill="#8882"/>${cells.join("")}</svg>`;
}
