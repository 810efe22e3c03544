// An explanation as it comes in JSON, in the words that people read.

/** The classes by what is believed after k answers, largest first. */
export function ranked(told, k) {
  const p = k ? told.steps[k - 1].posterior : told.prior;
  return told.classes.map((name, c) => ({ name: String(name), p: p[c] })).sort((a, b) => b.p - a.p);
}

/** What was seen of an image after k answers: rows of 0, 1 and null. */
export function revealed(told, k) {
  const [rows, columns] = told.shape;
  const pixels = Array.from({ length: rows }, () => Array(columns).fill(null));
  for (const { variables, answer } of told.steps.slice(0, k)) {
    (answer ?? []).forEach((value, i) => { if (value >= 0) pixels[Math.floor(variables[i] / columns)][variables[i] % columns] = value; });
  }
  return pixels;
}
