/** The files of a project as the page shows them: a tree whose folders are read when they are opened. */

import { Failure, messageOf } from "../api/client";
import type { File as Kept, FilesUsage, Orphan } from "../api/schema";
import { locale } from "../i18n";
import { f } from "../i18n/files";
import { size } from "../i18n/pages";
import type { App } from "./app.svelte";

export const STEP = 300; // rows of a folder that are shown at first, and more at a time
const MOST = 10_000; // files that a project has at most
const AT_ONCE = 8; // folders that are read one by one; of more, everything is read in one go
const WHOLE = 1000; // files of a project that is read in one go anyway: that is all of one moment, with no folder that has gone meanwhile
const UPLOADS = 3; // at a time
const OPENED = 200; // folders that the browser remembers as open

/** Row is one of the tree that is seen. */
export type Row = { key: string; file: Kept; level: number; at: number; of: number; open: boolean } | { key: string; folder: string; left: number; level: number };

/** Draft is a text that isn't saved. */
export interface Draft {
  tag: string; // of the version that it began with; "": of none
  text: string;
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";
export const join = (folder: string, name: string): string => `${folder === "/" ? "" : folder}/${name}`;
const inside = (path: string, folder: string) => path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
export const isFolder = (o: Kept): boolean => o.kind !== "file";
/** hashOf is the part of an address that names a file. Servers don't get it. */
export const hashOf = (path: string): string => `#${path.split("/").map(encodeURIComponent).join("/")}`;
/** versionOf is the version in a tag. */
export const versionOf = (tag: string): number => Number(/\.(\d+)"/.exec(tag)?.[1] ?? 0);

/** freely gives a name that isn't taken: name (2).txt */
export function freely(path: string, taken: (path: string) => boolean): string {
  const [, stem, ext] = /^(.+?)(\.[^./]*)?$/.exec(nameOf(path))!;
  for (let n = 2; ; n++) {
    const to = join(folderOf(path), `${stem} (${n})${ext ?? ""}`);
    if (!taken(to)) return to;
  }
}

export class Files {
  readonly base: string;
  folders = $state.raw<ReadonlyMap<string, Kept[]>>(new Map()); // those that were read
  open = $state.raw<ReadonlySet<string>>(new Set(["/"]));
  shown = $state.raw<ReadonlyMap<string, number>>(new Map()); // rows of large folders
  usage = $state.raw<FilesUsage>();
  problem = $state("");
  /** Grows with each list that was read, and with each change of drafts. */
  lists = $state(0);
  drafts = $state(0);
  /** The path that is shown: the folders above it are read, open or not. */
  current = "";
  /** What is being uploaded. */
  upload = $state.raw<{ done: number; total: number; name: string; stop: () => void }>();
  private reading: Promise<void> | undefined;
  private behind = false;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  private readonly order = new Intl.Collator(locale(), { numeric: true });

  constructor(
    readonly app: App,
    readonly project: string,
  ) {
    this.base = `/v1/projects/${encodeURIComponent(project)}`;
    try {
      this.open = new Set(["/", ...(JSON.parse(app.kept.get(this.opened) || "[]") as string[])]);
    } catch {
      // It is as if nothing was open.
    }
  }
  /** reads reports whether nothing may be changed here. */
  get reads(): boolean {
    return this.app.reads(this.project);
  }
  private get opened(): string {
    return `draft:open:${this.project}`; // drafts go when somebody signs out, and so does this
  }

  /** follow reads the tree, and reads it again when the server says that files have changed. */
  follow(): () => void {
    const key = `files/${this.project}`;
    this.app.listeners.set(key, () => this.stale());
    void this.read();
    return () => {
      this.app.listeners.delete(key);
      clearTimeout(this.waiting);
    };
  }

  /** stale has the lists read again soon; changes that come together are read once. */
  stale() {
    this.waiting ??= setTimeout(() => {
      this.waiting = undefined;
      void this.read();
    }, 150);
  }

  /** read reads what is open. */
  read(): Promise<void> {
    if (this.reading) {
      this.behind = true;
      return this.reading;
    }
    this.reading = (async () => {
      do {
        this.behind = false;
        await this.readOpen();
      } while (this.behind);
    })().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readOpen() {
    try {
      const open = [...this.open].filter((at) => this.visible(at)).length;
      const deep = open > 1 || folderOf(this.current) !== "/";
      const whole = open > AT_ONCE || (deep && (this.usage?.files ?? Infinity) <= WHOLE);
      const [all, usage] = await Promise.all([whole ? this.everything() : this.some(), this.app.client.call("GET /v1/projects/{id}/files/usage", { id: this.project })]);
      this.folders = all;
      this.usage = usage;
      this.problem = "";
    } catch (error) {
      this.problem = messageOf(error);
    }
    this.lists++;
  }
  /** visible reports whether the folders above one are open. */
  private visible(at: string): boolean {
    return at === "/" || (this.open.has(folderOf(at)) && this.visible(folderOf(at)));
  }

  /** some reads the open folders from the top, and those above what is shown: only folders that are there are asked for. */
  private async some(): Promise<Map<string, Kept[]>> {
    const all = new Map<string, Kept[]>();
    const read = async (path: string): Promise<void> => {
      try {
        all.set(path, this.sorted((await this.list({ path })).files ?? []));
      } catch (error) {
        if (error instanceof Failure && (error.status === 404 || error.status === 409) && path !== "/") return; // it was deleted just now
        throw error;
      }
      await Promise.all(all.get(path)!.filter((o) => isFolder(o) && (this.open.has(o.path) || (o.path !== this.current && inside(this.current, o.path)))).map((o) => read(o.path)));
    };
    await read("/");
    return all;
  }

  private async everything(): Promise<Map<string, Kept[]>> {
    const all = new Map<string, Kept[]>([["/", []]]);
    const files = (await this.list({ recursive: true })).files ?? [];
    for (const o of files) if (isFolder(o)) all.set(o.path, []);
    for (const o of files) all.get(folderOf(o.path))?.push(o);
    for (const [path, list] of all) all.set(path, this.sorted(list));
    return all;
  }
  private list(query: Record<string, string | number | boolean>) {
    return this.app.client.call("GET /v1/projects/{id}/files", { id: this.project, query: { limit: MOST, ...query } });
  }
  sorted(files: Kept[]): Kept[] {
    return files.sort((a, b) => Number(isFolder(b)) - Number(isFolder(a)) || this.order.compare(nameOf(a.path), nameOf(b.path)));
  }

  /** all reads every file and folder there is, to find one. */
  async all(): Promise<Kept[]> {
    return (await this.list({ recursive: true })).files ?? [];
  }

  /** trash reads what was deleted, without what is in it, and what another kind of file took the place of. */
  async trash(): Promise<{ deleted: { file: Kept; inside: number }[]; orphans: Orphan[] }> {
    const [list, orphans] = await Promise.all([this.list({ recursive: true, deleted: true }), this.app.client.call("GET /v1/projects/{id}/files/orphans", { id: this.project })]);
    const gone = new Map((list.files ?? []).filter((o) => o.deleted).map((o) => [o.path, { file: o, inside: 0 }]));
    for (const path of gone.keys()) for (let at = folderOf(path); gone.has(at); at = folderOf(at)) gone.get(at)!.inside++;
    return { deleted: [...gone.values()].filter((o) => !gone.has(folderOf(o.file.path))), orphans: orphans ?? [] };
  }

  /** rows are those of the tree, from the top. */
  get rows(): Row[] {
    const out: Row[] = [];
    const add = (folder: string, level: number) => {
      const all = this.folders.get(folder) ?? [];
      const most = this.shown.get(folder) ?? STEP;
      for (const [i, file] of all.slice(0, most).entries()) {
        const open = isFolder(file) && this.open.has(file.path);
        out.push({ key: file.path, file, level, at: i + 1, of: all.length, open });
        if (open) add(file.path, level + 1);
      }
      if (all.length > most) out.push({ key: `${folder}\0`, folder, left: all.length - most, level });
    };
    add("/", 1);
    return out;
  }

  /** at gives what is at a path, as far as it was read. */
  at(path: string): Kept | undefined {
    return this.folders.get(folderOf(path))?.find((o) => o.path === path);
  }

  toggle(path: string, open = !this.open.has(path)) {
    const now = new Set(this.open);
    if (open) now.add(path);
    else now.delete(path);
    this.setOpen(now);
    if (open && !this.folders.has(path)) void this.read();
  }
  private setOpen(now: Set<string>) {
    this.open = now;
    this.app.kept.set(this.opened, JSON.stringify([...now].filter((at) => at !== "/").slice(-OPENED)));
  }
  more(folder: string) {
    this.shown = new Map(this.shown).set(folder, (this.shown.get(folder) ?? STEP) + STEP);
  }

  /** reveal opens the folders above a path, and shows as many rows as it takes. */
  async reveal(path: string) {
    const now = new Set(this.open);
    for (let at = folderOf(path); at !== "/"; at = folderOf(at)) now.add(at);
    if (now.size > this.open.size) {
      this.setOpen(now);
      await this.read();
    } else if (!this.folders.has(folderOf(path))) {
      await this.read();
    }
    const i = this.folders.get(folderOf(path))?.findIndex((o) => o.path === path) ?? -1;
    if (i >= (this.shown.get(folderOf(path)) ?? STEP)) this.shown = new Map(this.shown).set(folderOf(path), i + STEP);
  }

  /** link is where the content of a file is. */
  link(path: string, more: Record<string, string | number | boolean> = {}): string {
    const q = new URLSearchParams({ path });
    for (const [name, value] of Object.entries(more)) q.set(name, String(value));
    return `${this.base}/file?${q}`;
  }
  archive(folder: string): string {
    return `${this.base}/files/export?${new URLSearchParams({ path: folder })}`;
  }

  /** tried does something, says what went wrong, and reads the lists again. */
  async tried(what: () => Promise<unknown>): Promise<boolean> {
    try {
      await what();
      return true;
    } catch (error) {
      this.app.tell(messageOf(error));
      return false;
    } finally {
      await this.read();
    }
  }

  /** write saves a text over the version with a tag; without one, as a new file. The answer is the new tag. */
  async write(path: string, text: string, tag: string): Promise<string> {
    const saved = (await this.app.client.put(`${this.base}/file`, { path }, new Blob([text]), tag ? { "If-Match": tag } : { "If-None-Match": "*" })) as Kept;
    void this.read();
    return saved.etag ?? "";
  }

  move(from: string, to: string): Promise<boolean> {
    return this.tried(async () => {
      await this.app.client.call("POST /v1/projects/{id}/files/rename", { id: this.project, body: { from, to } });
      const moved = (path: string) => (inside(path, from) ? to + path.slice(from.length) : path);
      this.setOpen(new Set([...this.open].map(moved)));
      for (const at of new Set([from, this.current])) {
        const draft = inside(at, from) ? this.draft(at) : undefined;
        if (!draft) continue;
        this.keep(at, undefined);
        this.keep(moved(at), draft);
      }
    });
  }

  async remove(o: Kept): Promise<boolean> {
    const done = await this.tried(() => this.app.client.call("DELETE /v1/projects/{id}/file", { id: this.project, query: { path: o.path, ...(isFolder(o) ? { recursive: true } : {}) } }));
    if (done) this.app.tell(f("deleted", { name: nameOf(o.path) }), () => void this.restore(o.path));
    return done;
  }
  restore(path: string): Promise<boolean> {
    return this.tried(() => this.app.client.call("POST /v1/projects/{id}/files/restore", { id: this.project, body: { path } }));
  }

  private draftKey(path: string): string {
    return `draft:file:${this.project}:${path}`;
  }
  draft(path: string): Draft | undefined {
    try {
      const is = JSON.parse(this.app.kept.get(this.draftKey(path)) || "null") as Draft | null;
      return is && typeof is.text === "string" && typeof is.tag === "string" ? is : undefined;
    } catch {
      return undefined;
    }
  }
  /** keep keeps a draft in this browser, or removes it. false: it didn't fit. */
  keep(path: string, draft: Draft | undefined): boolean {
    const text = draft ? JSON.stringify(draft) : "";
    const had = this.app.kept.get(this.draftKey(path)) !== "";
    this.app.kept.set(this.draftKey(path), text);
    if (had !== (text !== "")) this.drafts++;
    return this.app.kept.get(this.draftKey(path)) === text;
  }

  /** bring uploads files to their paths. What is there already gets a new version. */
  async bring(files: { path: string; file: Blob }[], folders: string[] = []) {
    if (this.upload || files.length + folders.length === 0) return;
    const stop = new AbortController();
    const failed: string[] = [];
    let [done, old] = [0, 0];
    const rest = [...files];
    const at = (name: string) => (this.upload = { done, total: files.length, name, stop: () => stop.abort() });
    at("");
    const most = this.usage?.maxFile ?? Infinity;
    const empty = folders.filter((at) => !files.some((o) => inside(o.path, at)) && !folders.some((o) => o !== at && inside(o, at)));
    const there = empty.length > 0 ? new Set((await this.all().catch(() => [])).map((o) => o.path)) : undefined;
    for (const path of empty) {
      if (there?.has(path)) continue;
      await this.app.client.call("POST /v1/projects/{id}/files/mkdir", { id: this.project, body: { path } }).catch((error: unknown) => failed.push(`${nameOf(path)}: ${messageOf(error)}`));
    }
    const work = async () => {
      for (let one = rest.shift(); one && !stop.signal.aborted; one = rest.shift()) {
        at(nameOf(one.path));
        try {
          if (one.file.size > most) throw new Failure(413, "LIMIT", f("upload.large", { size: size(one.file.size), most: size(most) }));
          const is = (await this.app.client.put(`${this.base}/file`, { path: one.path }, one.file, {}, stop.signal)) as Kept;
          if ((is.version ?? 1) > 1) old++;
        } catch (error) {
          if (stop.signal.aborted) break;
          failed.push(`${nameOf(one.path)}: ${messageOf(error)}`);
        }
        done++;
        at(nameOf(one.path));
      }
    };
    await Promise.all(Array.from({ length: UPLOADS }, work));
    this.upload = undefined;
    const good = done - failed.length;
    if (good > 0 || failed.length === 0) this.app.tell([good === 1 ? f("upload.done.one") : f("upload.done", { n: good }), old > 0 ? (old === 1 ? f("upload.old.one") : f("upload.old", { n: old })) : "", stop.signal.aborted ? f("upload.stopped") : ""].filter(Boolean).join(" "));
    if (failed.length > 0) this.app.tell([...failed.slice(0, 3), ...(failed.length > 3 ? [f("upload.failed", { n: failed.length - 3 })] : [])].join(" · "), undefined, "", failed.length > 1);
    await this.read();
  }
}

/** dropped gives what a browser says was dropped, with what is in folders. */
export async function dropped(data: DataTransfer): Promise<{ files: { name: string; file: File }[]; folders: string[] }> {
  const files: { name: string; file: File }[] = [];
  const folders: string[] = [];
  const entries = [...data.items].map((i) => (i.kind === "file" ? i.webkitGetAsEntry?.() : null)); // at once: the list is empty after the event
  const plain = [...data.files];
  const walk = async (e: FileSystemEntry, above: string): Promise<void> => {
    if (files.length + folders.length >= MOST) return;
    const name = above + e.name;
    if (e.isFile) {
      files.push({ name, file: await new Promise<File>((good, bad) => (e as FileSystemFileEntry).file(good, bad)) });
      return;
    }
    folders.push(name);
    const reader = (e as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((good, bad) => reader.readEntries(good, bad));
      if (some.length === 0) return;
      for (const one of some) await walk(one, `${name}/`);
    }
  };
  if (!entries.some((e) => e)) return { files: plain.map((file) => ({ name: file.name, file })), folders };
  for (const e of entries) if (e) await walk(e, "");
  return { files, folders };
}
