// The explanation to take home: as a page that needs nothing else, as JSON, or as a picture.

import { explanation } from "./api.js";
import { make } from "./dom.js";
import { history } from "./path.js";
import { picture } from "./poster.js";
import { report } from "./report.js";

/** Three buttons; what() gives {model, path} to write down. */
export function downloads(what, attempt) {
  const button = (words, ending, write) => make("button", {
    type: "button",
    onclick: () => attempt(async () => {
      const { model, path } = what();
      save(await write(await explanation(model.name, history(path)), model), `explanation-${model.name}.${ending}`);
    }),
  }, words);
  return make(
    "div", { class: "buttons downloads", role: "group", "aria-label": "Download the explanation" },
    make("span", { class: "quiet" }, "Download:"),
    button("HTML", "html", (told, model) => new Blob([report(told, model)], { type: "text/html" })),
    button("JSON", "json", (told) => new Blob([JSON.stringify(told, null, 1)], { type: "application/json" })),
    button("PNG", "png", (told, model) => picture(told, model)),
  );
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
