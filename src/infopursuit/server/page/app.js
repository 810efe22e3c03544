// The page: which view is shown, and what is said when the server is away.

import { models } from "./api.js";
import { AskView } from "./ask.js";
import { make } from "./dom.js";
import { DrawView } from "./draw.js";
import { askForToken } from "./token.js";

const trouble = document.getElementById("trouble");
const views = {};
let again = null;

/** Do something that may fail: the trouble is said in words, and the same can be tried again. */
async function attempt(work) {
  try {
    const result = await work();
    trouble.hidden = true;
    return result;
  } catch (error) {
    again = () => attempt(work);
    if (error.status === 401) {
      askForToken(document.getElementById("token"), () => again());
      trouble.hidden = true;
      return undefined;
    }
    document.getElementById("trouble-text").textContent = error.message;
    document.getElementById("trouble-retry").hidden = !error.away;
    trouble.hidden = false;
    if (!("away" in error)) console.error(error);
    return undefined;
  }
}

document.getElementById("trouble-retry").addEventListener("click", () => again?.());

/** Show the view that the address names: #draw, #ask, or #ask/model. */
function show() {
  const [name, model] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (name === "main") return;
  const wanted = views[name] ? name : views.draw ? "draw" : "ask";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === wanted) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const [key, view] of Object.entries(views)) {
    view.root.hidden = key !== wanted;
    if (key === wanted) view.open(model);
    else view.close();
  }
  document.title = `${views[wanted].title} · infopursuit`;
}

async function start() {
  const offered = await attempt(models);
  if (!offered) {
    again = start;
    return;
  }
  const images = offered.filter(({ image }) => image);
  // large pictures first: people draw as the 28 x 28 digits are written
  images.sort((a, b) => b.image.shape[0] - a.image.shape[0]);
  const words = [...offered.filter(({ image }) => !image), ...images];
  const drawn = images.filter(({ image }) => image.channels === 1);
  if (drawn.length) views.draw = new DrawView(document.getElementById("draw"), drawn, attempt);
  else document.querySelector('nav a[data-view="draw"]').remove();
  if (words.length) views.ask = new AskView(document.getElementById("ask"), words, attempt);
  else document.getElementById("main").append(make("p", { class: "card" }, "This server has no models."));
  window.addEventListener("hashchange", () => {
    show();
    document.getElementById("main").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  });
  show();
}

start();
