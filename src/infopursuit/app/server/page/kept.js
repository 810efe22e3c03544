// A case in the address: what was known, asked and put aside, so that a reload and a link bring it back. Nothing is stored.

/** The part of the address after the model. */
export function pack({ known, later, steps, more, stopped }) {
  const kept = {
    ...(Object.keys(known).length ? { k: known } : {}),
    ...(steps.length ? { h: steps.map(({ question, answer, applies }) => (applies ? [question.name, answer] : [question.name, null, 0])) } : {}),
    ...(later.length ? { l: later } : {}), ...(more ? { m: 1 } : {}), ...(stopped ? { s: 1 } : {}),
  };
  if (!Object.keys(kept).length) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(kept));
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** What `pack` made; null where it is damaged. */
export function unpack(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
    const { k = {}, h = [], l = [], m = 0, s = 0 } = JSON.parse(new TextDecoder().decode(bytes));
    return { known: k, later: l, steps: h.map(([query, answer, applies = 1]) => ({ query, answer, applies: applies === 1 })), more: m === 1, stopped: s === 1 };
  } catch {
    return null;
  }
}
