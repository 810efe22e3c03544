// The explanation to take home: as a page that needs nothing else, as JSON, or as a picture.

import { button, make } from "./dom.js";
import { given } from "./path.js";
import { picture } from "./poster.js";
import { client } from "./server.js";
import { t } from "./words.js";

/** Three buttons; what() gives {model, path} to write down. */
export function downloads(what, attempt) {
  const one = (words, ending, write) => button(words, () => attempt(async () => {
    const { model, path } = what();
    save(await write(model, given(path)), `explanation-${model.name}.${ending}`);
  }));
  const explanation = async (model, told) => (await client.next(model.name, { ...told, explanation: true, top: 0 })).explanation;
  return make(
    "div", { class: "buttons downloads", role: "group", "aria-label": t("page.download.label") },
    make("span", { class: "quiet" }, t("page.download")),
    one("HTML", "html", (model, told) => client.report(model.name, told)),
    one("JSON", "json", async (model, told) => new Blob([JSON.stringify(await explanation(model, told), null, 1)], { type: "application/json" })),
    one("PNG", "png", async (model, told) => picture(await explanation(model, told), model)),
  );
}

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
