// The training distribution of a number as a small histogram, and where the typed number lies in it.

import { draw } from "./dom.js";
import { t } from "./words.js";

const [WIDE, HIGH] = [320, 44];

/** {element, mark(value), cut: whether a tail is cut on either side}; null where the model does not know the distribution. */
export function sparkline({ low, high, thresholds, distribution, date, unit }) {
  if (!distribution) return null;
  const at = (value) => (date ? Date.parse(value) : Number(value));
  const inside = thresholds.map(at);
  // long tails are cut, so that the middle can be seen
  const [first, last] = [inside[0], inside[inside.length - 1]];
  const tail = (last - first) / 2 || 1;
  const edges = [Math.min(Math.max(at(low), first - tail), first), ...inside, Math.max(Math.min(at(high), last + tail), last)];
  const span = edges[edges.length - 1] - edges[0] || 1;
  const x = (value) => (WIDE * (value - edges[0])) / span;
  const density = distribution.map((share, i) => share / Math.max(edges[i + 1] - edges[i], span / 25));
  const top = Math.max(...density);
  const bars = density.map((d, i) => draw("rect", {
    x: x(edges[i]).toFixed(1), y: (HIGH * (1 - d / top)).toFixed(1),
    width: Math.max(0.5, x(edges[i + 1]) - x(edges[i]) - 1).toFixed(1), height: ((HIGH * d) / top).toFixed(1),
  }));
  const marker = draw("line", { class: "marker", y1: -3, y2: HIGH, x1: 0, x2: 0, visibility: "hidden" });
  const shown = { low: quantile(0.25), high: quantile(0.75), unit };
  const element = draw("svg", { class: "spark", viewBox: `0 -4 ${WIDE} ${HIGH + 4}`, preserveAspectRatio: "none", role: "img", "aria-label": t("page.spark", shown) }, bars, marker);

  // the edge below which about a share of the training rows lie
  function quantile(share) {
    let sum = 0;
    const k = distribution.findIndex((p) => (sum += p) >= share);
    return [low, ...thresholds, high][share < 0.5 ? k : k + 1];
  }

  function mark(value) {
    const place = at(value);
    marker.setAttribute("visibility", value === "" || Number.isNaN(place) ? "hidden" : "visible");
    if (Number.isNaN(place)) return;
    const inside = String(Math.max(1, Math.min(WIDE - 1, x(place))));
    marker.setAttribute("x1", inside);
    marker.setAttribute("x2", inside);
  }
  return { element, mark, cut: [at(low) < edges[0], at(high) > edges[edges.length - 1]] };
}
