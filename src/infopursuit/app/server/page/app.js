// The page: which view is shown, in which language, and what is said when the server is away.

import { AskView } from "./ask.js";
import { CaseView } from "./case.js";
import { make } from "./dom.js";
import { DrawView } from "./draw.js";
import { FitView, HomeView } from "./home.js";
import { client } from "./server.js";
import { askForToken } from "./token.js";
import { language, languages, loadWords, t } from "./words.js";

const find = (id) => document.getElementById(id);
const trouble = find("trouble");
const views = {};
let again = null;
let first = "home";
let stale = false; // models were loaded since
const pause = () => new Promise((done) => { setTimeout(done, 1000); });

/** Do something that may fail: the trouble is said in words, and the same can be tried again. While the server loads a
 * model it is tried again without being asked. */
async function attempt(work) {
  try {
    const result = await work();
    trouble.hidden = true;
    return result;
  } catch (error) {
    if (error.status === 503 && error.told.field === "name") {
      find("trouble-text").textContent = t("page.loading", { models: error.told.value });
      find("trouble-retry").hidden = true;
      trouble.hidden = false;
      await pause();
      return attempt(work);
    }
    again = () => attempt(work);
    if (error.status === 401) {
      askForToken(find("token"), () => again());
      trouble.hidden = true;
      return undefined;
    }
    find("trouble-text").textContent = error.away && !error.status ? t("page.away") : error.message;
    find("trouble-retry").hidden = !error.away;
    trouble.hidden = false;
    if (!("away" in error)) console.error(error);
    return undefined;
  }
}

find("trouble-retry").addEventListener("click", () => again?.());

/** Show the view that the address names: #home, #draw, #fit, #ask/model, or #case/model/answers. */
function show() {
  const [name, ...rest] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (name === "main") return;
  const wanted = views[name] ? name : first;
  if (stale && wanted === "home") location.reload();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === wanted) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const [key, view] of Object.entries(views)) {
    view.root.hidden = key !== wanted;
    if (key !== wanted) view.close();
  }
  document.title = `${views[wanted].title} · infopursuit`;
  views[wanted].open(...rest);
}

/** The texts outside the views, and the choice of a language. */
function dress() {
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
  const all = Object.entries(languages());
  const picker = find("language");
  picker.append(...all.map(([code, name]) => make("option", { value: code, lang: code, selected: code === language() }, name)));
  picker.addEventListener("change", () => {
    const address = new URL(location);
    address.searchParams.set("lang", picker.value);
    location.assign(address); // the answers are in its fragment
    if (address.search === location.search) location.reload();
  });
  if (new URLSearchParams(location.search).has("embed")) document.body.classList.add("embedded");
}

/** Say which models are still being loaded, and show them when they are there: at once, unless somebody is answering. */
async function wait({ models, loading }) {
  const said = make("p", { class: "card", role: "status" }, t("page.loading", { models: loading.join(", ") }));
  find("home").append(said);
  for (let left = loading; left.length && (models.length || left.length === loading.length);) {
    await pause();
    left = (await client.models().catch(() => null))?.loading ?? left;
    said.textContent = t("page.loading", { models: left.join(", ") });
  }
  said.hidden = true;
  stale = true;
  if (!find("home").hidden) location.reload();
}

async function start() {
  const offered = await attempt(() => client.models());
  if (!offered) {
    again = start;
    return;
  }
  const images = offered.models.filter(({ image }) => image);
  // large pictures first: people draw as the 28 x 28 digits are written
  images.sort((a, b) => b.image.shape[0] - a.image.shape[0]);
  const cases = offered.models.filter(({ mode }) => mode === "case");
  const games = [...offered.models.filter(({ image, mode }) => !image && mode !== "case"), ...images];
  const drawn = images.filter(({ image }) => image.channels === 1);
  views.home = new HomeView(find("home"), { drawn, games, cases, fit: offered.fit });
  if (drawn.length) views.draw = new DrawView(find("draw"), drawn, attempt);
  if (games.length) views.ask = new AskView(find("ask"), games, attempt);
  if (cases.length || offered.fit) views.case = new CaseView(find("case"), cases, attempt);
  if (offered.fit) views.fit = new FitView(find("fit"), attempt);
  if (offered.models.length === 1 && !offered.loading.length && !offered.fit) first = cases.length ? "case" : drawn.length ? "draw" : "ask";
  for (const link of document.querySelectorAll("nav a")) if (!views[link.dataset.view] || (link.dataset.view === "case" && !cases.length)) link.remove();
  if (offered.loading.length) wait(offered);
  else if (!offered.models.length && !offered.fit) find("main").append(make("p", { class: "card" }, t("page.no_models")));
  window.addEventListener("hashchange", () => {
    show();
    find("main").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  });
  show();
}

await attempt(loadWords);
client.language = language();
dress();
start();
