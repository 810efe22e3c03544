// A session as a form. Python has the state: `view` is what to show, and messages {do, value} say what was answered.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function table(caption, headers, rows) {
  const head = element("tr", {}, ...headers.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  return element("table", { "aria-label": caption }, element("thead", {}, head), element("tbody", {}, ...body));
}

function bars(posterior) {
  const rows = posterior.map(({ name, share, words }) => {
    const part = element("span");
    part.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
    const track = element("span", { class: "ip-track", "aria-hidden": "true" }, part);
    return [name, track, element("span", { class: "ip-number" }, words)];
  });
  return table("probability of each class", ["class", "", "probability"], rows);
}

// Several variables at once: pixels that are clicked, else a list for each. -1 is not known.
function cells(question, say) {
  const chosen = question.cells.map(({ value }) => value);
  const pixels = question.columns && question.cells[0].choices.length === 2;
  const inputs = question.cells.map(({ name, choices }, k) => {
    if (!pixels) {
      const options = ["not known", ...choices].map((text, i) =>
        element("option", { value: i - 1, selected: i - 1 === chosen[k] }, text),
      );
      const list = element("select", { "aria-label": name, onchange: () => (chosen[k] = Number(list.value)) }, ...options);
      return question.columns ? list : element("label", {}, name, list);
    }
    const show = () => {
      button.dataset.cell = chosen[k];
      button.textContent = chosen[k] < 0 ? "?" : "";
      button.setAttribute("aria-label", `${name}: ${chosen[k] < 0 ? "not known" : choices[chosen[k]]}`);
    };
    const turn = () => {
      chosen[k] = chosen[k] === 1 ? -1 : chosen[k] + 1;
      show();
    };
    const button = element("button", { type: "button", onclick: turn });
    show();
    return button;
  });
  const grid = element("div", { class: pixels ? "ip-cells ip-pixels" : "ip-cells" }, ...inputs);
  if (question.columns) grid.style.gridTemplateColumns = `repeat(${question.columns}, auto)`;
  const send = (event) => {
    event.preventDefault();
    say("answer", chosen);
  };
  return element("form", { onsubmit: send }, grid, element("div", { class: "ip-row" }, answerButton()));
}

const answerButton = () => element("button", { type: "submit", class: "ip-main" }, "Answer");

// A number, a date, one of many choices, or written words.
function field(question, say) {
  let input;
  if (question.choices) {
    const options = question.choices.map((choice) => element("option", { value: choice }, choice));
    input = element("select", { "aria-label": question.sentence }, element("option", { value: "" }, "choose …"), ...options);
  } else {
    const kind = question.number && !question.number.date ? { type: "number", step: "any" } : { type: "text" };
    input = element("input", { ...kind, autocomplete: "off", "aria-label": question.sentence });
  }
  const send = (event) => {
    event.preventDefault();
    if (input.value.trim()) say("answer", input.value.trim());
    else input.focus();
  };
  const unit = question.number?.unit ? [element("span", {}, question.number.unit)] : [];
  return element("form", { class: "ip-row", onsubmit: send }, input, ...unit, answerButton());
}

function asking(question, say) {
  const parts = [element("h4", {}, question.sentence)];
  const few = question.buttons;
  if (question.hint) parts.push(element("p", { class: "ip-note" }, question.hint));
  if (few) {
    const buttons = question.choices.map((choice, i) =>
      element("button", { type: "button", "data-key": i < 9 ? i + 1 : null, onclick: () => say("answer", choice) }, choice),
    );
    parts.push(element("div", { class: "ip-row", role: "group", "aria-label": "answers" }, ...buttons));
  } else parts.push(question.cells ? cells(question, say) : field(question, say));
  return parts;
}

function other(view, say) {
  const button = (text, what, enabled) =>
    element("button", { type: "button", class: "ip-other", disabled: !enabled, onclick: () => say(what) }, text);
  const open = view.question !== null;
  return element(
    "div",
    { class: "ip-row", role: "group", "aria-label": "other answers" },
    ...(open
      ? [button("Don't know", "unknown", true), button("Does not apply", "not_applicable", true), button("Later", "later", true)]
      : []),
    button("Undo", "undo", view.answers.length > 0),
  );
}

function render({ model, el }) {
  const root = element("div", { class: "ip-session", role: "group", "aria-label": "questions", "data-lm-suppress-shortcuts": "true" });
  const status = element("div", { "aria-live": "polite" });
  const rest = element("div");
  root.append(status, rest);
  el.append(root);

  let asked = false; // whether this form waits for Python
  const say = (what, value = null) => {
    asked = true;
    for (const each of root.querySelectorAll("button, input, select")) each.disabled = true; // until Python has answered
    model.send({ do: what, value });
  };

  const show = () => {
    const view = model.get("view");
    const done = view.stopped && !view.question;
    const parts = done
      ? [element("h4", {}, view.result), ...(view.summary ? [element("p", {}, view.summary)] : []), element("p", {}, `${view.asked[0].toUpperCase()}${view.asked.slice(1)}. ${view.stopped}`)]
      : asking(view.question, say);
    if (view.warning) parts.push(element("p", { class: "ip-error", role: "alert" }, view.warning));
    if (view.error) parts.push(element("p", { class: "ip-error", role: "alert" }, view.error));
    const picture = element("div", { class: "ip-picture" });
    picture.innerHTML = view.picture; // made by infopursuit.presentation.notebook.picture: numbers and a PNG, no text of users
    if (view.picture) parts.splice(1, 0, picture);
    status.replaceChildren(...parts);
    const said = [
      ...view.known.map(({ question, answer }) => ["known", question, answer]),
      ...view.answers.map(({ question, answer }, k) => [`${k + 1}`, question, answer]),
    ];
    const answers = said.length ? [table("answers so far", ["", "question", "answer"], said)] : [];
    rest.replaceChildren(other(view, say), bars(view.posterior), ...answers);
    if (asked) root.querySelector("form input, form select, form button, button:enabled")?.focus({ preventScroll: true });
    asked = false;
  };

  // Keys 1 to 9 choose an answer; no key of the form reaches the notebook, where d d deletes a cell.
  const press = (event) => {
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
    root.querySelector(`button[data-key="${CSS.escape(event.key)}"]:enabled`)?.click();
  };
  root.addEventListener("keydown", press);
  model.on("change:view", show);
  show();
  return () => model.off("change:view", show);
}

export default { render };
