/** The state of the whole app: who is signed in, the chats and projects, the address, the stream. */

import { Client, Failure, messageOf, web, type Transport } from "../api/client";
import type { Message } from "../api/source";
import type { Follows } from "../api/stream";
import type { Sessions } from "../coding/list.svelte";
import type { Chat, Me, Operations, Preferences, Project, Usable } from "../api/schema";
import { t } from "../i18n";
import type { Loading } from "../private/webllm";
import type { PageName } from "../ui/pages";
import { Open } from "./chat.svelte";
import { copy } from "./copy";
import { followKeyboard } from "./keyboard";
import { forget, install } from "./pwa";

export type Route = { view: "home"; project: string } | { view: "chat"; id: string; entry: string } | { view: "page"; page: PageName; id: string } | { view: "coding"; id: string };
export type Theme = "system" | "light" | "dark";
export type Changes = Operations["PATCH /v1/chats/{id}"]["in"];
export interface Toast {
  id: number;
  text: string;
  undo?: () => void;
  label?: string; // of what undo does, if it is something else
}

function read(address: URL, base = ""): Route {
  const [, kind, id, more] = address.pathname.slice(base.length).split("/");
  if (kind === "s") return { view: "coding", id: decodeURIComponent(id ?? "") };
  if (kind === "p" && id && more === "settings") return { view: "page", page: "project", id: decodeURIComponent(id) };
  if (kind === "p" && id && more === "files") return { view: "page", page: "files", id: decodeURIComponent(id) + address.hash };
  if (kind === "x" && id) return { view: "page", page: "beside", id: decodeURIComponent(id) };
  if (kind === "chats") return { view: "page", page: "chats", id: address.hash.slice(1) };
  if (kind === "settings") return { view: "page", page: "settings", id: id ?? "" };
  if (kind === "help") return { view: "page", page: "help", id: decodeURIComponent(address.pathname.slice(6) + address.hash) };
  if (kind === "c" && id) return { view: "chat", id: decodeURIComponent(id), entry: address.hash.slice(1) };
  return { view: "home", project: kind === "p" && id ? decodeURIComponent(id) : "" };
}

/** first puts one at the beginning of a list that may have it already: the stream is sometimes faster than an answer. */
export const first = <T extends { id: string }>(one: T, list: T[]): T[] => [one, ...list.filter((o) => o.id !== one.id)];

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

