// A drawing as the training images are: strokes scaled to a box, centred, drawn with a pen of the usual width, cut at a
// threshold. For 28 x 28 pixels as MNIST was made: a box of 20 x 20, the centre of mass in the middle.

const FINE = 8;
const PEN = 0.125;

/** Strokes [[{x, y}, ...], ...] in a square of `size` -> rows of 0 and 1 or of grey levels, or null where nothing was drawn. */
export function toImage(strokes, size, { shape: [rows, columns], threshold, levels }) {
  const points = strokes.flat();
  if (!points.length) return null;
  const mass = rows >= 20;
  const box = mass ? (rows * 20) / 28 : Math.min(rows, columns);
  const pen = PEN * box;
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // a dot is not blown up to a blot
  const scale = (box - pen) / Math.max(right - left, bottom - top, size * 0.2);
  const place = (dx, dy) => ({ x, y }) => ({
    x: (x - (left + right) / 2) * scale + columns / 2 + dx,
    y: (y - (top + bottom) / 2) * scale + rows / 2 + dy,
  });
  let grey = render(strokes, place(0, 0), rows, columns, pen);
  if (mass) {
    const { x, y } = centre(grey, rows, columns);
    grey = render(strokes, place(columns / 2 - x, rows / 2 - y), rows, columns, pen);
  }
  const cut = limit(threshold);
  const value = (share) => (levels === 2 ? Number(share > cut) : Math.min(Math.floor(share * levels), levels - 1));
  return Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => value(grey[r * columns + c])));
}

/** The answer that an image gives to a question about a patch of it. */
export function look(image, { row, column, rows, columns, levels }) {
  const said = image.slice(row, row + rows).flatMap((line) => line.slice(column, column + columns));
  return said.join(levels > 10 ? "-" : "");
}

// Training images have pixels up to 1, 16 or 255; the threshold tells which.
function limit(threshold) {
  if (threshold === null || threshold === undefined) return 0.5;
  return threshold < 1 ? threshold : threshold < 16 ? threshold / 16 : threshold / 255;
}

function render(strokes, place, rows, columns, pen) {
  const canvas = document.createElement("canvas");
  canvas.width = columns * FINE;
  canvas.height = rows * FINE;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.scale(FINE, FINE);
  context.lineWidth = pen;
  context.lineCap = context.lineJoin = "round";
  trace(context, strokes.map((stroke) => stroke.map(place)));
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
  const grey = new Float64Array(rows * columns);
  for (let y = 0; y < canvas.height; y += 1) {
    for (let x = 0; x < canvas.width; x += 1) {
      grey[Math.floor(y / FINE) * columns + Math.floor(x / FINE)] += pixels[4 * (y * canvas.width + x) + 3] / (255 * FINE * FINE);
    }
  }
  return grey;
}

/** Draw strokes with the pen that the context has; a single point is a dot. */
export function trace(context, strokes) {
  for (const stroke of strokes) {
    context.beginPath();
    context.moveTo(stroke[0].x, stroke[0].y);
    if (stroke.length === 1) context.lineTo(stroke[0].x + 0.01, stroke[0].y);
    for (const { x, y } of stroke.slice(1)) context.lineTo(x, y);
    context.stroke();
  }
}

function centre(grey, rows, columns) {
  let [sum, x, y] = [0, 0, 0];
  for (let r = 0; r < rows; r += 1) {
    for (let c = 0; c < columns; c += 1) {
      const g = grey[r * columns + c];
      sum += g;
      x += g * (c + 0.5);
      y += g * (r + 0.5);
    }
  }
  return { x: x / sum, y: y / sum };
}
