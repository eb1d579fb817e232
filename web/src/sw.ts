/**
 * The service worker: the app starts and shows what was read also without a connection, and
 * notifications are shown while no page is open. It keeps what the server answered until somebody
 * signs out or the server refuses; nothing else is kept.
 */

interface Extendable extends Event {
  waitUntil(p: Promise<unknown>): void;
}
interface FetchEvent extends Extendable {
  request: Request;
  respondWith(p: Promise<Response>): void;
}
interface PushEvent extends Extendable {
  data: { json(): unknown } | null;
}
interface ClickEvent extends Extendable {
  notification: Notification & { data: { path: string } };
}
interface WindowClient {
  url: string;
  focus(): Promise<unknown>;
  postMessage(m: unknown): void;
}
interface Worker_ {
  addEventListener(type: "install" | "activate", f: (e: Extendable) => void): void;
  addEventListener(type: "fetch", f: (e: FetchEvent) => void): void;
  addEventListener(type: "push", f: (e: PushEvent) => void): void;
  addEventListener(type: "notificationclick", f: (e: ClickEvent) => void): void;
  addEventListener(type: "message", f: (e: MessageEvent) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void>; matchAll(o: object): Promise<WindowClient[]>; openWindow(path: string): Promise<unknown> };
  registration: { showNotification(title: string, o: object): Promise<void> };
  location: Location;
}
const worker = globalThis as unknown as Worker_;

const version = "BURIN_VERSION";
const FILES = `files-${version}`;
const SHELL = "/";
const DATA = "data";
const LANGUAGE = "language"; // a cache, with it at /language: what the app speaks, for notifications
const MOST = 800; // answers that are kept; the oldest go
const APP = /^\/($|c\/|x\/|p\/|s$|s\/|help(\/|$))/;
/** What is read again without a connection: lists and transcripts. */
const READ = /^\/v1\/(me|models|preferences|projects|chats(\/[^/]+)?|sessions(\/[^/]+)?|folders|help)$/;
const ASKED = /^\/v1\/sessions\/[^/]+\/(nodes|entries|queue|questions|agents|turns|turn_diff)$/;

worker.addEventListener("install", (e) => {
  e.waitUntil(
    (async () => {
      const files = await caches.open(FILES);
      const page = await fetch(SHELL, { cache: "no-cache" });
      if (!page.ok || page.redirected) return; // nobody is signed in: the next visit keeps it
      const text = await page.clone().text();
      await files.put(SHELL, page);
      await Promise.all([...text.matchAll(/(?:src|href)="(\/app\/[^"]+\.(?:js|css))"/g)].map(([, file]) => files.add(file!)));
    })().catch(() => {}),
  );
});

worker.addEventListener("activate", (e) => {
  e.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (name !== FILES && name !== DATA && name !== LANGUAGE) await caches.delete(name);
      await worker.clients.claim();
    })(),
  );
});

worker.addEventListener("message", (e) => {
  if (e.data === "update") void worker.skipWaiting();
  if (e.data === "forget") void caches.delete(DATA);
});

worker.addEventListener("fetch", (e) => {
  const { request } = e;
  const at = new URL(request.url);
  if (at.origin !== worker.location.origin) return;
  if (request.method === "POST" && (at.pathname === "/v1/signout" || at.pathname === "/signout" || at.pathname === "/v1/me/lock" || at.pathname === "/v1/me/delete" || at.pathname.startsWith("/account/"))) {
    e.waitUntil(caches.delete(DATA));
  } else if (request.mode === "navigate") {
    if (request.method === "GET" && APP.test(at.pathname)) e.respondWith(page(request));
  } else if (request.method === "GET" && at.pathname.startsWith("/app/")) {
    e.respondWith(file(request));
  } else if ((request.method === "GET" && READ.test(at.pathname) && !at.search.startsWith("?q=")) || (request.method === "POST" && ASKED.test(at.pathname))) {
    e.respondWith(read(e));
  }
});

/** page is that of the server, and without one the page that was kept. */
async function page(request: Request): Promise<Response> {
  try {
    const got = await fetch(request);
    if (got.ok && !got.redirected && got.type === "basic") await (await caches.open(FILES)).put(SHELL, got.clone());
    return got;
  } catch {
    return (await caches.match(SHELL)) ?? Response.error();
  }
}

/** file is a built file, whose name changes with its content. */
async function file(request: Request): Promise<Response> {
  const kept = await caches.match(request);
  if (kept) return kept;
  const got = await fetch(request).catch(() => Response.error());
  if (got.ok) await (await caches.open(FILES)).put(request, got.clone());
  return got;
}

