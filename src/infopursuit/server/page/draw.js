// Draw a digit and watch which patches are asked, what they reveal, and what is believed.

import { Bars } from "./bars.js";
import { calm, count, leading, make, percent, tell } from "./dom.js";
import { downloads } from "./download.js";
import { example } from "./examples.js";
import { look, toImage } from "./normalize.js";
import { answer, begin, cut, now, whatIf } from "./path.js";
import { Pen, SIZE } from "./pen.js";
import { colours, paint, seen } from "./picture.js";
import { short, stepList } from "./steps.js";
import { comparison } from "./whatif.js";

const PAUSE = 550;
const WAIT = 700;

export class DrawView {
  constructor(root, models, attempt) {
    Object.assign(this, { root, models, attempt, title: "Draw a digit" });
    this.model = models[0];
    this.path = this.image = this.timer = null;
    this.shown = 0;
    this.playing = false;
    this.run = 0; // grows whenever the drawing changes, so that what was under way for an older one is dropped
    this.pen = new Pen({ changed: () => this.drawn(), started: () => this.stop() });
    this.bars = new Bars("How probable each digit is", { fixed: true });
    this.build();
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  build() {
    const button = (words, act, options = {}) => make("button", { type: "button", onclick: act, ...options }, words);
    this.seen = make("canvas", { class: "seen", width: 2 * SIZE, height: 2 * SIZE, role: "img" });
    this.verdict = make("p", { class: "verdict" });
    this.asked = make("p", { class: "asked" });
    this.play = button("Play", () => (this.playing ? this.stop() : this.start()), { class: "main" });
    this.step = button("Step", () => { this.stop(); this.forward(); });
    this.back = button("Back", () => { this.stop(); this.show(this.shown - 1); });
    this.slider = make("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Question", oninput: () => { this.stop(); this.show(Number(this.slider.value)); } });
    this.list = make("div");
    this.compare = make("div");
    this.more = make("div", { class: "card", hidden: true }, make("h2", {}, "What was asked"), this.list, downloads(() => this.forDownload(), this.attempt));
    const picks = Array.from({ length: 10 }, (_, digit) =>
      button(String(digit), () => this.pick(digit), { class: "pick", "aria-label": `Example: a ${digit}` }));
    const picker = this.models.length < 2 ? null : make(
      "label", { class: "field" }, make("span", {}, "Model"),
      make("select", { id: "draw-model", onchange: (event) => { this.model = this.models[event.target.selectedIndex]; this.drawn(0); } },
        this.models.map(({ name, image }) => make("option", {}, `${name} (${image.shape.join(" × ")})`))));
    this.root.append(
      make("div", { class: "intro" }, make("h1", { id: "draw-title" }, "Draw a digit"),
        make("p", {}, "It may look at one small patch at a time, picks the one that tells most, and stops when it is sure."), picker),
      make("div", { class: "three" },
        make("div", { class: "card" }, make("h2", {}, "Your drawing"), this.pen.canvas,
          make("div", { class: "buttons" }, button("Clear", () => this.clear()), button("Take back a stroke", () => { this.pen.set(this.pen.strokes.slice(0, -1)); this.drawn(0); })),
          make("div", { class: "picks", role: "group", "aria-label": "Or pick an example" }, picks)),
        make("div", { class: "card" }, make("h2", {}, "What it has seen"), this.seen, this.asked,
          make("div", { class: "buttons" }, this.play, this.back, this.step), this.slider),
        make("div", { class: "card" }, make("h2", {}, "What it believes"), this.bars.element, this.verdict)),
      this.compare, this.more);
  }

  open() {
    if (!this.path) this.clear();
    else this.show();
  }

  close() {
    this.stop();
  }

  clear() {
    this.pen.set([]);
    this.drawn(0);
  }

  pick(digit) {
    this.pen.set(example(digit, SIZE));
    this.drawn(0);
  }

  /** The drawing has changed: begin anew, after a moment in which the next stroke may come. */
  async drawn(wait = WAIT) {
    this.stop();
    this.run += 1;
    const run = this.run;
    this.image = toImage(this.pen.strokes, SIZE, this.model.image);
    this.compare.replaceChildren();
    const path = await this.attempt(() => begin(this.model.name));
    if (!path || run !== this.run) return;
    this.path = path;
    this.show(0);
    if (this.image) this.timer = setTimeout(() => this.start(), wait);
  }

  start() {
    if (!this.image) return;
    if (this.ended()) this.show(0); // once more from the start
    this.playing = true;
    this.controls();
    this.forward();
  }

  stop() {
    clearTimeout(this.timer);
    this.playing = false;
    if (this.path) this.controls();
  }

