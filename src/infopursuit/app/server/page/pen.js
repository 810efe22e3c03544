// A square to draw in, by mouse, touch, pen, or keys: arrows move, the space bar puts the pen down and up.

import { make } from "./dom.js";
import { trace } from "./normalize.js";
import { t } from "./words.js";

export const SIZE = 280;
const STEP = 8;

export class Pen {
  /** changed() after each stroke that ends, started() when one begins. */
  constructor({ changed, started }) {
    this.strokes = [];
    this.changed = changed;
    this.started = started;
    this.at = { x: SIZE / 2, y: SIZE / 2 };
    this.down = this.keys = false;
    this.canvas = make("canvas", {
      class: "pad", width: 2 * SIZE, height: 2 * SIZE, tabindex: "0", role: "img",
      "aria-label": t("page.pen.label"),
    });
    const on = (name, act) => this.canvas.addEventListener(name, act);
    on("pointerdown", (event) => this.begin(event));
    on("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) on(name, () => this.end());
    on("keydown", (event) => this.key(event));
    on("blur", () => { this.keys = false; this.end(); this.paint(); });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    requestAnimationFrame(() => this.paint());
  }

  set(strokes) {
    this.strokes = strokes;
    this.paint();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const fit = (v) => Math.max(0, Math.min(SIZE, v));
    return { x: fit(((event.clientX - box.left) * SIZE) / box.width), y: fit(((event.clientY - box.top) * SIZE) / box.height) };
  }

  begin(event) {
    if (event.button > 0) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus({ preventScroll: true });
    this.keys = false;
    this.start(this.place(event));
  }

  start(point) {
    this.started();
    this.down = true;
    this.strokes = [...this.strokes, [point]];
    this.paint();
  }

  move(event) {
    if (!this.down || this.keys) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) this.strokes[this.strokes.length - 1].push(this.place(each));
    this.paint();
  }

  end() {
    if (!this.down) return;
    this.down = false;
    this.changed();
  }

  key(event) {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!move && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    this.keys = true;
    if (event.key === " ") {
      if (this.down) this.end();
      else this.start({ ...this.at });
    } else {
      const fit = (v) => Math.max(0, Math.min(SIZE, v));
      this.at = { x: fit(this.at.x + STEP * move[0]), y: fit(this.at.y + STEP * move[1]) };
      if (this.down) this.strokes[this.strokes.length - 1].push({ ...this.at });
    }
    this.paint();
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(this.canvas);
    context.setTransform(2, 0, 0, 2, 0, 0);
    context.clearRect(0, 0, SIZE, SIZE);
    context.strokeStyle = style.getPropertyValue("--ink");
    context.lineWidth = 20;
    context.lineCap = context.lineJoin = "round";
    trace(context, this.strokes);
    if (!this.strokes.length && !this.keys) {
      context.fillStyle = style.getPropertyValue("--quiet");
      context.font = "500 17px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText(t("page.pen.here"), SIZE / 2, SIZE / 2 + 6);
    }
    if (this.keys) {
      context.strokeStyle = style.getPropertyValue("--warm");
      context.lineWidth = 3;
      context.beginPath();
      context.arc(this.at.x, this.at.y, this.down ? 6 : 11, 0, 7);
      context.stroke();
    }
  }
}
