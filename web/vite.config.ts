import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

// Of KaTeX's fonts only those in the newest format are in the program: all browsers that run the
// app read it. Rare alphabets fall back to the fonts of the system.
const fonts: Plugin = {
  name: "katex-fonts",
  enforce: "pre",
  transform: (code, id) =>
    /katex(\.min)?\.css$/.test(id)
      ? code.replace(/@font-face\s*\{[^}]*KaTeX_(?:SansSerif|Typewriter)[^}]*\}/g, "").replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\([^)]*\)/g, "")
      : undefined,
};

// The server gives the files at /app/, and the page at each address of the app. Nothing is put
// into the page itself: the Content-Security-Policy allows no inline script and no inline style.
export default defineConfig({
  base: "/app/",
  plugins: [svelte(), fonts],
  build: {
    outDir: "build",
    assetsDir: "",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
    rollupOptions: {
      input: { index: "index.html", sw: "src/sw.ts" },
      // The service worker has one address for ever; what it has to update is in its content.
      output: { entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "[name]-[hash].js") },
    },
  },
  worker: { format: "es" },
  server: { proxy: { "/v1": "http://127.0.0.1:4647" } },
});
