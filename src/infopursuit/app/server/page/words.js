// The texts of the page in the reader's language, from the same catalogues as reports and the terminal.

let catalogue = { language: "en", direction: "ltr", languages: {}, texts: {} };

const read = async (language) => (await fetch(`/page/messages/${encodeURIComponent(language)}`)).json();
const short = (language) => language.slice(0, 2).toLowerCase();

/** Read the catalogue: of ?lang=, else of the first language of the browser that there is. */
export async function loadWords() {
  const given = new URLSearchParams(location.search).get("lang");
  const wanted = given ? [given] : navigator.languages ?? [navigator.language ?? "en"];
  catalogue = await read(wanted[0]);
  const other = wanted.find((language) => short(language) in catalogue.languages);
  if (!given && other && short(other) !== catalogue.language) catalogue = await read(other);
  document.documentElement.lang = catalogue.language;
  document.documentElement.dir = catalogue.direction;
}

export const language = () => catalogue.language;
export const languages = () => catalogue.languages;

/** A text with its {fields} filled in; with a number n in the form that the language has for it. */
export function t(key, values = {}) {
  const { texts } = catalogue;
  const one = catalogue.language === "fr" ? values.n <= 1 : values.n === 1;
  const form = `${key}.other` in texts && values.n !== undefined ? `${key}.${one && `${key}.one` in texts ? "one" : "other"}` : key;
  return (texts[form] ?? key).replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** A number as the language writes it. */
export const number = (value) => String(value).replace(".", t("decimal"));

/** A whole number with its thousands apart. */
export const whole = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, t("thousands"));

/** A sentence whose numbers are not torn from their percent signs at the end of a line. */
export const unbroken = (sentence) => sentence.replace(/(\d) %/g, "$1\u00a0%");

/** A number as somebody types it: 12.5 and 12,5 and 1.234,5 and 1,234.5; NaN where it is none. */
export function readNumber(text) {
  const bare = String(text).trim().replace(/[\s\u00a0\u202f'’]/g, "");
  const [comma, point] = [bare.lastIndexOf(","), bare.lastIndexOf(".")];
  const grouped = point < 0 && t("decimal") === "." && /^[+-]?\d{1,3}(,\d{3})+$/.test(bare);
  const plain = comma > point && !grouped ? bare.replaceAll(".", "").replace(",", ".") : bare.replaceAll(",", "");
  return plain === "" ? NaN : Number(plain);
}

/** A probability: one that is short of one is never called 100 %. */
export function percent(p) {
  const shown = p > 0.99 && p < 1 ? Math.min(100 * p, 99.9).toFixed(1) : String(Math.round(100 * p));
  const text = t("percent", { p: number(p > 0 && p < 0.005 ? 1 : shown) }).replace(" ", "\u00a0");
  return p > 0 && p < 0.005 ? `<\u00a0${text}` : text;
}

export const bits = (amount) => t("page.bits", { n: number(amount.bits.toFixed(2)) });
export const questions = (n) => t("questions", { n });