/** read asks the server, and without one gives what it answered last. */
async function read(e: FetchEvent): Promise<Response> {
  const { request } = e;
  const body = request.method === "POST" ? await request.clone().text() : "";
  const key = request.method === "GET" ? request.url : `${request.url}?asked=${body.length > 100 ? await hash(body) : encodeURIComponent(body)}`;
  const data = await caches.open(DATA);
  try {
    const got = await fetch(request);
    if (got.ok) {
      const copy = got.clone();
      keeping = keeping.then(() => keep(data, key, copy)).catch(() => {}); // the answer counts also where it can't be kept
      e.waitUntil(keeping);
    } else if (got.status === 401 || got.status === 423) await caches.delete(DATA);
    return got;
  } catch {
    if (request.cache === "reload") return Response.error(); // it is to be newer than what was kept
    const kept = /\/(nodes|entries)$/.test(new URL(request.url).pathname) ? await joined(data, request.url, JSON.parse(body)) : await data.match(key);
    return kept ? new Response(kept.body, { headers: { "Content-Type": "application/json", "X-Burin-Kept": "1" } }) : Response.error();
  }
}

/** joined makes an answer about a transcript of those that are kept: it was read as it grew, in other pieces than are asked for now. */
async function joined(data: Cache, url: string, asked: { from?: number; ids?: string[] }): Promise<Response | undefined> {
  const entries = new Map<string, unknown>();
  const nodes: unknown[] = [];
  const begun = `${url}?asked=`;
  const all = (await data.keys()).filter((k) => k.url.startsWith(begun)).map((k) => ({ k, from: Number(/"from":(\d+)/.exec(decodeURIComponent(k.url.slice(begun.length)))?.[1] ?? Infinity) }));
  for (const { k, from } of all.sort((a, b) => a.from - b.from)) {
    const is = (await (await data.match(k))?.json()) as { nodes?: unknown[] | null; entries?: { entry: { id: string } }[] | null } | undefined;
    for (const e of is?.entries ?? []) entries.set(e.entry.id, e);
    if (from <= nodes.length) (is?.nodes ?? []).forEach((n, i) => (nodes[from + i] = n));
  }
  if (asked.ids) {
    const found = asked.ids.map((id) => entries.get(id)).filter((e) => e !== undefined);
    return found.length > 0 ? Response.json({ entries: found }) : undefined;
  }
  return nodes.length > 0 ? Response.json({ nodes: nodes.slice(asked.from), total: nodes.length }) : undefined;
}

let keeping: Promise<void> = Promise.resolve(); // one after the other
let kept = 0;
async function keep(data: Cache, key: string, answer: Response) {
  await data.delete(key); // so that the newest stand last
  await data.put(key, new Response(await answer.blob(), { headers: { "Content-Type": "application/json" } }));
  if (++kept % 50 !== 0) return;
  const all = await data.keys();
  for (const old of all.slice(0, Math.max(0, all.length - MOST))) await data.delete(old);
}

async function hash(text: string): Promise<string> {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(sum).slice(0, 16), (b) => b.toString(16).padStart(2, "0")).join("");
}

interface Told {
  kind: "done" | "error" | "question" | "test";
  chat?: string;
  session?: string;
  title?: string;
}
const said = { done: "The answer is ready.", error: "An error ended the answer.", question: "A question waits for you.", test: "Notifications arrive here." };
const germanSaid = { done: "Die Antwort ist fertig.", error: "Ein Fehler hat die Antwort beendet.", question: "Eine Frage wartet auf dich.", test: "Hier kommen Mitteilungen an." };
const germanSaidOfSession = { ...germanSaid, done: "Die Sitzung ist fertig.", error: "Ein Fehler hat die Runde beendet." };
const saidOfSession = { ...said, done: "The session is done.", error: "An error ended the turn." };

/** speaksGerman reports whether the app was German when it was open last. */
async function speaksGerman(): Promise<boolean> {
  try {
    const kept = await caches.match(`/${LANGUAGE}`, { cacheName: LANGUAGE });
    return (kept ? await kept.text() : navigator.language).startsWith("de");
  } catch {
    return false;
  }
}

worker.addEventListener("push", (e) => {
  const m = (e.data?.json() ?? { kind: "test" }) as Told;
  const path = m.session ? `/s/${encodeURIComponent(m.session)}` : m.chat ? `/c/${encodeURIComponent(m.chat)}` : "/";
  const show = (german: boolean) =>
    worker.registration.showNotification(m.title || "burin", {
      body: (german ? (m.session ? germanSaidOfSession : germanSaid) : m.session ? saidOfSession : said)[m.kind] ?? "",
      tag: m.session || m.chat || "test",
      renotify: true,
      icon: "/app/icon-192-1.png",
      badge: "/app/icon-192-1.png",
      data: { path },
    });
  e.waitUntil(speaksGerman().then(show));
});

worker.addEventListener("notificationclick", (e) => {
  e.notification.close();
  const { path } = e.notification.data;
  e.waitUntil(
    (async () => {
      const pages = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
      const there = pages.find((p) => new URL(p.url).pathname === path) ?? pages[0];
      if (!there) return worker.clients.openWindow(path);
      there.postMessage({ go: path });
      return there.focus();
    })(),
  );
});
