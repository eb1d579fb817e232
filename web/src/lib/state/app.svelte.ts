/** The state of the whole app: who is signed in, the chats and projects, the address, the stream. */

import { SvelteMap } from "svelte/reactivity";
import { Client, messageOf, web, type Transport } from "../api/client";
import type { Follows } from "../api/stream";
import type { Chat, Me, Project, Usable } from "../api/schema";
import { t } from "../i18n";
import { Open } from "./chat.svelte";

export type Route = { view: "home"; project: string } | { view: "chat"; id: string; entry: string };
export type Theme = "system" | "light" | "dark";
export interface Toast {
  id: number;
  text: string;
  undo?: () => void;
}

function read(address: URL, base: string): Route {
  const [, kind, id] = address.pathname.slice(base.length).split("/");
  if (kind === "c" && id) return { view: "chat", id: decodeURIComponent(id), entry: address.hash.slice(1) };
  return { view: "home", project: kind === "p" && id ? decodeURIComponent(id) : "" };
}

/** stored reads and writes what this browser keeps; a browser that keeps nothing is fine, too. */
export const stored = {
  get(key: string): string {
    try {
      return localStorage.getItem(key) ?? "";
    } catch {
      return "";
    }
  },
  set(key: string, value: string) {
    try {
      if (value === "") localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // It is full, or not allowed.
    }
  },
};

/** Keeps is where drafts and the like are kept. */
export interface Keeps {
  get(key: string): string;
  set(key: string, value: string): void;
}

/** Private is what differs where the server can't read the chats. */
export interface Private {
  /** The address of the project, before those of its chats. */
  base: string;
  /** Shows the project's settings. */
  settings: () => void;
  /** Forgets the key. */
  lock: () => void;
}

/** forgetful keeps things for as long as the page is there. */
function forgetful(): Keeps {
  const all = new Map<string, string>();
  return { get: (key) => all.get(key) ?? "", set: (key, value) => void all.set(key, value) };
}

export class App {
  readonly client: Client;
  readonly follower: Follows;

  me = $state.raw<Me>();
  projects = $state.raw<Project[]>([]);
  chats = $state.raw<Chat[]>([]);
  models = $state.raw<Usable[]>([]);
  route = $state.raw<Route>({ view: "home", project: "" });
  open = $state.raw<Open>();
  offline = $state(false);
  locked = $state(false);
  ready = $state(false);
  theme = $state<Theme>((stored.get("theme") || "system") as Theme);
  sidebar = $state(false); // on a phone
  wide = $state(stored.get("sidebar") !== "closed"); // on a desktop
  dialog = $state<"" | "palette" | "keys">("");
  toasts = $state.raw<Toast[]>([]);
  /** What is said to screen readers. */
  spoken = $state("");
  /** Nothing of private chats is left in the browser. */
  readonly kept: Keeps;
  private seen: SvelteMap<string, string>;
  private toastID = 0;

  constructor(transport: Transport = web, readonly secret?: Private) {
    this.kept = secret ? forgetful() : stored;
    this.seen = new SvelteMap(Object.entries(JSON.parse(this.kept.get("seen") || "{}") as Record<string, string>));
    this.client = new Client(transport);
    this.client.refused = (status) => {
      if (status === 423) this.locked = true;
      else location.assign("/signin");
    };
    this.follower = transport.follow({
      heard: (m) => {
        if (m.session === this.open?.id) this.open?.hear(m);
      },
      state: (s) => (this.offline = s === "offline"),
    });
    addEventListener("popstate", () => this.arrive());
    addEventListener("focus", () => void this.refresh());
    document.addEventListener("visibilitychange", () => document.hidden || void this.refresh());
    setInterval(() => document.hidden || void this.refresh(), 30_000);
    this.paint();
    void this.begin();
  }

  private async begin() {
    this.arrive();
    try {
      const [me, projects, chats, models] = await Promise.all([
        this.client.call("GET /v1/me"),
        this.client.call("GET /v1/projects"),
        this.client.call("GET /v1/chats", { query: { limit: 300 } }),
        this.client.call("GET /v1/models"),
      ]);
      this.me = me;
      this.projects = projects ?? [];
      this.chats = chats ?? [];
      this.models = models ?? [];
    } catch (error) {
      if (!this.locked) this.tell(messageOf(error));
    }
    this.ready = true;
  }

