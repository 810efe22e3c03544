// Draw a digit and watch which patches are asked, what they reveal, and what is believed.

import { Bars } from "./bars.js";
import { button, calm, leading, make, tell } from "./dom.js";
import { downloads } from "./download.js";
import { example } from "./examples.js";
import { look, toImage } from "./normalize.js";
import { answer, begin, cut, now, whatIf } from "./path.js";
import { Pen, SIZE } from "./pen.js";
import { colours, paint, seen } from "./picture.js";
import { short, stepList } from "./steps.js";
import { comparison } from "./whatif.js";
import { bits, percent, questions, t } from "./words.js";

const PAUSE = 550;
const WAIT = 700;

export class DrawView {
  constructor(root, models, attempt) {
    Object.assign(this, { root, models, attempt, title: t("page.draw") });
    this.model = models[0];
    this.path = this.image = this.timer = null;
    this.shown = 0;
    this.playing = false;
    this.run = 0; // grows whenever the drawing changes, so that what was under way for an older one is dropped
    this.pen = new Pen({ changed: () => this.drawn(), started: () => this.stop() });
    this.bars = new Bars(t("page.draw.bars"), { fixed: true });
    this.build();
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  build() {
    this.seen = make("canvas", { class: "seen", width: 2 * SIZE, height: 2 * SIZE, role: "img" });
    this.verdict = make("p", { class: "verdict" });
    this.asked = make("p", { class: "asked" });
    this.play = button(t("page.draw.play"), () => (this.playing ? this.stop() : this.start()), { class: "main" });
    this.step = button(t("page.draw.step"), () => { this.stop(); this.forward(); });
    this.back = button(t("page.draw.back"), () => { this.stop(); this.show(this.shown - 1); });
    this.slider = make("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": t("page.draw.slider"), oninput: () => { this.stop(); this.show(Number(this.slider.value)); } });
    this.list = make("div");
    this.compare = make("div");
    this.more = make("div", { class: "card", hidden: true }, make("h2", {}, t("page.draw.asked")), this.list, downloads(() => this.forDownload(), this.attempt));
    const picks = Array.from({ length: 10 }, (_, digit) =>
      button(String(digit), () => this.pick(digit), { class: "pick", "aria-label": t("page.draw.example", { digit }) }));
    const picker = this.models.length < 2 ? null : make(
      "label", { class: "field" }, make("span", {}, t("page.model")),
      make("select", { id: "draw-model", onchange: (event) => { this.model = this.models[event.target.selectedIndex]; this.drawn(0); } },
        this.models.map(({ name, image }) => make("option", {}, `${name} (${image.shape.join(" × ")})`))));
    this.root.append(
      make("div", { class: "intro" }, make("h1", { id: "draw-title" }, t("page.draw")),
        make("p", {}, t("page.draw.intro")), picker),
      make("div", { class: "three" },
        make("div", { class: "card" }, make("h2", {}, t("page.draw.yours")), this.pen.canvas,
          make("div", { class: "buttons" }, button(t("page.draw.clear"), () => this.clear()), button(t("page.draw.take_back"), () => { this.pen.set(this.pen.strokes.slice(0, -1)); this.drawn(0); })),
          make("div", { class: "picks", role: "group", "aria-label": t("page.draw.pick") }, picks)),
        make("div", { class: "card" }, make("h2", {}, t("page.draw.seen")), this.seen, this.asked,
          make("div", { class: "buttons" }, this.play, this.back, this.step), this.slider),
        make("div", { class: "card" }, make("h2", {}, t("page.draw.believes")), this.bars.element, this.verdict)),
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
    this.seen.setAttribute("aria-label", t("page.draw.seen_share", { share: words.share, questions: questions(steps.length) }));
    this.slider.max = String(this.path.steps.length);
    this.slider.value = String(this.shown);
    this.slider.setAttribute("aria-valuetext", t("page.after", { questions: questions(this.shown) }));
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
    const sure = t("page.draw.sure", { p: percent(first.p), questions: questions(steps.length), share });
    if (!this.image) return { share, verdict: [t("page.draw.start")], asked: t("page.draw.nothing", { n: this.model.n_queries }), spoken: "" };
    if (!turn.question) {
      const stopped = t("stop", { reason: turn.stopped_in_words });
      return { share, verdict: [make("span", { class: "quiet" }, t("page.it_is")), name, make("span", {}, sure)], asked: stopped, spoken: `${t("page.it_is")} ${first.name}, ${sure} ${stopped}` };
    }
    const asked = t("page.draw.expected", { n: steps.length + 1, patch: short(turn.question.patch), gain: bits(turn.why.gain), open: bits(turn.entropy) });
    const guess = !steps.length ? t("page.draw.unseen") : t("page.draw.perhaps", { a: `${first.name} (${percent(first.p)})`, b: `${second.name} (${percent(second.p)})` });
    return { share, verdict: [guess], asked, spoken: `${guess} ${asked}` };
  }

  ended() {
    return this.path !== null && this.shown === this.path.steps.length && !now(this.path).question;
  }

  controls() {
    this.play.textContent = t(this.playing ? "page.draw.pause" : this.ended() ? "page.play_again" : "page.draw.play");
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
    this.compare.replaceChildren(comparison(old, other, [k], { keep: close(other), drop: close(old) }));
    document.getElementById("whatif-title").focus();
  }

  forDownload() {
    return { model: this.model, path: cut(this.path, this.shown) };
  }
}
