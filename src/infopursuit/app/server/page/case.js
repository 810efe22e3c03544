// A case: what is known of it, one question at a time, the outcome so far in a sentence, and why it is not another.

import { Bars } from "./bars.js";
import { button, capital, leading, make, tell } from "./dom.js";
import { downloads } from "./download.js";
import { fields } from "./fields.js";
import { pack, unpack } from "./kept.js";
import { KnownForm } from "./known.js";
import { answer, anotherQuestion, begin, cut, given, now, restore, sameAnswers, whatIf } from "./path.js";
import { client } from "./server.js";
import { performance } from "./performance.js";
import { stepList } from "./steps.js";
import { comparison } from "./whatif.js";
import { number, percent, questions, t, unbroken } from "./words.js";

export class CaseView {
  constructor(root, models, attempt) {
    Object.assign(this, { root, models, attempt, title: t("page.case"), model: null, path: null, busy: false });
    this.bars = new Bars(t("page.case.bars"), { side: (name, best) => (best || !this.told() ? null : this.whyNotButton(name)) });
    this.build();
  }

  build() {
    this.heading = make("h1", { id: "case-title" });
    this.note = make("p", { class: "quiet" });
    this.performance = make("div", { class: "performance", id: "case-performance" });
    this.summary = make("p", { class: "summary", id: "case-summary" });
    this.remaining = make("p", { class: "quiet", id: "case-remaining" });
    this.number = make("p", { class: "eyebrow" });
    this.question = make("h2", { class: "question", tabindex: "-1", id: "case-question" });
    this.answers = make("div", { class: "answers", role: "group", "aria-labelledby": "case-question" });
    this.others = make("div", { class: "buttons others" });
    this.hint = make("p", { class: "quiet hint" });
    this.why = make("div", { class: "why" });
    this.aside = make("div");
    this.known = new KnownForm((values) => this.know(values));
    this.list = make("div");
    this.undo = button(t("page.undo"), () => this.path.steps.length && this.go(cut(this.path, this.path.steps.length - 1)));
    this.copied = make("span", { class: "quiet", role: "status" });
    this.more = make("div", { class: "so-far", hidden: true }, make("h2", {}, t("page.answers")), this.list,
      downloads(() => ({ model: this.model, path: this.path }), this.attempt));
    this.picker = make("select", { id: "case-model", onchange: () => { location.hash = `case/${encodeURIComponent(this.models[this.picker.selectedIndex].name)}`; } },
      this.models.map(({ name }) => make("option", {}, name)));
    const pick = this.models.length < 2 ? null : make("label", { class: "field" }, make("span", {}, t("page.model")), this.picker);
    this.root.append(
      make("div", { class: "intro" }, this.heading, this.note, this.performance, pick),
      make("div", { class: "card outcome" }, this.summary, this.remaining), this.known.element,
      make("div", { class: "two" },
        make("div", {}, make("div", { class: "card ask-card" }, this.number, this.question, this.answers, this.others, this.hint, this.why), this.aside),
        make("div", { class: "card" }, make("h2", {}, t("page.case.probabilities")), this.bars.element,
          make("div", { class: "buttons tools" }, this.undo, button(t("page.case.new"), () => this.restart()), button(t("page.case.link"), () => this.copy())), this.copied, this.more)));
  }

  /** How much is known or answered. */
  told() {
    return this.path.steps.length + Object.keys(this.path.known).length;
  }

  /** Open a case: of a model, with what its address holds. */
  async open(name, kept = "") {
    const wanted = name || this.model?.name || this.models[0]?.name;
    if (this.path && this.model.name === wanted && (kept === "" ? name === undefined : kept === pack(this.path))) return this.show(false);
    const loaded = this.model?.name === wanted ? this.model : await this.attempt(() => client.model(wanted));
    if (!loaded) return undefined;
    this.model = loaded;
    this.queries = new Map(loaded.queries.map((each) => [each.name, each]));
    this.known.offer(loaded.queries);
    this.note.textContent = loaded.summary;
    this.performance.replaceChildren(...performance(loaded.performance, loaded.label_name));
    this.picker.selectedIndex = this.models.findIndex((each) => each.name === wanted);
    const saved = kept && unpack(kept);
    if (kept && !saved) this.attempt(() => { throw Object.assign(new Error(t("page.case.damaged")), { away: false }); });
    const path = await this.attempt(() => (saved ? restore(wanted, this.queries, saved) : begin(wanted)));
    return path && this.go(path, false);
  }

  close() {}

  restart() {
    this.known.clear();
    return this.attempt(() => begin(this.model.name)).then((path) => path && this.go(path));
  }