/** How many errors of the page are told; more say nothing new. */
const MOST_FAILURES = 20;

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
  /** What of the lists can't be opened: it can be deleted. */
  lost = $state.raw<{ projects: Project[]; chats: Chat[] }>({ projects: [], chats: [] });
  models = $state.raw<Usable[]>([]);
  preferences = $state.raw<Preferences>({ revision: 0 });
  route = $state.raw<Route>({ view: "home", project: "" });
  open = $state.raw<Open>();
  offline = $state(false);
  locked = $state(false);
  ready = $state(false);
  theme = $state<Theme>((stored.get("theme") || "system") as Theme);
  sidebar = $state(false); // on a phone
  wide = $state(stored.get("sidebar") !== "closed"); // on a desktop
  dialog = $state<"" | "palette" | "keys" | "chat" | "notifications">("");
  about = $state(""); // the chat whose settings the dialog shows
  toasts = $state.raw<Toast[]>([]);
  /** What stands above a part of the app that has no chat. */
  heading = $state.raw<{ title: string; sub: string }>();
  /** The coding sessions; undefined until that part of the app is loaded. */
  coding: Sessions | undefined;
  /** Who else hears what is said of a session. */
  readonly listeners = new Map<string, (m: Message) => void>();
  /** What is said to screen readers. */
  spoken = $state("");
  /** The next chat is in no list, and is removed a day after its last use. */
  temporary = $state(false);
  /** Nothing of private chats is left in the browser. */
  readonly kept: Keeps;
  /** Grows with each change of lists, for pages that read lists of their own. */
  changes = $state(0);
  /** The model that comes into the browser now, in private projects. */
  loading = $state.raw<Loading | null>(null);
  private refreshing: Promise<void> | undefined;
  private behind = false;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private toastID = 0;
  private failed = new Set<string>();

  constructor(transport: Transport = web, readonly secret?: Private) {
    this.kept = secret ? forgetful() : stored;
    this.client = new Client(transport);
    this.client.refused = (status) => {
      if (status === 423) this.locked = true;
      else location.assign("/signin");
    };
    this.follower = transport.follow({
      heard: (m) => {
        if (m.lists) this.stale();
        if (m.sessions) this.coding?.heard();
        if (m.session === this.open?.id) this.open?.hear(m);
        if (m.session) this.listeners.get(m.session)?.(m);
        for (const id of m.files ?? []) this.listeners.get(`files/${id}`)?.(m);
      },
      state: (s) => (this.offline = s === "offline"),
    });
    addEventListener("popstate", () => this.arrive());
    document.addEventListener("visibilitychange", () => document.hidden || !this.open || this.look(this.open.id));
    addEventListener("error", (e) => this.fails(e.error ?? e.message));
    addEventListener("unhandledrejection", (e) => this.fails(e.reason));
    followKeyboard();
    this.paint();
    const begun = this.begin();
    if (!secret) {
      install(
        (path) => this.go(path),
        (take) => this.tell(t("app.update"), take, t("app.reload"), true),
        () => void begun.then(() => this.keep()).catch(() => {}),
      );
    }
  }

  private async begin() {
    this.arrive();
    try {
      const [me, projects, chats, models, preferences] = await Promise.all([
        this.client.call("GET /v1/me"),
        this.client.call("GET /v1/projects"),
        this.client.call("GET /v1/chats", { query: { limit: 300 } }),
        this.client.call("GET /v1/models"),
        this.client.call("GET /v1/preferences"),
      ]);
      this.me = me;
      const before = stored.get("person");
      if (before !== me.id) forget(); // what was kept is somebody else's
      stored.set("person", me.id);
      if (before && before !== me.id) location.reload(); // without what fields have of it
      this.take(projects ?? [], chats ?? []);
      this.models = models ?? [];
      if (this.client.stale) this.offline = true;
      this.preferences = preferences;
    } catch (error) {
      if (!this.locked) this.tell(messageOf(error));
    }
    this.ready = true;
    performance.mark("ready");
  }

  /** keep asks once more for what the first visit began with, when somebody is there to keep it. */
  private async keep() {
    await Promise.all([this.client.call("GET /v1/me"), this.client.call("GET /v1/models"), this.refresh()]);
    if (this.open) await new Open(this.open.id, this.client, { follow() {}, leave() {} }, () => {}).load();
  }

  private take(projects: Project[], chats: Chat[]) {
    this.projects = projects.filter((p) => !p.unreadable).map((p) => (p.locked ? { ...p, icon: "🔒", name: t("project.locked", { name: p.owner ?? "" }) } : p));
    this.chats = chats.filter((c) => !c.unreadable);
    this.lost = { projects: projects.filter((p) => p.unreadable), chats: chats.filter((c) => c.unreadable) };
  }

  /** stale has the lists read again soon; changes that come together are read once. */
  private stale() {
    if (!this.ready) return; // they are being read
    this.waiting ??= setTimeout(() => {
      this.waiting = undefined;
      void this.refresh();
    }, 250);
  }

  /** refresh reads the lists again. What changes while it does is read once more then. */
  refresh(): Promise<void> {
    if (this.refreshing) {
      this.behind = true;
      return this.refreshing;
    }
    this.refreshing = (async () => {
      do {
        this.behind = false;
        await this.read();
      } while (this.behind);
    })().finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }

  private async read() {
    const lists = () => [this.projects, this.chats, this.preferences];
    const had = lists();
    try {
      const [projects, chats, preferences] = await Promise.all([this.client.call("GET /v1/projects", { fresh: true }), this.client.call("GET /v1/chats", { query: { limit: 300 }, fresh: true }), this.client.call("GET /v1/preferences", { fresh: true })]);
      if (lists().some((l, i) => l !== had[i])) {
        this.behind = true; // they may not have what was changed here meanwhile
        return;
      }
      this.take(projects ?? [], chats ?? []);
      this.preferences = preferences;
      this.changes++;
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

  /** look tells the server what was seen, for all devices. */
  look(id: string) {
    const chat = this.chats.find((c) => c.id === id);
    if (!chat || this.secret || document.hidden || chat.working || (chat.seen && new Date(chat.seen) >= new Date(chat.modified))) return;
    this.chats = this.chats.map((c) => (c.id === id ? { ...c, seen: c.modified } : c));
    this.client.call("PATCH /v1/chats/{id}", { id, body: { seen: chat.modified } }).catch(() => {}); // the next look does it
  }

  /** unread reports whether a chat has something that its person has not seen on any device. */
  unread(c: Chat): boolean {
    return c.id !== this.open?.id && !c.working && !!c.seen && new Date(c.modified) > new Date(c.seen);
  }

  async change(id: string, body: Changes) {
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

  /** move puts a chat into a project, and can put it back. */
  async move(id: string, project: string) {
    const at = () => this.chats.find((c) => c.id === id)?.project ?? (this.open?.id === id ? this.open.about?.project : undefined);
    const was = at();
    if (was === undefined || was === project) return;
    await this.change(id, { project });
    if (at() === project) this.tell(t("chat.moved", { name: this.projectName(project) }), () => void this.change(id, { project: was }));
  }

  async remove(id: string) {
    try {
      await this.client.call("DELETE /v1/chats/{id}", { id });
      this.chats = this.chats.filter((c) => c.id !== id);
      this.lost = { ...this.lost, chats: this.lost.chats.filter((c) => c.id !== id) };
      if (this.open?.id === id) this.go("/");
      if (this.secret) this.tell(t("chat.deletedForGood"));
      else this.tell(t("chat.deleted"), () => void this.client.call("POST /v1/chats/{id}/restore", { id }).then(() => this.refresh()));
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  /** removeLost moves a project that can't be opened to the trash. */
  async removeLost(id: string) {
    try {
      await this.client.call("DELETE /v1/projects/{id}", { id });
      await this.refresh();
      this.tell(t("nav.projectDeleted"), () => void this.client.call("POST /v1/projects/{id}/restore", { id }).then(() => this.refresh()));
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  /** prefer changes what counts for all chats. */
  async prefer(body: Operations["PATCH /v1/preferences"]["in"]): Promise<boolean> {
    try {
      this.preferences = await this.client.call("PATCH /v1/preferences", { body });
      return true;
    } catch (error) {
      this.tell(messageOf(error));
      return false;
    }
  }

  async fork(id: string, entry = "") {
    try {
      const c = await this.client.call("POST /v1/chats/{id}/fork", { id, body: entry ? { entry } : {} });
      this.chats = first(c, this.chats);
      this.go(`/c/${c.id}`);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  async newProject(name: string) {
    try {
      const p = await this.client.call("POST /v1/projects", { body: { name } });
      this.projects = first(p, this.projects);
      this.go(`/p/${p.id}`);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  async signOut() {
    forget();
    await this.client.call("POST /v1/signout").catch(() => {});
    location.assign("/signin");
  }

  tell(text: string, undo?: () => void, label = "", stays = false) {
    const toast: Toast = { id: ++this.toastID, text };
    if (undo) toast.undo = undo;
    if (label) toast.label = label;
    // The same news isn't told twice; what can be undone is something else each time.
    const others = this.toasts.filter((x) => x.text !== text || (x.undo && !stays));
    this.toasts = [...others.slice(-2), toast];
    if (!stays) setTimeout(() => this.hush(toast.id), 8000);
  }

  /** fails tells of an error that nothing in the page has handled, each once. */
  private fails(error: unknown) {
    if (error instanceof Failure && error.status === 0) return; // the server is away, which the page says
    const what = error instanceof Error ? error.message || error.name : String(error);
    if (this.failed.has(what) || this.failed.size >= MOST_FAILURES || what.includes("ResizeObserver loop")) return; // the browser's own, which breaks nothing
    this.failed.add(what);
    const where = error instanceof Error ? (error.stack ?? "") : "";
    this.tell(t("error.page", { what: what.slice(0, 200) }), () => void copy(`${what}\n${where}\n${location.pathname}\n${navigator.userAgent}`), t("error.copy"), true);
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

  /** reads reports whether a project may only be read here. */
  reads(id: string): boolean {
    return this.projects.find((x) => x.id === id)?.right === "read";
  }

  projectName(id: string): string {
    const p = this.projects.find((x) => x.id === id);
    return p?.name ? `${p.icon ? `${p.icon} ` : ""}${p.name}` : "";
  }

  modelOf(id: string | undefined): Usable | undefined {
    return this.models.find((x) => x.id === id || (id !== undefined && x.id.endsWith(`/${id}`)));
  }

  modelName(id: string | undefined): string {
    return this.modelOf(id)?.name || (id ?? "").split("/").pop() || t("chat.model.default");
  }
}
