// A row that somebody pastes or uploads, matched with the columns of a model by name: JSON, CSV, TSV, or "name: value" lines.

import { readNumber } from "./words.js";

const plain = (name) => String(name).toLowerCase().replace(/[\s_.-]+/g, " ").trim();

/** {known: {column: value}, strange: [names that no column has], rows}. columns: {name: question}. */
export function readRow(text, columns) {
  const { row, rows } = parse(text.replace(/^\ufeff/, "").trim());
  const names = new Map([...columns.keys()].map((name) => [plain(name), name]));
  const [known, strange] = [{}, []];
  for (const [given, value] of Object.entries(row)) {
    const name = names.get(plain(given));
    if (name === undefined) strange.push(given);
    else if (value !== null && String(value).trim() !== "") known[name] = typed(value, columns.get(name));
  }
  return { known, strange, rows };
}

/** A value as the server takes it: a number for a number, else text. */
export function typed(value, question) {
  const text = String(value).trim();
  return question?.number && !question.number.date && Number.isFinite(readNumber(text)) ? readNumber(text) : text;
}

function parse(text) {
  if (/^[[{]/.test(text)) {
    const all = [JSON.parse(text)].flat();
    return { row: all[0] ?? {}, rows: all.length };
  }
  const lines = split(text);
  if (lines.length > 1 && lines[0].length > 1) return { row: Object.fromEntries(lines[0].map((name, i) => [name, lines[1][i] ?? ""])), rows: lines.length - 1 };
  const pairs = text.split("\n").map((line) => line.match(/^\s*([^:=\t]+)[:=\t]\s*(.*)$/)).filter(Boolean);
  return { row: Object.fromEntries(pairs.map(([, name, value]) => [name.trim(), value.trim()])), rows: pairs.length ? 1 : 0 };
}

/** CSV or TSV as rows of cells; quotes may hold commas and line ends. */
export function split(text) {
  const first = text.split("\n", 1)[0];
  const mark = ["\t", ";", ","].find((each) => first.includes(each)) ?? ",";
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const [letter, row] = [text[i], rows[rows.length - 1]];
    if (quoted && letter === '"' && text[i + 1] === '"') (row[row.length - 1] += '"', i += 1);
    else if (letter === '"') quoted = !quoted;
    else if (letter === mark && !quoted) row.push("");
    else if (letter === "\n" && !quoted) rows.push([""]);
    else if (letter !== "\r" || quoted) row[row.length - 1] += letter;
  }
  return rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some(Boolean));
}
