// The API, as /openapi.json describes it.

import { make } from "./dom.js";

const root = document.getElementById("docs");

/** What a schema asks for, in a few words. */
function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.type === "array") return schema.prefixItems ? `[${schema.prefixItems.map(kind).join(", ")}]` : `list of ${kind(schema.items) || "anything"}`;
  if (schema.type === "object" && schema.additionalProperties) return schema.additionalProperties === true ? "object" : `object of ${kind(schema.additionalProperties)}`;
  return schema.type ?? "anything";
}

const table = (head, rows) => make("div", { class: "scroll" }, make(
  "table", {}, make("thead", {}, make("tr", {}, head.map((cell) => make("th", { scope: "col" }, cell)))),
  make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell)))))));

function fields(name, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([field, one]) => [make("code", {}, field), kind(one) + (required.has(field) ? "" : " (may be left out)"), one.description ?? ""]);
  return make("section", { class: "card", id: name }, make("h2", {}, name), make("p", { class: "quiet" }, schema.description ?? ""), table(["field", "holds", "meaning"], rows));
}

function operation(path, verb, told) {
  const body = told.requestBody?.content?.["application/json"]?.schema;
  const answers = Object.entries(told.responses).map(([status, one]) => [make("code", {}, status), kind(Object.values(one.content ?? {})[0]?.schema), one.description]);
  const given = (told.parameters ?? []).map(({ name, in: place, schema, description }) => [make("code", {}, name), place, `${kind(schema)}${schema.default === undefined ? "" : `, ${schema.default} where it is left out`}${description ? `: ${description}` : ""}`]);
  return make(
    "section", { class: "card" }, make("h2", {}, make("span", { class: "verb" }, verb.toUpperCase()), make("code", {}, path)), make("p", {}, told.summary ?? ""),
    given.length ? table(["parameter", "in", "holds"], given) : null,
    body ? make("p", {}, "Takes ", make("a", { href: `#${kind(body)}` }, kind(body)), " as JSON.") : null,
    table(["status", "answer", "when"], answers));
}

try {
  const api = await (await fetch("/openapi.json")).json();
  const origin = location.origin;
  root.replaceChildren(
    make("h1", {}, `${api.info.title} ${api.info.version}: the API`), make("p", {}, api.info.description),
    make("section", { class: "card" }, make("h2", {}, "Try it"),
      make("pre", {}, make("code", {}, `curl ${origin}/v1/models\ncurl -X POST ${origin}/v1/models/animals/next -H 'content-type: application/json' -d '{"history": []}'`)),
      make("p", {}, "A history is a list of ", make("code", {}, '{"query": name, "answer": choice or null}'), ", in the order in which it was asked. Machines read ", make("a", { href: "/openapi.json" }, "/openapi.json"), ".")),
    ...Object.entries(api.paths).flatMap(([path, verbs]) => Object.entries(verbs).map(([verb, told]) => operation(path, verb, told))),
    ...Object.entries(api.components.schemas).filter(([name]) => !/ValidationError$/.test(name)).map(([name, schema]) => fields(name, schema)));
} catch {
  root.replaceChildren(make("p", { class: "card", role: "alert" }, "The description of the API could not be read; is the server still there? Load this page again."));
}
