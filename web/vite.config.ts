import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The server gives the files at /app/, and the page at each address of the app. Nothing is put
// into the page itself: the Content-Security-Policy allows no inline script and no inline style.
export default defineConfig({
  base: "/app/",
  plugins: [svelte()],
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
