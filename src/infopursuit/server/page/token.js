// The token that some servers want: asked for once, kept by the browser until the tab is closed, sent with every request.

import { make } from "./dom.js";

const KEY = "infopursuit-token";
let kept = "";
try {
  kept = sessionStorage.getItem(KEY) ?? "";
} catch {
  // a browser that keeps nothing: it is asked for again when the page is loaded again
}

export const authorization = () => (kept ? { authorization: `Bearer ${kept}` } : {});

function keep(token) {
  kept = token;
  try {
    if (token) sessionStorage.setItem(KEY, token);
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
  const hint = make("p", { class: "quiet", id: "token-hint" }, "Whoever runs the server has it. It stays in this tab, and is forgotten when you close it.");
  const form = make("form", { class: "card token", "aria-labelledby": "token-title", onsubmit: (event) => {
    event.preventDefault();
    // signs that cannot stand in a header would make the request fail before it is sent
    keep(field.value.trim().replace(/[^\x21-\x7e]/g, "?"));
    root.replaceChildren();
    root.hidden = true;
    then();
  } },
  make("h1", { id: "token-title" }, "This server wants a token"),
  wrong ? make("p", { class: "wrong", role: "alert" }, "That was not the right one.") : null,
  make("label", { for: "token-field" }, "Token"),
  make("div", { class: "token-row" }, field, make("button", { type: "submit", class: "main" }, "Open")), hint);
  root.replaceChildren(form);
  root.hidden = false;
  field.focus();
}