  /** Values that are known beforehand; what was answered already stays, unless it is among them. */
  async know(values) {
    const steps = this.path.steps.filter(({ question }) => !(question.column in values) && !(question.name in values));
    const told = steps.map(({ question, answer: said, applies }) => ({ query: question.name, answer: said, applies }));
    const path = await this.attempt(() => restore(this.model.name, this.queries, { known: values, steps: told }));
    if (path) this.go(path);
  }

  go(path, focus = true) {
    this.path = path;
    this.aside.replaceChildren();
    const kept = pack(path);
    window.history.replaceState(null, "", `#case/${encodeURIComponent(this.model.name)}${kept ? `/${kept}` : ""}`);
    this.show(focus);
  }

  /** Something that takes a while and gives another path. */
  async move(work) {
    if (this.busy) return;
    this.busy = true;
    this.root.setAttribute("aria-busy", "true");
    const before = this.path;
    const path = await this.attempt(work);
    this.busy = false;
    this.root.removeAttribute("aria-busy");
    if (path && this.path === before) this.go(path);
  }

  show(focus) {
    const turn = now(this.path);
    const asked = this.path.steps.length;
    const asks = turn.question && !this.path.stopped;
    this.title = capital(turn.title);
    document.title = `${this.title} · infopursuit`;
    this.heading.textContent = this.title;
    this.summary.textContent = unbroken(turn.summary);
    this.bars.show(turn.posterior);
    this.undo.disabled = !asked;
    this.copied.textContent = "";
    this.known.show(this.path.known);
    this.more.hidden = !this.told();
    this.list.replaceChildren(this.knownList(), stepList(this.path, { plain: true, change: (k, said) => this.ask(k, said) }));
    if (asks) this.showQuestion(turn, asked);
    else this.showEnd(turn, asked);
    this.why.replaceChildren(...(asks ? this.reasons(turn) : []));
    this.expect(asks && !this.path.more);
    tell(`${turn.summary} ${asks ? `${this.number.textContent}: ${turn.question.sentence}` : this.hint.textContent}`);
    if (focus) (asks ? this.answers.querySelector("input, select, button") : this.question).focus({ preventScroll: true });
  }

  showQuestion({ question }, asked) {
    this.number.textContent = t("page.question", { n: asked + 1 }) + (question.cost == null ? "" : ` · ${t("page.cost", { cost: question.cost })}`);
    this.question.replaceChildren(question.sentence);
    this.answers.replaceChildren(...fields(question, (said) => this.move(() => answer(this.path, said))));
    this.others.replaceChildren(
      button(capital(t("answer.unknown")), () => this.move(() => answer(this.path, null))),
      button(capital(t("answer.not_applicable")), () => this.move(() => answer(this.path, null, question, { applies: false }))),
      button(capital(t("answer.later")), () => this.move(() => anotherQuestion(this.path, { aside: question.name, more: this.path.more }))),
      button(t("page.case.stop"), () => this.go({ ...this.path, stopped: true }), { class: "quiet-button" }));
    this.hint.textContent = "";
  }

  showEnd(turn, asked) {
    const [first] = leading(turn.posterior, 1);
    const label = this.model.label_name || t("label");
    this.number.textContent = t("page.after", { questions: questions(asked) });
    this.question.replaceChildren(`${capital(label)}: `, make("strong", { id: "case-verdict" }, first.name), ` (${percent(first.p)})`);
    const more = turn.stop_reason !== "exhausted";
    const on = turn.question && !turn.stop_reason ? button(t("page.case.continue"), () => this.go({ ...this.path, stopped: false }), { class: "main" })
      : button(t("page.case.more"), () => this.move(() => anotherQuestion(this.path, { more: true })), { class: "main" });
    this.answers.replaceChildren(...(more ? [on] : []));
    this.others.replaceChildren();
    this.hint.textContent = [turn.stop_reason ? t("stop", { reason: turn.stopped_in_words }) : t("page.case.stopped"), turn.warning, t("page.case.change")].filter(Boolean).join(" ");
  }

  /** How many more questions to expect: asked for on its own, so that the question does not wait for it. */
  async expect(wanted) {
    const { path } = this;
    this.remaining.textContent = wanted ? "\u00a0" : "";
    if (!wanted) return;
    const found = await client.remaining(path.model, given(path)).catch(() => null);
    if (this.path === path && found?.sentence) this.remaining.textContent = `${found.sentence}${t("full_stop")}`;
  }

