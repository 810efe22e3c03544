// The token that some servers want: asked for once, kept by the browser until the tab is closed, sent with every request.

import { make } from "./dom.js";
import { t } from "./words.js";

const KEY = "infopursuit-token";
let kept = "";
try {
  kept = sessionStorage.getItem(KEY) ?? "";
} catch {
  // a browser that keeps nothing: it is asked for again when the page is loaded again
}

export const token = () => kept;

function keep(given) {
  kept = given;
  try {
    if (given) sessionStorage.setItem(KEY, given);
    else sessionStorage.removeItem(KEY);
  } catch {
    // as above
  }
}

/** Ask for the token in place of the page; then do what waited for it. */
export function askForToken(root, then) {
  const wrong = kept !== "";
  keep("");
  const field = make("input", { type: "password", id: "token-field", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-hint" });
  const hint = make("p", { class: "quiet", id: "token-hint" }, t("page.token.hint"));
  const form = make("form", { class: "card token", "aria-labelledby": "token-title", onsubmit: (event) => {
    event.preventDefault();
    // signs that cannot stand in a header would make the request fail before it is sent
    keep(field.value.trim().replace(/[^\x21-\x7e]/g, "?"));
    root.replaceChildren();
    root.hidden = true;
    then();
  } },
  make("h1", { id: "token-title" }, t("page.token.title")),
  wrong ? make("p", { class: "wrong", role: "alert" }, t("page.token.wrong")) : null,
  make("label", { for: "token-field" }, t("page.token.label")),
  make("div", { class: "token-row" }, field, make("button", { type: "submit", class: "main" }, t("page.token.open"))), hint);
  root.replaceChildren(form);
  root.hidden = false;
  field.focus();
}
