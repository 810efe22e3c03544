// Ten digits as strokes, written for this page, in a square of 100.

const round = (...points) => ({ points, smooth: true });
const straight = (...points) => ({ points, smooth: false });

const DIGITS = [
  [round([50, 12], [30, 26], [25, 52], [34, 78], [52, 87], [69, 74], [74, 48], [66, 22], [50, 12])],
  [straight([40, 28], [53, 13], [51, 87])],
  [round([29, 31], [38, 16], [57, 13], [69, 26], [64, 45], [46, 65], [27, 85]), straight([27, 85], [50, 84], [74, 83])],
  [round([30, 20], [47, 12], [65, 20], [64, 37], [46, 47]), round([46, 47], [67, 54], [71, 70], [57, 84], [39, 86], [27, 76])],
  [straight([34, 13], [29, 50], [70, 48]), straight([66, 14], [63, 50], [61, 88])],
  [straight([70, 14], [37, 15], [34, 44]), round([34, 44], [53, 40], [69, 52], [68, 71], [53, 86], [30, 81])],
  [round([60, 11], [42, 28], [31, 54], [33, 76], [50, 87], [67, 76], [65, 59], [49, 53], [34, 64])],
  [straight([27, 18], [73, 15], [57, 46], [45, 88])],
  [round([66, 24], [50, 12], [35, 24], [43, 40], [60, 55], [67, 72], [50, 87], [33, 72], [42, 55], [58, 40], [66, 24])],
  [round([66, 30], [54, 47], [36, 42], [35, 23], [50, 12], [65, 20], [66, 44], [62, 66], [56, 88])],
];

/** The strokes of a digit in a square of `size`. */
export function example(digit, size) {
  return DIGITS[digit].map(({ points, smooth }) =>
    (smooth ? curve(points) : dense(points)).map(([x, y]) => ({ x: (x * size) / 100, y: (y * size) / 100 })),
  );
}

// A Catmull-Rom curve through the points.
function curve(points) {
  const at = (i) => points[Math.max(0, Math.min(points.length - 1, i))];
  const found = [];
  for (let i = 0; i + 1 < points.length; i += 1) {
    for (let t = 0; t < 1; t += 0.1) {
      found.push([0, 1].map((d) => {
        const [a, b, c, e] = [at(i - 1)[d], at(i)[d], at(i + 1)[d], at(i + 2)[d]];
        return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - e) * t * t + (3 * b - a - 3 * c + e) * t ** 3);
      }));
    }
  }
  return [...found, points[points.length - 1]];
}

function dense(points) {
  return points.flatMap(([x, y], i) => {
    if (!i) return [[x, y]];
    const [u, v] = points[i - 1];
    return Array.from({ length: 8 }, (_, k) => [u + ((x - u) * (k + 1)) / 8, v + ((y - v) * (k + 1)) / 8]);
  });
}
