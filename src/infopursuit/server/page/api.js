// The server, and what is said when it does not answer or refuses.

import { authorization } from "./token.js";

export class Trouble extends Error {
  /** away: the server could not be reached, so that trying again may help. */
  constructor(message, { away = false, status = 0 } = {}) {
    super(message);
    this.away = away;
    this.status = status;
  }
}

const PATIENCE = 20000;

async function ask(path, body, read = (response) => response.json()) {
  let response;
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...authorization(), ...(body === undefined ? {} : { "content-type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE),
    });
  } catch {
    throw new Trouble("The server cannot be reached. Nothing is lost: your drawing and your answers are still here.", { away: true });
  }
  if (response.ok) return read(response);
  let told = {};
  try {
    told = await response.json();
  } catch {
    // an answer without words, from something in between
  }
  const words = [told.title ? `${told.title.charAt(0).toUpperCase()}${told.title.slice(1)}.` : `The server answered ${response.status}.`];
  if (told.field && told.value) words.push(`(${told.value})`);
  if (told.remedy) words.push(`${told.remedy.charAt(0).toUpperCase()}${told.remedy.slice(1)}.`);
  throw new Trouble(words.join(" "), { away: [429, 502, 503, 504].includes(response.status), status: response.status });
}

export const models = async () => (await ask("/v1/models")).models;

/** What is believed after a history [{query, answer}], and what to ask next. */
export const next = (model, history, options = {}) =>
  ask(`/v1/models/${encodeURIComponent(model)}/next`, { history, ...options });

export const explanation = async (model, history) => (await next(model, history, { explanation: true, top: 0 })).explanation;

/** The explanation as one HTML file. */
export const report = (model, history) =>
  ask(`/v1/models/${encodeURIComponent(model)}/report`, { history }, (response) => response.blob());