  /** One question further: one that was asked already is shown, a new one is asked. */
  async forward() {
    const run = this.run;
    if (!this.path || !this.image) return;
    if (this.shown < this.path.steps.length) this.show(this.shown + 1);
    else {
      const { question } = now(this.path);
      if (!question) { this.stop(); return; }
      const path = this.path;
      const grown = await this.attempt(() => answer(path, look(this.image, question.patch)));
      if (run !== this.run) return;
      if (!grown) { this.stop(); return; }
      this.path = grown;
      this.show(grown.steps.length);
    }
    if (!this.playing) return;
    if (this.ended()) this.stop();
    else this.timer = setTimeout(() => this.playing && run === this.run && this.forward(), calm() ? PAUSE * 1.5 : PAUSE);
  }

  show(k = this.shown) {
    if (!this.path) return;
    this.shown = Math.max(0, Math.min(k, this.path.steps.length));
    const turn = this.path.turns[this.shown];
    const steps = this.path.steps.slice(0, this.shown);
    const context = this.seen.getContext("2d");
    context.setTransform(2, 0, 0, 2, 0, 0);
    paint(context, SIZE, this.model.image.shape, steps, this.image && turn.question?.patch, colours(this.seen));
    this.bars.show(turn.posterior);
    const words = this.words(turn, steps);
    this.verdict.replaceChildren(...words.verdict);
    this.asked.textContent = words.asked;
    this.seen.setAttribute("aria-label", `${words.share} of the picture seen after ${count(steps.length, "question")}`);
    this.slider.max = String(this.path.steps.length);
    this.slider.value = String(this.shown);
    this.slider.setAttribute("aria-valuetext", `after ${count(this.shown, "question")}`);
    this.more.hidden = !this.path.steps.length;
    this.list.replaceChildren(stepList(this.path, {
      shown: this.shown, look: (to) => { this.stop(); this.show(to); }, change: (at, said) => this.ask(at, said),
    }));
    this.controls();
    if (this.image) tell(words.spoken);
  }

  words(turn, steps) {
    const pixels = seen(this.model.image.shape, steps).flat();
    const share = percent(pixels.filter((value) => value !== null).length / pixels.length);
    const [first, second] = leading(turn.posterior, 2);
    const name = make("strong", { class: "big", id: "draw-digit" }, first.name);
    const sure = `${percent(first.p)} sure after ${count(steps.length, "question")}, having seen ${share} of the picture`;
    const article = first.name === "8" ? "an" : "a";
    if (!this.image) return { share, verdict: ["Draw a digit, or pick an example."], asked: `Nothing yet. It could ask about ${this.model.n_queries} patches.`, spoken: "" };
    if (!turn.question) {
      return { share, verdict: [make("span", { class: "quiet" }, `It is ${article}`), name, make("span", {}, `${sure}.`)], asked: `It stopped: ${turn.stopped_in_words}.`, spoken: `It is ${article} ${first.name}, ${sure}. It stopped because ${turn.stopped_in_words}.` };
    }
    const asked = `${steps.length ? `Question ${steps.length + 1}` : "First question"}: ${short(turn.question.patch).toLowerCase()}, ${turn.why.gain.bits.toFixed(2)} of ${turn.entropy.bits.toFixed(2)} bits expected.`;
    const guess = !steps.length ? "It has seen nothing yet." : `Perhaps ${first.name} (${percent(first.p)}) or ${second.name} (${percent(second.p)}).`;
    return { share, verdict: [guess], asked, spoken: `${guess} ${asked}` };
  }

  ended() {
    return this.path !== null && this.shown === this.path.steps.length && !now(this.path).question;
  }

  controls() {
    this.play.textContent = this.playing ? "Pause" : this.ended() ? "Play again" : "Play";
    this.play.disabled = !this.image;
    this.step.disabled = !this.image || this.ended();
    this.back.disabled = this.shown === 0;
    this.slider.disabled = !this.path?.steps.length;
  }

  /** What if the answer to question k had been another? All other patches are looked up in the drawing. */
  async ask(k, said) {
    this.stop();
    const run = this.run;
    while (now(this.path).question) { // the old path to its end, so that both can be compared
      const path = this.path;
      const grown = await this.attempt(() => answer(path, look(this.image, now(path).question.patch)));
      if (!grown || run !== this.run) return;
      this.path = grown;
    }
    const old = this.path;
    const other = await this.attempt(() => whatIf(old, k, said, (question) => look(this.image, question.patch)));
    if (!other || run !== this.run) return;
    this.show(old.steps.length);
    const close = (path) => () => { this.path = path; this.compare.replaceChildren(); this.show(path.steps.length); this.step.focus(); };
    this.compare.replaceChildren(comparison(old, other, k, { keep: close(other), drop: close(old) }));
    document.getElementById("whatif-title").focus();
  }

  forDownload() {
    return { model: this.model, path: cut(this.path, this.shown) };
  }
}
