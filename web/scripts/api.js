// Writes src/lib/api/schema.ts, the types of the server's API, from docs/openapi.json. With
// --check it only says whether the file is fresh.
import { readFileSync, writeFileSync } from "node:fs";

const spec = JSON.parse(readFileSync(new URL("../../docs/openapi.json", import.meta.url), "utf8"));
const file = new URL("../src/lib/api/schema.ts", import.meta.url);
const named = (name) => name.replace(/[^A-Za-z0-9_]+/g, "_").replace(/(^|_)([a-z])/g, (_, a, b) => b.toUpperCase());

function type(schema) {
  if (!schema || Object.keys(schema).length === 0) return "unknown";
  if (schema.$ref) return named(decodeURIComponent(schema.$ref.replace("#/components/schemas/", "")).replaceAll("~1", "/"));
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  const kinds = [schema.type ?? "any"].flat();
  return kinds
    .filter((kind) => kind !== "null" || kinds.length === 1)
    .map((kind) => {
      switch (kind) {
        case "string":
        case "boolean":
        case "null":
          return kind;
        case "integer":
        case "number":
          return "number";
        case "array":
          return `${wrap(type(schema.items))}[]`;
        case "object":
          return object(schema);
        default:
          return "unknown";
      }
    })
    .concat(kinds.length > 1 && kinds.includes("null") ? ["null"] : [])
    .join(" | ");
}

const wrap = (text) => (text.includes(" ") && !text.startsWith("{") ? `(${text})` : text);

function object(schema) {
  if (!schema.properties) {
    const of = schema.additionalProperties;
    return of && of !== true ? `Record<string, ${type(of)}>` : "Record<string, unknown>";
  }
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(([name, of]) => `${JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${type(of)}`);
  return `{ ${fields.join("; ")} }`;
}

let out = "// Made by npm run api from docs/openapi.json. Do not edit.\n\n";
const schemas = Object.entries(spec.components.schemas).filter(([name]) => /^[A-Za-z0-9_]+$/.test(name));
const known = new Set(schemas.map(([name]) => named(name)));
for (const [name, schema] of schemas) out += `export type ${named(name)} = ${type(schema)};\n`;
out += "\n/** What each operation takes and gives. */\nexport interface Operations {\n";
for (const [path, verbs] of Object.entries(spec.paths)) {
  for (const [verb, op] of Object.entries(verbs)) {
    const body = op.requestBody?.content?.["application/json"]?.schema;
    const good = Object.entries(op.responses ?? {}).find(([status]) => status.startsWith("2"))?.[1];
    const result = good?.content?.["application/json"]?.schema;
    out += `  ${JSON.stringify(`${verb.toUpperCase()} ${path}`)}: { in: ${body ? type(body) : "undefined"}; out: ${result ? type(result) : "unknown"} };\n`;
  }
}
out += "}\n";
out = out.replace(/\b(Struct_\w+)\b/g, (name) => (known.has(name) ? name : "unknown"));

if (process.argv.includes("--check")) {
  if (readFileSync(file, "utf8") !== out) {
    console.error("web/src/lib/api/schema.ts is stale: run npm run api in web");
    process.exit(1);
  }
} else {
  writeFileSync(file, out);
}
