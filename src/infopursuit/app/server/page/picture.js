// What has been seen of an image: its pixels where patches were asked, nothing elsewhere.

/** An answer about a patch as its pixels: shares from 0 to 1, one for grey and three for colour; null for unknown. */
export function pixelsOf(answer, { rows, columns, levels, channels }) {
  const cells = answer === null ? [] : levels > 10 ? answer.split("-") : [...answer];
  const share = (cell) => (cell === undefined || cell === "?" ? null : Number(cell) / (levels - 1));
  return Array.from({ length: rows * columns }, (_, i) => {
    const pixel = Array.from({ length: channels }, (_, k) => share(cells[i * channels + k]));
    return pixel.includes(null) ? null : pixel;
  });
}

/** The css colour of a pixel; grey ones lie between dark and lit. */
export function shade(pixel, dark, lit) {
  if (pixel.length === 3) return `rgb(${pixel.map((share) => Math.round(255 * share)).join(", ")})`;
  return pixel[0] === 0 ? dark : pixel[0] === 1 ? lit : `color-mix(in srgb, ${lit} ${100 * pixel[0]}%, ${dark})`;
}

/** {r,c -> pixel} after some steps, as rows with null where nothing was seen. */
export function seen([rows, columns], steps) {
  const pixels = Array.from({ length: rows }, () => Array(columns).fill(null));
  for (const { question: { patch }, answer } of steps) {
    pixelsOf(answer, patch).forEach((pixel, i) => {
      if (pixel) pixels[patch.row + Math.floor(i / patch.columns)][patch.column + (i % patch.columns)] = pixel;
    });
  }
  return pixels;
}

/** Draw it. newest and following are patches: the one just seen, and the one that is asked next. colours: of css. */
export function paint(context, size, shape, steps, following, colours) {
  const [rows, columns] = shape;
  const cell = size / Math.max(rows, columns);
  const [left, top] = [(size - cell * columns) / 2, (size - cell * rows) / 2];
  context.clearRect(0, 0, size, size);
  context.fillStyle = colours.unseen;
  context.fillRect(left, top, cell * columns, cell * rows);
  seen(shape, steps).forEach((line, r) => line.forEach((value, c) => {
    if (value === null) {
      context.fillStyle = colours.dot;
      context.fillRect(left + (c + 0.5) * cell - 0.75, top + (r + 0.5) * cell - 0.75, 1.5, 1.5);
      return;
    }
    context.fillStyle = shade(value, colours.dark, colours.lit);
    context.fillRect(left + c * cell, top + r * cell, cell + 0.3, cell + 0.3);
  }));
  const outline = (patch, colour, dashes) => {
    context.strokeStyle = colour;
    context.lineWidth = 2.5;
    context.setLineDash(dashes);
    context.strokeRect(left + patch.column * cell, top + patch.row * cell, patch.columns * cell, patch.rows * cell);
    context.setLineDash([]);
  };
  if (steps.length) outline(steps[steps.length - 1].question.patch, colours.warm, []);
  if (following) outline(following, colours.main, [4, 3]);
}

/** The colours of an element's style. */
export function colours(element) {
  const style = getComputedStyle(element);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return { unseen: get("unseen"), dot: get("dot"), dark: get("dark"), lit: get("lit"), warm: get("warm"), main: get("main") };
}
