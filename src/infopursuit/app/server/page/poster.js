// An explanation as a picture: the verdict, what was asked and answered, and bars.

import { shade } from "./picture.js";
import { pixelsIn, ranked, revealed } from "./told.js";
import { percent, questions, t } from "./words.js";

const [WIDE, EDGE, LINE, MOST] = [900, 40, 30, 16];
const INK = { text: "#16242c", quiet: "#5c6d76", main: "#14708f", track: "#e3eaed", warm: "#b45309", page: "#ffffff" };

/** A PNG as a blob. */
export function picture(told, model) {
  const k = told.steps.length;
  const shown = told.steps.slice(-MOST);
  const side = told.shape ? 280 : 0;
  const high = EDGE * 2 + 110 + Math.max(shown.length * LINE + 30, side + 20) + 5 * LINE + 40;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * WIDE, 2 * high];
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.fillStyle = INK.page;
  context.fillRect(0, 0, WIDE, high);
  const write = (text, x, y, size, colour, weight = 400, room = WIDE - EDGE - x) => {
    context.font = `${weight} ${size}px system-ui, sans-serif`;
    context.fillStyle = colour;
    context.fillText(fit(context, text, room), x, y);
  };
  const [best] = ranked(told, k);
  write(`${best.name}, ${percent(best.p)}`, EDGE, EDGE + 32, 34, INK.text, 650);
  write(t("page.poster.after", { questions: questions(k), model: model.name }), EDGE, EDGE + 62, 17, INK.quiet);
  const top = EDGE + 110;
  shown.forEach((step, i) => {
    const number = k - shown.length + i + 1;
    const room = WIDE - 2 * EDGE - side - (side ? 30 : 0);
    write(`${number}.`, EDGE, top + i * LINE, 16, INK.quiet);
    write(told.shape ? step.name : step.sentence, EDGE + 34, top + i * LINE, 16, INK.text, 400, room - 190);
    if (told.shape && step.answer) patch(context, told, step, EDGE + room - 140, top + i * LINE - 16);
    else write(step.said, EDGE + room - 140, top + i * LINE, 16, INK.main, 650, 140);
  });
  if (side) paint(context, told, WIDE - EDGE - side, top - 18, side);
  const below = top + Math.max(shown.length * LINE + 30, side + 20);
  ranked(told, k).slice(0, 5).forEach(({ name, p }, i) => {
    const y = below + i * LINE;
    write(name, EDGE, y, 16, INK.text, 400, 170);
    context.fillStyle = INK.track;
    context.fillRect(EDGE + 190, y - 12, 500, 12);
    context.fillStyle = INK.main;
    context.fillRect(EDGE + 190, y - 12, 500 * p, 12);
    write(percent(p), EDGE + 710, y, 16, INK.text);
  });
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

function paint(context, told, left, top, side) {
  const [rows, columns] = told.shape;
  const cell = side / Math.max(rows, columns);
  context.fillStyle = INK.track;
  context.fillRect(left, top, cell * columns, cell * rows);
  revealed(told, told.steps.length).forEach((line, r) => line.forEach((value, c) => {
    if (value === null) return;
    context.fillStyle = shade(value, "#ffffff", INK.text);
    context.fillRect(left + c * cell, top + r * cell, cell + 0.3, cell + 0.3);
  }));
  context.strokeStyle = INK.quiet;
  context.strokeRect(left, top, cell * columns, cell * rows);
}

// The pixels of one answer, where they lie in relation to each other.
function patch(context, told, step, left, top) {
  const pixels = pixelsIn(told, step);
  pixels.forEach(({ row, column, pixel }) => {
    context.fillStyle = pixel === null ? INK.track : shade(pixel, "#ffffff", INK.text);
    const [x, y] = [left + 7 * (column - pixels[0].column), top + 7 * (row - pixels[0].row)];
    context.fillRect(x, y, 7, 7);
    context.strokeStyle = INK.track;
    context.strokeRect(x, y, 7, 7);
  });
}

function fit(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let cut = text;
  while (cut && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
  return `${cut}…`;
}