  async refresh() {
    try {
      const [projects, chats] = await Promise.all([this.client.call("GET /v1/projects"), this.client.call("GET /v1/chats", { query: { limit: 300 } })]);
      this.projects = projects ?? [];
      this.chats = chats ?? [];
      if (this.open && !document.hidden) this.look(this.open.id);
      this.offline = false;
    } catch {
      // The next one may work.
    }
  }

  /** go shows an address of the app. */
  go(to: string, replace = false) {
    const path = this.address(to);
    if (path !== location.pathname + location.hash) history[replace ? "replaceState" : "pushState"](null, "", path);
    this.arrive();
  }

  /** address is that of a page of the app. */
  address(path: string): string {
    return this.secret ? this.secret.base + path.replace(/\/$/, "") : path;
  }

  private arrive() {
    this.route = read(new URL(location.href), this.secret?.base ?? "");
    this.sidebar = false;
    const id = this.route.view === "chat" ? this.route.id : "";
    if (this.open?.id === id) return;
    this.open?.close();
    this.open = undefined;
    if (!id) return;
    const open = new Open(id, this.client, this.follower, () => void this.refresh());
    this.open = open;
    void open.load().then(() => this.look(id));
  }

  private look(id: string) {
    const chat = this.chats.find((c) => c.id === id);
    const at = chat?.modified ?? new Date().toISOString();
    if (this.seen.get(id) === at) return;
    this.seen.set(id, at);
    const known = new Set(this.chats.map((c) => c.id));
    this.kept.set("seen", JSON.stringify(Object.fromEntries([...this.seen].filter(([k]) => known.has(k) || k === id))));
  }

  /** unread reports whether a chat has something that this browser has not shown. */
  unread(c: Chat): boolean {
    const seen = this.seen.get(c.id);
    return c.id !== this.open?.id && seen !== undefined && c.modified > seen;
  }

  async change(id: string, body: { title?: string; pinned?: boolean; archived?: boolean }) {
    try {
      const c = await this.client.call("PATCH /v1/chats/{id}", { id, body });
      this.chats = this.chats.map((o) => (o.id === id ? c : o)).filter((o) => !o.archived);
      if (this.open?.id === id) this.open.about = c;
      if (body.archived) {
        this.tell(t("chat.archived"), () => void this.change(id, { archived: false }).then(() => this.refresh()));
        if (this.open?.id === id) this.go("/");
      }
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  async remove(id: string) {
    try {
      await this.client.call("DELETE /v1/chats/{id}", { id });
      this.chats = this.chats.filter((c) => c.id !== id);
      if (this.open?.id === id) this.go("/");
      if (this.secret) this.tell(t("chat.deletedForGood"));
      else this.tell(t("chat.deleted"), () => void this.client.call("POST /v1/chats/{id}/restore", { id }).then(() => this.refresh()));
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  async fork(id: string, entry = "") {
    try {
      const c = await this.client.call("POST /v1/chats/{id}/fork", { id, body: entry ? { entry } : {} });
      this.chats = [c, ...this.chats];
      this.go(`/c/${c.id}`);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  async newProject(name: string) {
    try {
      const p = await this.client.call("POST /v1/projects", { body: { name } });
      this.projects = [p, ...this.projects];
      this.go(`/p/${p.id}`);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  async signOut() {
    await this.client.call("POST /v1/signout").catch(() => {});
    location.assign("/signin");
  }

  tell(text: string, undo?: () => void) {
    const toast: Toast = { id: ++this.toastID, text };
    if (undo) toast.undo = undo;
    this.toasts = [...this.toasts.slice(-2), toast];
    setTimeout(() => this.hush(toast.id), 8000);
  }

  hush(id: number) {
    this.toasts = this.toasts.filter((x) => x.id !== id);
  }

  setTheme(theme: Theme) {
    this.theme = theme;
    stored.set("theme", theme === "system" ? "" : theme);
    this.paint();
  }

  private paint() {
    document.documentElement.dataset["theme"] = this.theme;
  }

  toggleSidebar() {
    if (matchMedia("(max-width: 48rem)").matches) {
      this.sidebar = !this.sidebar;
    } else {
      this.wide = !this.wide;
      stored.set("sidebar", this.wide ? "" : "closed");
    }
  }

  projectName(id: string): string {
    const p = this.projects.find((x) => x.id === id);
    return p?.name ? `${p.icon ? `${p.icon} ` : ""}${p.name}` : "";
  }

  modelName(id: string | undefined): string {
    const m = this.models.find((x) => x.id === id || (id !== undefined && x.id.endsWith(`/${id}`)));
    return m?.name || (id ?? "").split("/").pop() || t("chat.model.default");
  }
}
