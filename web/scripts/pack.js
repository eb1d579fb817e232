// Puts the built files into dist, compressed, as the program embeds them. With --check it only
// says whether those in dist are the same: it compares what is in them, since versions of zlib
// compress differently.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

const from = new URL("../build/", import.meta.url);
const to = new URL("../dist/", import.meta.url);
const names = readdirSync(from).sort();
const wanted = new Map(names.map((name) => [`${name}.gz`, readFileSync(new URL(name, from))]));
// The service worker is another one with each version of the app, so that browsers notice.
const version = createHash("sha256").update(wanted.get("index.html.gz")).digest("hex").slice(0, 16);
wanted.set("sw.js.gz", Buffer.from(wanted.get("sw.js.gz").toString().replace("BURIN_VERSION", version)));

if (process.argv.includes("--check")) {
  const there = existsSync(to) ? readdirSync(to).sort() : [];
  const stale = [...new Set([...there, ...wanted.keys()])].filter((name) => {
    const is = there.includes(name) && gunzipSync(readFileSync(new URL(name, to)));
    return !is || !wanted.get(name)?.equals(is);
  });
  if (stale.length > 0) {
    console.error(`web/dist is stale (${stale.join(", ")}): run npm run build in web`);
    process.exit(1);
  }
} else {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const [name, data] of wanted) {
    const packed = gzipSync(data, { level: 9 });
    packed[9] = 255; // the system it was made on
    writeFileSync(new URL(name, to), packed);
  }
}
