// What has been seen of an image: lit and dark pixels where patches were asked, nothing elsewhere.

/** {r,c -> 0 or 1} after some steps, as rows with null where nothing was seen. */
export function seen([rows, columns], steps) {
  const pixels = Array.from({ length: rows }, () => Array(columns).fill(null));
  for (const { question, answer } of steps) {
    if (answer === null) continue;
    const { row, column, columns: wide } = question.patch;
    [...answer].forEach((value, i) => { pixels[row + Math.floor(i / wide)][column + (i % wide)] = Number(value); });
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
  const fill = { 0: colours.dark, 1: colours.lit };
  seen(shape, steps).forEach((line, r) => line.forEach((value, c) => {
    if (value === null) {
      context.fillStyle = colours.dot;
      context.fillRect(left + (c + 0.5) * cell - 0.75, top + (r + 0.5) * cell - 0.75, 1.5, 1.5);
      return;
    }
    context.fillStyle = fill[value];
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
