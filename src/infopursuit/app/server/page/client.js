// A client for the API without dependencies, for this page and for pages of other origins:
//   import { InfopursuitClient } from ADDRESS + "/page/client.js";
//   const client = new InfopursuitClient(ADDRESS, { token, language: "de" });
//   const { question, summary } = await client.next("tumours", { known: { radius: 14 }, history: [] });

export class InfopursuitError extends Error {
  /** status: of the response, 0 without one. away: trying again may help. told: the problem as the server has it. */
  constructor(message, { status = 0, away = false, told = {} } = {}) {
    super(message);
    Object.assign(this, { status, away, told });
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const words = ({ title, field, value, remedy }, status) => [
  title ? `${capital(title)}.` : `HTTP ${status}.`, field && value ? `(${value})` : "", remedy ? `${capital(remedy)}.` : "",
].filter(Boolean).join(" ");

export class InfopursuitClient {
  /** token: a text, or a function that returns one. timeout: milliseconds. */
  constructor(base = "", { token = null, language = "en", timeout = 20000 } = {}) {
    Object.assign(this, { base: base.replace(/\/$/, ""), token, language, timeout });
  }

  /** {models, fit}: the models, and whether tables may be uploaded. */
  models() { return this.ask("/v1/models"); }

  /** A model and all its queries. */
  async model(name) {
    const page = (offset) => this.ask(`${this.path(name)}?limit=500&offset=${offset}&language=${this.language}`);
    const first = await page(0);
    for (let at = first.next_offset; at !== null;) {
      const { queries, next_offset: after } = await page(at);
      first.queries.push(...queries);
      at = after;
    }
    return first;
  }

  /** What is believed after a case {history, known, later, more}, and what to ask next. */
  next(name, given = {}) { return this.post(name, "next", given); }

  /** Which answers count against a class, and which changes would lead to it. */
  whyNot(name, { history, known }, label) { return this.post(name, "why-not", { history, known, label }); }

  /** How many more questions to expect. */
  remaining(name, { history, known }) { return this.post(name, "remaining", { history, known }); }

  /** The case as one HTML file, a Blob. */
  report(name, { history, known }) { return this.post(name, "report", { history, known }, (response) => response.blob()); }

  /** Fit a table, where the server allows it. */
  fit(table, label) { return this.ask("/v1/fit", { table, label, language: this.language }, undefined, 150000); }

  path(name) { return `/v1/models/${encodeURIComponent(name)}`; }

  post(name, verb, body, read) { return this.ask(`${this.path(name)}/${verb}`, { language: this.language, ...body }, read); }

  async ask(path, body, read = (response) => response.json(), timeout = this.timeout) {
    const token = typeof this.token === "function" ? this.token() : this.token;
    let response;
    try {
      response = await fetch(this.base + path, {
        method: body === undefined ? "GET" : "POST",
        headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(timeout),
      });
    } catch {
      throw new InfopursuitError("The server cannot be reached.", { away: true });
    }
    if (response.ok) return read(response);
    let told = {};
    try {
      told = await response.json();
    } catch {
      // an answer without words, from something in between
    }
    throw new InfopursuitError(words(told, response.status), { status: response.status, away: [429, 502, 503, 504].includes(response.status), told });
  }
}
