// An explanation as it comes in JSON, in the words that people read.

/** The classes by what is believed after k answers, largest first. */
export function ranked(told, k) {
  const p = k ? told.steps[k - 1].posterior : told.prior;
  return told.classes.map((name, c) => ({ name: String(name), p: p[c] })).sort((a, b) => b.p - a.p);
}

/** What was seen of an image after k answers: rows of pixels, each with a share from 0 to 1 for each channel, and null. */
export function revealed(told, k) {
  const [rows, columns] = told.shape;
  const pixels = Array.from({ length: rows }, () => Array(columns).fill(null));
  for (const step of told.steps.slice(0, k)) for (const { row, column, pixel } of pixelsIn(told, step)) if (pixel) pixels[row][column] = pixel;
  return pixels;
}

/** The pixels that a step asked about, null where they are not known. */
export function pixelsIn({ shape: [, columns], levels = 2, channels = 1 }, { variables, answer }) {
  return Array.from({ length: variables.length / channels }, (_, i) => {
    const at = variables[i * channels] / channels;
    const cells = (answer ?? []).slice(i * channels, (i + 1) * channels);
    const known = cells.length === channels && cells.every((cell) => cell >= 0);
    return { row: Math.floor(at / columns), column: at % columns, pixel: known ? cells.map((cell) => cell / (levels - 1)) : null };
  });
}
