// The explanation to take home: as a page that needs nothing else, as JSON, or as a picture.

import { explanation, report } from "./api.js";
import { make } from "./dom.js";
import { history } from "./path.js";
import { picture } from "./poster.js";

/** Three buttons; what() gives {model, path} to write down. */
export function downloads(what, attempt) {
  const button = (words, ending, write) => make("button", {
    type: "button",
    onclick: () => attempt(async () => {
      const { model, path } = what();
      save(await write(model, history(path)), `explanation-${model.name}.${ending}`);
    }),
  }, words);
  return make(
    "div", { class: "buttons downloads", role: "group", "aria-label": "Download the explanation" },
    make("span", { class: "quiet" }, "Download:"),
    button("HTML", "html", (model, told) => report(model.name, told)),
    button("JSON", "json", async (model, told) =>
      new Blob([JSON.stringify(await explanation(model.name, told), null, 1)], { type: "application/json" })),
    button("PNG", "png", async (model, told) => picture(await explanation(model.name, told), model)),
  );
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