  knownList() {
    const all = Object.entries(this.path.known);
    if (!all.length) return "";
    return make("ul", { class: "known-list" }, all.map(([name, value]) => make("li", {}, make("span", { class: "tag" }, t("page.known.tag")), `${name}: `, make("b", {}, number(value)))));
  }

  /** Why this question, in plain words; bits behind "details". */
  reasons(turn) {
    const { why, ranked } = turn;
    const share = turn.entropy.bits > 1e-9 ? why.gain.bits / turn.entropy.bits : 0;
    const parts = [make("p", {}, t("page.why.best", { share: percent(share) }))];
    const other = ranked[1];
    if (other) parts.push(make("p", {}, t(other.gain.bits > 0.9 * why.gain.bits ? "page.why.runner_up_near" : "page.why.runner_up", { sentence: other.sentence })));
    if (why.answers) {
      const rows = why.answers.filter(({ probability }) => probability >= 0.005).map(({ label, probability, then }) => make("tr", {},
        make("th", { scope: "row" }, capital(label)), make("td", {}, percent(probability)),
        make("td", {}, then.slice(0, 2).map((one) => `${one.class} ${percent(one.probability)}`).join(t("comma")))));
      parts.push(make("table", { class: "outlook-table" }, make("caption", { class: "unseen" }, t("page.why")),
        make("thead", {}, make("tr", {}, ["page.why.answer", "page.why.likely", "page.why.then"].map((key) => make("th", { scope: "col" }, t(key))))), make("tbody", {}, rows)));
    }
    parts.push(make("details", {}, make("summary", {}, t("page.details")), make("p", { class: "quiet" }, why.sentence),
      make("ol", { class: "close" }, ranked.slice(0, 5).map(({ sentence, gain }) => make("li", {}, sentence, make("span", { class: "quiet" }, t("page.bits", { n: number(gain.bits.toFixed(2)) })))))));
    return [make("details", {}, make("summary", {}, t("page.why")), make("div", { class: "why-body" }, parts))];
  }

  whyNotButton(name) {
    return button(t("page.why_not"), () => this.askWhyNot(name), { class: "small", "aria-label": t("whynot.title", { class: name }) });
  }

  async askWhyNot(label) {
    const { path } = this;
    const found = await this.attempt(() => client.whyNot(path.model, given(path), label));
    if (!found || this.path !== path) return;
    const show = found.changes.length ? button(t("page.why_not.show"), () => this.showChanges(found), { class: "main" }) : null;
    const close = button(t("page.close"), () => { this.aside.replaceChildren(); this.question.focus({ preventScroll: true }); });
    this.aside.replaceChildren(make("section", { class: "card whynot", "aria-labelledby": "whynot-title" },
      make("h2", { id: "whynot-title", tabindex: "-1" }, t("whynot.title", { class: label })),
      found.sentences.map((sentence) => make("p", {}, sentence)), make("div", { class: "buttons" }, show, close)));
    document.getElementById("whynot-title").focus();
  }

  /** The same questions with the named answers changed, all others kept. */
  async showChanges({ changes }) {
    const old = this.path;
    const to = new Map(changes.map(({ query, answer: said }) => [query, said]));
    const asked = new Set(old.steps.map(({ question }) => question.name));
    const known = { ...old.known };
    for (const [query, said] of to) if (!asked.has(query)) known[this.known.keyOf(this.queries.get(query))] = said;
    const steps = old.steps.map(({ question, answer: said, applies }) => ({ query: question.name, answer: to.has(question.name) ? to.get(question.name) : said, applies }));
    const other = await this.attempt(() => restore(old.model, this.queries, { known, steps, later: old.later, stopped: old.stopped, more: old.more }));
    if (!other || this.path !== old) return;
    const changed = [...to.keys()].map((query) => (asked.has(query) ? old.steps.findIndex(({ question }) => question.name === query) : this.known.keyOf(this.queries.get(query))));
    this.compare(old, other, changed);
  }

  async ask(k, said) {
    const old = this.path;
    const other = await this.attempt(() => whatIf(old, k, said, sameAnswers(old)));
    if (other && this.path === old) this.compare(old, other, [k]);
  }

  compare(old, other, changed) {
    this.aside.replaceChildren(comparison(old, other, changed, { keep: () => this.go(other), drop: () => this.go(old) }));
    const title = document.getElementById("whatif-title");
    title.focus();
    title.scrollIntoView({ block: "center" });
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.copied.textContent = t("page.case.copied");
    } catch {
      this.copied.replaceChildren(make("input", { type: "text", readonly: true, value: location.href, "aria-label": t("page.case.link"), onfocus: ({ target }) => target.select() }));
    }
  }
}
