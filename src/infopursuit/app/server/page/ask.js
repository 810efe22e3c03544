// The game: answer questions with buttons or keys, see who is left and why the next question comes, change any answer.

import { Bars } from "./bars.js";
import { button, capital, key, leading, make, tell } from "./dom.js";
import { downloads } from "./download.js";
import { fields, yesNo } from "./fields.js";
import { answer, begin, cut, now, sameAnswers, whatIf } from "./path.js";
import { stepList } from "./steps.js";
import { comparison } from "./whatif.js";
import { bits, percent, questions, t } from "./words.js";

const LIKELY = 0.005;

export class AskView {
  constructor(root, models, attempt) {
    Object.assign(this, { root, models, attempt, title: t("page.ask") });
    this.model = models[0];
    this.path = null;
    this.busy = false;
    this.bars = new Bars(t("page.ask.bars"), { most: 10 });
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  build() {
    this.number = make("p", { class: "eyebrow" });
    this.question = make("h2", { class: "question", tabindex: "-1", id: "ask-question" });
    this.answers = make("div", { class: "answers", role: "group", "aria-labelledby": "ask-question" });
    this.hint = make("p", { class: "quiet hint" });
    this.undo = make("button", { type: "button", onclick: () => this.takeBack() }, t("page.undo"), key("U"));
    this.again = button(t("page.start_again"), () => this.begin(true));
    this.why = make("div", { class: "why" });
    this.left = make("p", { class: "quiet" });
    this.list = make("div");
    this.compare = make("div");
    this.more = make("div", { class: "card", hidden: true }, make("h2", {}, t("page.answers")), this.list, downloads(() => ({ model: this.model, path: this.path }), this.attempt));
    this.summary = make("p", {});
    this.picker = make("select", { id: "ask-model", onchange: (event) => { location.hash = `ask/${encodeURIComponent(this.models[event.target.selectedIndex].name)}`; } },
      this.models.map(({ name }) => make("option", {}, name)));
    this.root.append(
      make("div", { class: "intro" }, make("h1", { id: "ask-title" }, t("page.ask")), this.summary,
        make("label", { class: "field" }, make("span", {}, t("page.model")), this.picker)),
      make("div", { class: "two" },
        make("div", { class: "card ask-card" }, this.number, this.question, this.answers, this.hint,
          make("div", { class: "buttons" }, this.undo, this.again), this.why),
        make("div", { class: "card" }, make("h2", {}, t("page.ask.left_title")), this.left, this.bars.element)),
      this.compare, this.more);
  }

  open(name) {
    const found = this.models.find((model) => model.name === name);
    if (found && found !== this.model) {
      this.model = found;
      this.path = null;
    }
    this.picker.selectedIndex = this.models.indexOf(this.model);
    const { classes, image } = this.model;
    this.summary.textContent = image ? t("page.ask.picture") : t("page.ask.think", { n: classes.length, some: classes.slice(0, 4).join(t("comma")) });
    if (!this.path) this.begin(false);
    else this.show(false);
  }

  close() {}

  async begin(focus) {
    const { model } = this;
    const path = await this.attempt(() => begin(model.name));
    if (path && this.model === model) this.go(path, focus); // else another one was chosen meanwhile
  }

  go(path, focus = true) {
    this.path = path;
    this.compare.replaceChildren();
    this.show(focus);
  }

  async say(said) {
    if (this.busy || !now(this.path).question) return;
    this.busy = true;
    this.root.setAttribute("aria-busy", "true");
    const path = this.path;
    const grown = await this.attempt(() => answer(path, said));
    this.busy = false;
    this.root.removeAttribute("aria-busy");
    if (grown && this.path === path) this.go(grown);
  }

  takeBack() {
    if (this.path?.steps.length && !this.busy) this.go(cut(this.path, this.path.steps.length - 1));
  }

  show(focus) {
    const turn = now(this.path);
    const [first, second] = leading(turn.posterior, 2);
    const asked = this.path.steps.length;
    this.bars.show(turn.posterior);
    const likely = Object.values(turn.posterior).filter((p) => p >= LIKELY).length;
    this.left.textContent = t("page.ask.left", { likely, all: this.model.classes.length, bits: bits(turn.entropy) });
    this.undo.disabled = this.again.disabled = !asked;
    this.more.hidden = !asked;
    this.list.replaceChildren(stepList(this.path, { change: (k, said) => this.ask(k, said) }));
    const verdict = { class: first.name, p: percent(first.p), questions: questions(asked) };
    if (turn.question) {
      const unknown = make("button", { type: "button", class: "answer soft", onclick: () => this.say(null) }, capital(t("answer.unknown")), key("D"));
      this.number.textContent = t("page.question", { n: asked + 1 }) + (turn.question.cost == null ? "" : ` · ${t("page.cost", { cost: turn.question.cost })}`);
      this.question.replaceChildren(turn.question.sentence);
      this.answers.replaceChildren(...fields(turn.question, (said) => this.say(said), { keys: true }), unknown);
      this.hint.replaceChildren(...this.keysHint(turn.question));
    } else {
      this.number.textContent = t("page.after", verdict);
      this.question.replaceChildren(`${t("page.it_is")} `, make("strong", { id: "ask-verdict" }, first.name), ` (${percent(first.p)})`);
      this.answers.replaceChildren(button(t("page.play_again"), () => this.begin(true), { class: "main" }));
      this.hint.replaceChildren([t("stop", { reason: turn.stopped_in_words }), turn.warning, turn.calibrated ? "" : t("page.uncalibrated"), t("page.ask.change")].filter(Boolean).join(" "));
    }
    this.why.replaceChildren(...(turn.question ? this.reasons(turn) : []));
    const believed = asked ? `${capital(first.name)} ${percent(first.p)}, ${second.name} ${percent(second.p)}. ` : "";
    tell(turn.question ? `${believed}${t("page.question", { n: asked + 1 })}: ${turn.question.sentence}` : `${t("page.it_is")} ${first.name}, ${percent(first.p)}. ${t("page.after", verdict)}.`);
    if (focus) (turn.question ? this.answers.querySelector("input, button") : this.question).focus({ preventScroll: true });
  }

  keysHint(question) {
    if (question.patch) return [t(question.patch.levels > 2 || question.patch.channels > 1 ? "page.pixel.set" : "page.pixel.click")];
    if (question.components) return [t("page.components")];
    if (question.number || !question.choices) return [];
    const some = yesNo(question) ? "Y N D" : `1 … ${Math.min(9, question.choices.length)} D`;
    return [make("span", { class: "keys" }, t("page.keys", { keys: some, undo: "U", move: "← →" }))];
  }

  /** Why this question: what it would settle, what each answer would lead to, and which questions came close. */
  reasons(turn) {
    const parts = [make("h3", {}, t("page.why")), make("p", {}, turn.why.sentence)];
    if (turn.why.answers) {
      const order = turn.why.answers[0]?.answer === "no" ? [...turn.why.answers].reverse() : turn.why.answers;
      parts.push(make("ul", { class: "outlook" }, order.map(({ label, probability, then }) => make(
        "li", {}, make("b", {}, capital(label)), ` (${percent(probability)}): `,
        then.filter((one) => one.probability >= 0.01).map((one) => `${one.class} ${percent(one.probability)}`).join(t("comma")) || t("page.why.nothing")))));
    }
    const others = turn.ranked.slice(1, 6);
    if (others.length) {
      parts.push(make("details", {}, make("summary", {}, t("page.why.close")),
        make("ol", { class: "close" }, others.map(({ sentence, gain }) => make("li", {}, sentence, make("span", { class: "quiet" }, bits(gain)))))));
    }
    return parts;
  }

  key(event) {
    if (this.root.hidden || !this.path || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(select|input|textarea)$/i.test(event.target.tagName)) return;
    const { question } = now(this.path);
    const pressed = event.key.toLowerCase();
    const plain = question && !question.patch && !question.number && !question.components;
    if (pressed === "u") this.takeBack();
    else if (pressed === "arrowleft" || pressed === "arrowright") this.move(pressed === "arrowleft" ? -1 : 1);
    else if (!question) return;
    else if (pressed === "d") this.say(null);
    else if (yesNo(question) && (pressed === "y" || pressed === "n")) this.say(pressed === "y" ? "yes" : "no");
    else if (plain && !yesNo(question) && question.choices?.[Number(pressed) - 1]) this.say(question.choices[Number(pressed) - 1]);
    else return;
    event.preventDefault();
  }

  /** The arrow keys go from one answer to the next, and around. */
  move(by) {
    const all = [...this.answers.querySelectorAll("button")];
    const at = all.indexOf(document.activeElement);
    all[at < 0 ? 0 : (at + by + all.length) % all.length]?.focus();
  }

  async ask(k, said) {
    const old = this.path;
    const other = await this.attempt(() => whatIf(old, k, said, sameAnswers(old)));
    if (!other || this.path !== old) return;
    this.compare.replaceChildren(comparison(old, other, [k], { keep: () => this.go(other), drop: () => this.go(old) }));
    document.getElementById("whatif-title").focus();
  }
}
