// Be asked: answer questions with buttons or keys, see who is left and why the next question comes, change any answer.

import { Bars } from "./bars.js";
import { bits, capital, count, leading, make, percent, tell } from "./dom.js";
import { downloads } from "./download.js";
import { answer, begin, cut, now, sameAnswers, whatIf } from "./path.js";
import { shade } from "./picture.js";
import { stepList } from "./steps.js";
import { comparison } from "./whatif.js";

const LIKELY = 0.005;

export class AskView {
  constructor(root, models, attempt) {
    Object.assign(this, { root, models, attempt, title: "Be asked" });
    this.model = models[0];
    this.path = null;
    this.busy = false;
    this.bars = new Bars("Candidates and how probable they are", { most: 10 });
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  build() {
    this.number = make("p", { class: "eyebrow" });
    this.question = make("h2", { class: "question", tabindex: "-1", id: "ask-question" });
    this.answers = make("div", { class: "answers", role: "group", "aria-labelledby": "ask-question" });
    this.hint = make("p", { class: "quiet hint" });
    this.undo = make("button", { type: "button", onclick: () => this.takeBack() }, "Undo", make("kbd", { "aria-hidden": "true" }, "U"));
    this.again = make("button", { type: "button", onclick: () => this.begin(true) }, "Start again");
    this.why = make("div", { class: "why" });
    this.left = make("p", { class: "quiet" });
    this.list = make("div");
    this.compare = make("div");
    this.more = make("div", { class: "card", hidden: true }, make("h2", {}, "Your answers"), this.list, downloads(() => ({ model: this.model, path: this.path }), this.attempt));
    this.summary = make("p", {});
    this.picker = make("select", { id: "ask-model", onchange: (event) => { location.hash = `ask/${encodeURIComponent(this.models[event.target.selectedIndex].name)}`; } },
      this.models.map(({ name }) => make("option", {}, name)));
    this.root.append(
      make("div", { class: "intro" }, make("h1", { id: "ask-title" }, "Be asked"), this.summary,
        make("label", { class: "field" }, make("span", {}, "Model"), this.picker)),
      make("div", { class: "two" },
        make("div", { class: "card ask-card" }, this.number, this.question, this.answers, this.hint,
          make("div", { class: "buttons" }, this.undo, this.again), this.why),
        make("div", { class: "card" }, make("h2", {}, "What is left"), this.left, this.bars.element)),
      this.compare, this.more);
  }

  open(name) {
    const found = this.models.find((model) => model.name === name);
    if (found && found !== this.model) {
      this.model = found;
      this.path = null;
    }
    this.picker.selectedIndex = this.models.indexOf(this.model);
    this.summary.textContent = this.model.image
      ? "Think of a picture, and say what is in each patch that it asks about."
      : `Think of one of ${this.model.classes.length}: ${this.model.classes.slice(0, 4).join(", ")} … Each question is the one that tells most, given your answers so far.`;
    if (!this.path) this.begin(false);
    else this.show(false);
  }

  close() {}

  async begin(focus) {
    const path = await this.attempt(() => begin(this.model.name));
    if (path) this.go(path, focus);
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
    this.left.textContent = `${likely} of ${count(this.model.classes.length, "candidate")} above half a percent; ${bits(turn.entropy)} still open.`;
    this.undo.disabled = !asked;
    this.again.disabled = !asked;
    this.more.hidden = !asked;
    this.list.replaceChildren(stepList(this.path, { change: (k, said) => this.ask(k, said) }));
    if (turn.question) {
      this.number.textContent = `Question ${asked + 1}${turn.question.cost == null ? "" : `, costs ${turn.question.cost}`}`;
      this.question.replaceChildren(turn.question.sentence);
      this.answers.replaceChildren(...this.buttons(turn.question));
      this.hint.replaceChildren(...this.keysHint(turn.question));
    } else {
      this.number.textContent = `After ${count(asked, "question")}`;
      this.question.replaceChildren("It is ", make("strong", { id: "ask-verdict" }, first.name), ` (${percent(first.p)})`);
      this.answers.replaceChildren(make("button", { type: "button", class: "main", onclick: () => this.begin(true) }, "Play again"));
      this.hint.replaceChildren(`It stopped because ${turn.stopped_in_words}. ${turn.warning ? `${turn.warning} ` : ""}${turn.calibrated ? "" : "Probabilities are not calibrated. "}Take back or change any answer to see what would have come.`);
    }
    this.why.replaceChildren(...(turn.question ? this.reasons(turn) : []));
    const believed = asked ? `${capital(first.name)} ${percent(first.p)}, ${second.name} ${percent(second.p)}. ` : "";
    tell(turn.question ? `${believed}Question ${asked + 1}: ${turn.question.sentence}` : `It is ${first.name}, ${percent(first.p)}, after ${count(asked, "question")}.`);
    if (focus) (turn.question ? this.answers.querySelector("input, button") : this.question).focus({ preventScroll: true });
  }

  buttons(question) {
    const unknown = make("button", { type: "button", class: "answer soft", onclick: () => this.say(null) }, "Don’t know", make("kbd", { "aria-hidden": "true" }, "D"));
    if (question.patch) return [...this.patch(question.patch), unknown];
    if (question.number) return [this.numberForm(question), unknown];
    if (question.components) return [...this.components(question.components), unknown];
    // "yes" before "no", as people say it
    const order = this.yesNo(question) ? ["yes", "no"] : question.choices ?? [];
    return [...order.map((choice, i) => make("button", { type: "button", class: "answer", onclick: () => this.say(choice) },
      capital(choice), make("kbd", { "aria-hidden": "true" }, this.yesNo(question) ? choice[0].toUpperCase() : String(i + 1)))), unknown];
  }

  /** A patch is answered by lighting its pixels; levels of grey and of colours are chosen with a slider each. */
  patch({ rows, columns, levels, channels }) {
    if (levels > 2 || channels > 1) return this.levels(rows, columns, levels, channels);
    const cells = Array.from({ length: rows * columns }, (_, i) => make("button", {
      type: "button", class: "pixel", "aria-pressed": "false", "aria-label": `Pixel at row ${Math.floor(i / columns) + 1}, column ${(i % columns) + 1}: lit`,
      onclick: (event) => event.currentTarget.setAttribute("aria-pressed", String(event.currentTarget.getAttribute("aria-pressed") !== "true")),
    }));
    const grid = make("div", { class: "pixels" }, cells);
    grid.style.setProperty("--columns", String(columns));
    const done = () => this.say(cells.map((cell) => (cell.getAttribute("aria-pressed") === "true" ? "1" : "0")).join(""));
    return [grid, make("button", { type: "button", class: "answer", onclick: done }, "Answer")];
  }

  levels(rows, columns, levels, channels) {
    const names = channels === 3 ? ["red", "green", "blue"] : ["grey"];
    const pixels = Array.from({ length: rows * columns }, (_, i) => {
      const where = `Pixel at row ${Math.floor(i / columns) + 1}, column ${(i % columns) + 1}`;
      const sliders = names.map((name) => make("input", { type: "range", min: "0", max: String(levels - 1), value: "0", "aria-label": `${where}: ${name}` }));
      const pixel = make("div", { class: "levels" }, sliders);
      const show = () => { pixel.style.background = shade(sliders.map(({ value }) => value / (levels - 1)), "var(--dark)", "var(--lit)"); };
      pixel.addEventListener("input", show);
      show();
      return { pixel, sliders };
    });
    const grid = make("div", { class: "pixels" }, pixels.map(({ pixel }) => pixel));
    grid.style.setProperty("--columns", String(columns));
    const done = () => this.say(pixels.flatMap(({ sliders }) => sliders.map(({ value }) => value)).join(levels > 10 ? "-" : ""));
    return [grid, make("button", { type: "button", class: "answer", onclick: done }, "Answer")];
  }

  /** A number or a date is typed; Enter answers. */
  numberForm({ sentence, number }) {
    const input = make("input", {
      type: number.date ? "date" : "number", step: number.date ? null : "any", required: true, autocomplete: "off",
      "aria-label": sentence, "aria-describedby": "ask-range",
    });
    const send = (event) => {
      event.preventDefault();
      this.say(number.date ? input.value : input.valueAsNumber);
    };
    return make("form", { class: "number", onsubmit: send }, input,
      number.unit ? make("span", { class: "unit" }, number.unit) : null, make("button", { type: "submit", class: "answer" }, "Answer"));
  }

  /** Several components that are asked for together: one choice of each. */
  components(all) {
    const picks = all.map(({ name, choices, answers, unknown }) => {
      const options = [["not known", unknown], ...choices.map((choice, i) => [choice, answers[i]])];
      return make("select", { "aria-label": name }, options.map(([words, value]) => make("option", { value }, words)));
    });
    const rows = picks.map((pick, i) => make("label", { class: "component" }, make("span", {}, all[i].name), pick));
    const done = () => this.say(picks.map((pick) => pick.value).join(", "));
    return [make("div", { class: "components" }, rows), make("button", { type: "button", class: "answer", onclick: done }, "Answer")];
  }

  yesNo(question) {
    return question.choices?.length === 2 && question.choices.includes("yes") && question.choices.includes("no");
  }

  inOrder(outlooks) {
    return outlooks[0]?.answer === "no" ? [...outlooks].reverse() : outlooks;
  }

  keysHint(question) {
    const key = (name) => make("kbd", {}, name);
    if (question.patch) return [question.patch.levels > 2 || question.patch.channels > 1 ? "Set how lit each pixel is, from left to right." : "Click the pixels that are lit."];
    if (question.number) {
      const { low, high, unit } = question.number;
      return [make("span", { id: "ask-range" }, `${low} to ${high}${unit ? ` ${unit}` : ""} in training; Enter answers.`)];
    }
    if (question.components) return ["Choose what is known of each, then answer."];
    const keys = this.yesNo(question) ? [key("Y"), " ", key("N"), " ", key("D")] : [key("1"), " to ", key(String(Math.min(9, question.choices?.length ?? 9))), " ", key("D")];
    return [make("span", { class: "keys" }, "Keys: ", ...keys, " answer, ", key("U"), " undoes, ", key("←"), " ", key("→"), " move.")];
  }

  /** Why this question: what it would settle, what each answer would lead to, and which questions came close. */
  reasons(turn) {
    const parts = [make("h3", {}, "Why this question?"), make("p", {}, turn.why.sentence)];
    if (turn.why.answers) {
      parts.push(make("ul", { class: "outlook" }, this.inOrder(turn.why.answers).map(({ answer: said, probability, then }) => make(
        "li", {}, make("b", {}, capital(said)), ` (${percent(probability)}): `,
        then.filter((one) => one.probability >= 0.01).map((one) => `${one.class} ${percent(one.probability)}`).join(", ") || "nothing stands out"))));
    }
    const others = turn.ranked.slice(1, 6);
    if (others.length) {
      parts.push(make("details", {}, make("summary", {}, "Questions that came close"),
        make("ol", { class: "close" }, others.map(({ sentence, gain }) => make("li", {}, sentence, make("span", { class: "quiet" }, bits(gain)))))));
    }
    return parts;
  }

  key(event) {
    if (this.root.hidden || !this.path || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(select|input|textarea)$/i.test(event.target.tagName)) return;
    const { question } = now(this.path);
    const key = event.key.toLowerCase();
    if (key === "u") this.takeBack();
    else if (key === "arrowleft" || key === "arrowright") this.move(key === "arrowleft" ? -1 : 1);
    else if (!question) return;
    else if (key === "d") this.say(null);
    else if (this.yesNo(question) && (key === "y" || key === "n")) this.say(key === "y" ? "yes" : "no");
    else if (!this.yesNo(question) && !question.patch && !question.number && !question.components && question.choices?.[Number(key) - 1]) this.say(question.choices[Number(key) - 1]);
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
    this.compare.replaceChildren(comparison(old, other, k, { keep: () => this.go(other), drop: () => this.go(old) }));
    document.getElementById("whatif-title").focus();
  }
}
