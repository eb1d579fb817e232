// Makes what runs models in the browser, of the npm package WebLLM, in a folder: webllm.js, the
// library as a script of a worker, and webllm.json, its language models.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const to = process.argv[2];
const file = fileURLToPath(import.meta.resolve("@mlc-ai/web-llm"));
const { modelLibURLPrefix, ModelType, prebuiltAppConfig } = await import(file);

// A worker that isn't a module can't import the library, which is one file that imports nothing and
// exports in its last statement. Most of it is WebAssembly, so that a bundler would save little.
const [code, exported] = readFileSync(file, "utf8").split(/^export \{/m);
if (!exported || /^(import|export)\s/m.test(code)) throw new Error("the library has another form than this script knows");
const license = readFileSync(join(dirname(file), "../LICENSE"), "utf8"); // which asks to be passed on
if (license.includes("*/")) throw new Error("the license ends a comment");
writeFileSync(join(to, "webllm.js"), `/*! WebLLM, https://github.com/mlc-ai/web-llm\n\n${license}*/\nself.webllm = (() => {\n${code}\nreturn { MLCEngine, prebuiltAppConfig };\n})();\n`);

const weights = "https://huggingface.co/";
const libraries = new URL("..", modelLibURLPrefix).href;
const under = (root, address) => {
  if (!address.startsWith(root)) throw new Error(`${address} isn't under ${root}`);
  return address.slice(root.length);
};
// Those for small devices come first, then by memory.
const models = prebuiltAppConfig.model_list
  .filter((m) => (m.model_type ?? ModelType.LLM) === ModelType.LLM && m.vram_required_MB)
  .map((m) => ({
    id: m.model_id,
    vramRequired: Math.round(m.vram_required_MB * 1024 ** 2),
    lowResource: m.low_resource_required === true,
    features: m.required_features ?? [],
    bufferRequired: m.buffer_size_required_bytes ?? 0,
    contextWindow: m.overrides?.context_window_size ?? 0,
    weights: under(weights, m.model),
    library: under(libraries, m.model_lib),
  }))
  .sort((a, b) => b.lowResource - a.lowResource || a.vramRequired - b.vramRequired || (a.id < b.id ? -1 : 1));
if (models.length < 50) throw new Error(`only ${models.length} models were found`);
writeFileSync(join(to, "webllm.json"), JSON.stringify(models));
