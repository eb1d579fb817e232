/** The coding sessions of the machine, as a list that follows what they do. */

import type { Client } from "../api/client";
import type { Listed, Machine } from "../api/schema";

export interface Branch {
  s: Listed;
  depth: number;
}
export interface Place {
  folder: string;
  name: string;
  rows: Branch[];
  running: number;
}

const rank = (s: Listed) => (s.state === "waiting" ? 0 : s.state === "working" ? 1 : s.state ? 2 : 3);
const byState = (a: Listed, b: Listed) => rank(a) - rank(b) || (a.modified < b.modified ? 1 : -1);
export class Sessions {
  all = $state.raw<Listed[]>([]);
  others = $state.raw<Machine[]>([]); // other machines
  ready = $state(false);
  readonly running = $derived(this.all.filter((s) => s.state).sort(byState));
  readonly waiting = $derived(this.all.filter((s) => s.state === "waiting").length);
  /** Folders, those with sessions at work first; in each the sessions with their forks. */
  readonly places = $derived.by<Place[]>(() => {
    const folders = new Map<string, Listed[]>();
    for (const s of this.all) folders.set(s.folder, [...(folders.get(s.folder) ?? []), s]);
    const places = [...folders].map(([folder, all]): Place => ({ folder, name: nameOf(folder), rows: branches(all), running: all.filter((s) => s.state).length }));
    const first = (p: Place) => Math.min(...p.rows.map((r) => rank(r.s)));
    const newest = (p: Place) => p.rows.reduce((t, r) => (r.s.modified > t ? r.s.modified : t), "");
    return places.sort((a, b) => first(a) - first(b) || (newest(a) < newest(b) ? 1 : -1));
  });
  private busy: Promise<void> | undefined;
  private again = false; // something has changed while the list was read
  private missed = false; // the same while the page was in the background

  constructor(private readonly client: Client) {
    document.addEventListener("visibilitychange", () => this.missed && this.heard());
    void this.refresh();
  }

  /** heard is called when the stream says that sessions have changed. */
  heard() {
    this.missed = document.hidden;
    if (!document.hidden) void this.refresh();
  }

  /** refresh reads the list again. */
  refresh(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return this.busy;
    }
    this.busy = (async () => {
      do {
        this.again = false;
        await this.read();
      } while (this.again);
    })().finally(() => (this.busy = undefined));
    return this.busy;
  }

  /** look asks for the sessions of other machines, which nobody tells of. */
  async look() {
    if (document.hidden) return;
    try {
      const all = ((await this.client.call("GET /v1/machines")) ?? []).map((m) => ({ ...m, sessions: (m.sessions ?? []).map(named).sort(byState).slice(0, 20) }));
      if (JSON.stringify(all) !== JSON.stringify(this.others)) this.others = all;
    } catch {
      // The next one may work.
    }
  }

  private async read() {
    try {
      const all = ((await this.client.call("GET /v1/sessions", { query: { limit: 200 } })) ?? []).map(named);
      if (JSON.stringify(all) !== JSON.stringify(this.all)) this.all = all;
      this.ready = true;
    } catch {
      // The next one may work.
    }
  }
}

/** named is a session without the id that lists have in place of a title. */
const named = <T extends { id: string; title: string }>(s: T): T => (s.title === s.id ? { ...s, title: "" } : s);

/** nameOf is the last part of a folder's path. */
export function nameOf(folder: string): string {
  return folder.split(/[\\/]/).filter(Boolean).pop() ?? folder;
}

/** branches puts forks below the sessions that they come from. */
function branches(all: Listed[]): Branch[] {
  const ids = new Set(all.map((s) => s.id));
  const below = new Map<string, Listed[]>();
  for (const s of all) {
    const parent = s.parent && ids.has(s.parent) && s.parent !== s.id ? s.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), s]);
  }
  const out: Branch[] = [];
  const done = new Set<string>();
  const walk = (parent: string, depth: number) => {
    for (const s of (below.get(parent) ?? []).sort(byState)) {
      if (done.has(s.id)) continue;
      done.add(s.id);
      out.push({ s, depth: Math.min(depth, 4) });
      walk(s.id, depth + 1);
    }
  };
  walk("", 0);
  for (const s of all) if (!done.has(s.id)) out.push({ s, depth: 0 }); // forks that go round in a circle
  return out;
}
