/** The service worker of the app: offline reading, notices of updates, notifications. */

import { trusted } from "../api/stream";

/** keep asks for entries that only events have told of, where what is asked for is kept to be read without a connection. */
export function keep(ids: string[], ask: (ids: string[]) => Promise<unknown>) {
  if (ids.length > 0 && (navigator.serviceWorker as ServiceWorkerContainer | undefined)?.controller) ask(ids).catch(() => {});
}

/** install registers the service worker, where the browser has one. keep asks for what the app begins with: on the first visit nobody was there to keep it. */
export function install(go: (path: string) => void, update: (take: () => void) => void, keep: () => void) {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined; // none without https
  if (!workers) return;
  workers.addEventListener("message", ({ data }: MessageEvent<{ go?: string }>) => data.go?.startsWith("/") && go(data.go));
  if (!workers.controller) workers.addEventListener("controllerchange", keep, { once: true });
  void workers
    .register(trusted("/sw.js"), { scope: "/" })
    .then((r) => {
      const tell = (w: ServiceWorker | null) => {
        if (!w || !workers.controller) return; // the first one replaces nothing
        update(() => {
          workers.addEventListener("controllerchange", () => location.reload(), { once: true });
          w.postMessage("update");
        });
      };
      tell(r.waiting);
      r.addEventListener("updatefound", () => {
        const w = r.installing;
        w?.addEventListener("statechange", () => w.state === "installed" && tell(w));
      });
      setInterval(() => document.hidden || void r.update().catch(() => {}), 3_600_000);
    })
    .catch(() => {}); // a browser that keeps nothing
}

/** forget removes what the service worker has kept, what was written and not sent, and which folders are open: it is nothing for who signs in next. */
export function forget() {
  navigator.serviceWorker?.controller?.postMessage("forget");
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith("draft:") || key === "folders") localStorage.removeItem(key);
    for (const key of Object.keys(sessionStorage)) if (key.startsWith("edit:")) sessionStorage.removeItem(key);
  } catch {
    // Then there are none.
  }
}
