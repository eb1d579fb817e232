/** What a chat says, as the page shows it: turns, made of the entries of its transcript. */

import type { Node } from "../api/schema";
import { href } from "../markdown/inline";
import { cachedBy, nothing, plus, type Cached, type Used } from "./figures";

export interface Part {
  type: string; // text, thinking, toolCall, image, document, opaque
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
  data?: string;
  mimeType?: string;
  url?: string;
  citations?: Source[] | null;
}
/** Source is what an answer cites. */
export interface Source {
  url: string;
  title?: string;
  text?: string;
}
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cacheWriteLong?: number;
  reasoning?: number;
  cost?: { total: number; unknown?: boolean; unreliable?: boolean };
}
export interface Said {
  role: string;
  content?: string | Part[] | null;
  toolCallId?: string;
  toolName?: string;
  isError?: boolean;
  details?: unknown;
  provider?: string;
  model?: string;
  usage?: Usage;
  stopReason?: string;
  errorMessage?: string;
  timestamp?: number;
}
export interface Entry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  message?: Said;
  summary?: string;
}

/** Call is a call of a tool, with its result when there is one. */
export interface Call {
  id: string;
  name: string;
  label?: string;
  arguments: unknown;
  result?: string;
  failed?: boolean;
  running?: boolean;
  agents?: Minion[]; // that it had work
}
/** Minion is an agent that works for a chat, in a chat of its own. */
export interface Minion {
  id: string; // in its chat
  name: string;
  persona: string;
  state: string; // running, done, failed, stopped
  cost: number;
  now?: string; // what it does or has just said, while it works
}
/** minionsOf are the agents that the details of a result name. */
export function minionsOf(m: Said | undefined): Minion[] | undefined {
  const all = (m?.details as { agents?: unknown } | undefined)?.agents;
  if (m?.toolName !== "task" || !Array.isArray(all)) return undefined;
  const text = (v: unknown) => (typeof v === "string" ? v : "");
  return (all as Record<string, unknown>[]).filter((a) => text(a["id"]) !== "").map((a) => ({ id: text(a["id"]), name: text(a["description"]) || text(a["id"]), persona: text(a["agent"]), state: text(a["state"]), cost: Number(a["cost"]) || 0 }));
}
/** busyWith has a call show what one of its agents does. The result of a call doesn't tell it. */
export function busyWith(call: Call, is: Minion & { now: string }): Call {
  const all = call.agents ?? [];
  const at = all.findIndex((a) => a.id === is.id);
  return { ...call, agents: at < 0 ? [...all, is] : all.with(at, { ...all[at]!, state: is.state, cost: is.cost, now: is.now || (all[at]!.now ?? "") }) };
}
/** argumentText is what a call is given, as people read it: code and other long texts with their lines as they are. */
export function argumentText(given: unknown): string {
  if (given === undefined || given === null) return "";
  if (typeof given !== "object" || Array.isArray(given)) return typeof given === "string" ? given : JSON.stringify(given, null, 2);
  const all = Object.entries(given);
  if (all.length === 1 && typeof all[0]![1] === "string") return all[0]![1];
  return all.map(([name, v]) => (typeof v !== "string" ? `${name}: ${JSON.stringify(v, null, 2)}` : v.includes("\n") ? `${name}:\n${v}` : `${name}: ${v}`)).join("\n");
}

/** Step is what happens backstage: a thought or a call. */
export type Step = { t: "thought"; text: string } | { t: "call"; call: Call };
/** Piece is a piece of an answer, in the order in which they came. */
export type Piece = { t: "text"; text: string; sources?: Source[] } | { t: "steps"; steps: Step[] } | { t: "image"; src: string };

export interface Versions {
  ids: string[]; // of the first entry of each version, the oldest first
  at: number; // which one is shown
}
export interface Prompt {
  kind: "prompt";
  id: string;
  text: string;
  parts: Part[]; // what is attached
  at: string; // when it was written
  versions?: Versions;
  pending?: boolean;
  failed?: string;
}
export interface Answer {
  kind: "answer";
  id: string; // of its first entry
  last: string; // of its last entry
  pieces: Piece[];
  model: string;
  at: string; // when it was complete
  stop: string;
  error: string;
  used?: Used; // once it is complete; missing: nobody counted
  cached?: Cached; // by the provider, for the next message
  versions?: Versions;
  live?: boolean;
}
export interface Notice {
  kind: "notice";
  id: string;
  text: string;
}
export type Turn = Prompt | Answer | Notice;

/** Stub is a turn whose entries are known by their ids only, not by what they say. */
export interface Stub {
  kind: Turn["kind"];
  id: string; // of its first entry
  ids: string[];
}

export function partsOf(m: Said): Part[] {
  if (typeof m.content === "string") return m.content === "" ? [] : [{ type: "text", text: m.content }];
  return m.content ?? [];
}

export function textOf(m: Said): string {
  return partsOf(m)
    .map((p) => (p.type === "text" ? (p.text ?? "") : ""))
    .filter((s) => s !== "")
    .join("\n\n");
}

/** attachedText is the file in a block of a prompt: an attached text is sent as <file path="…"> to </file>. */
function attachedText(p: Part): Part | undefined {
  const name = p.type === "text" ? /^<file path=("(?:[^"\\\n]|\\.)*")>\n[^]*\n<\/file>\n?$/.exec(p.text ?? "")?.[1] : undefined;
  if (!name) return undefined;
  try {
    return { ...p, name: JSON.parse(name) as string };
  } catch {
    return { ...p, name: name.slice(1, -1) };
  }
}

/** writtenOf is what a person wrote in a message, and what is attached to it. */
export function writtenOf(m: Said): { text: string; parts: Part[] } {
  const text: string[] = [];
  const parts: Part[] = [];
  for (const p of partsOf(m)) {
    const file = attachedText(p);
    if (file) parts.push(file);
    else if (p.type === "image" || p.type === "document") parts.push(p);
    else if (p.type === "text" && p.text) text.push(p.text);
  }
  return { text: text.join("\n\n"), parts };
}

/** sendable is a part as it is sent: the name of an attached text is in the text. */
export const sendable = ({ name, ...p }: Part): Part => (p.type === "text" || p.url?.startsWith("attachment:") || name === undefined ? p : { ...p, name });

/** takenBack is what waited for the model, as it goes back into the field. */
export function takenBack(all: { message: Said }[]): { text: string; parts: Part[] } {
  const each = all.map((i) => writtenOf(i.message));
  return { text: each.map((w) => w.text).filter(Boolean).join("\n\n"), parts: each.flatMap((w) => w.parts) };
}

/** pictureOf is an address at which the page can show a picture of a message. */
export function pictureOf(p: Part): string | undefined {
  if (p.type !== "image") return undefined;
  if (p.url?.startsWith("/v1/sessions/")) return p.url; // of this server, which has checked what it is
  return p.data && /^image\/(png|jpeg|gif|webp|bmp)$/.test(p.mimeType ?? "") ? `data:${p.mimeType};base64,${p.data}` : undefined;
}

/** fileOf is an address at which the server gives a file of a message. */
export function fileOf(p: Part): string | undefined {
  return p.type === "document" && p.url?.startsWith("/v1/sessions/") ? p.url : undefined;
}

/** add adds what a message of the model has to the pieces of an answer. */
export function add(pieces: Piece[], m: Said, results: Map<string, Said>, running?: Map<string, Call>) {
  for (const p of partsOf(m)) {
    const last = pieces[pieces.length - 1];
    if (p.type === "text" && p.text?.trim()) {
      const sources = [...(last?.t === "text" ? (last.sources ?? []) : [])];
      for (const c of p.citations ?? []) if (href(c.url) && !sources.some((s) => s.url === c.url)) sources.push(c);
      // A provider splits a text where it cites something: those pieces are one paragraph.
      const cited = last?.t === "text" && (last.sources !== undefined || (p.citations ?? []).length > 0);
      const text = last?.t === "text" ? `${last.text}${cited ? "" : "\n\n"}${p.text}` : p.text;
      const piece: Piece = sources.length > 0 ? { t: "text", text, sources } : { t: "text", text };
      if (last?.t === "text") pieces[pieces.length - 1] = piece;
      else pieces.push(piece);
    } else if (p.type === "image" && pictureOf(p)) {
      pieces.push({ t: "image", src: pictureOf(p)! });
    } else if ((p.type === "thinking" && p.thinking) || p.type === "toolCall") {
      const step: Step = p.type === "thinking" ? { t: "thought", text: p.thinking! } : { t: "call", call: callOf(p, results, running) };
      if (last?.t === "steps") pieces[pieces.length - 1] = { t: "steps", steps: [...last.steps, step] };
      else pieces.push({ t: "steps", steps: [step] });
    }
  }
}

function callOf(p: Part, results: Map<string, Said>, running?: Map<string, Call>): Call {
  const now = running?.get(p.id ?? "");
  const call: Call = { id: p.id ?? "", name: p.name ?? "", arguments: p.arguments ?? now?.arguments };
  if (now?.label) call.label = now.label;
  const result = results.get(call.id);
  if (result) {
    call.result = textOf(result);
    call.failed = result.isError === true;
    const agents = minionsOf(result);
    if (agents) call.agents = agents;
  } else if (now) {
    if (now.agents) call.agents = now.agents;
    call.running = true;
    if (now.result !== undefined) call.result = now.result;
  }
  return call;
}

/** Tree finds branches in the nodes of a transcript. */
export class Tree {
  readonly nodes: Node[] = [];
  private readonly at = new Map<string, number>();
  private readonly before: number[] = []; // the message that each node follows; -1: none
  private readonly after = new Map<number, number[]>(); // the messages that follow a message

  grow(nodes: Node[]) {
    for (const n of nodes) {
      const i = this.nodes.length;
      this.nodes.push(n);
      this.at.set(n.id, i);
      let up = n.parent;
      while (up >= 0 && !isMessage(this.nodes[up]!)) up = this.nodes[up]!.parent;
      this.before.push(up);
      if (!isMessage(n)) continue;
      const all = this.after.get(up);
      if (all) all.push(i);
      else this.after.set(up, [i]);
    }
  }

  has(id: string): boolean {
    return this.at.has(id);
  }

  /** branch gives what is shown on the way to an entry, the oldest first. */
  branch(leaf: string): Node[] {
    const out: Node[] = [];
    for (let i = this.at.get(leaf) ?? -1; i >= 0; i = this.nodes[i]!.parent) if (isShown(this.nodes[i]!)) out.push(this.nodes[i]!);
    return out.reverse();
  }

  /** versions gives what stands in the place of a message on all branches; undefined: only itself. */
  versions(id: string): Versions | undefined {
    const i = this.at.get(id);
    if (i === undefined) return undefined;
    const role = this.nodes[i]!.role;
    const all = (this.after.get(this.before[i]!) ?? []).filter((k) => this.nodes[k]!.role === role);
    return all.length > 1 ? { ids: all.map((k) => this.nodes[k]!.id), at: all.indexOf(i) } : undefined;
  }

  /** newest gives the newest message that follows an entry. */
  newest(id: string): string {
    let i = this.at.get(id);
    if (i === undefined) return id;
    for (let next; (next = this.after.get(i)?.at(-1)) !== undefined; ) i = next;
    return this.nodes[i]!.id;
  }

  /** parent gives the entry before another one; "" is none. */
  parent(id: string): string {
    const i = this.at.get(id);
    const up = i === undefined ? -1 : this.nodes[i]!.parent;
    return up < 0 ? "" : this.nodes[up]!.id;
  }
}

function isMessage(n: Node): boolean {
  return n.type === "message";
}

function isShown(n: Node): boolean {
  return isMessage(n) || n.type === "compaction";
}

/** stubs makes the turns of a branch, the oldest first, of those that were there before and more nodes. */
export function stubs(nodes: Pick<Node, "id" | "type" | "role">[], before: Stub[] = []): Stub[] {
  const out = [...before];
  let answer = -1; // where the newest one is
  for (let i = out.length - 1; i >= 0 && answer < 0; i--) if (out[i]!.kind === "answer") answer = i;
  const extend = (i: number, id: string) => {
    if (out[i] === before[i]) out[i] = { ...out[i]!, ids: [...out[i]!.ids] };
    out[i]!.ids.push(id);
  };
  for (const n of nodes) {
    if (n.type === "compaction") {
      out.push({ kind: "notice", id: n.id, ids: [n.id] });
    } else if (n.role === "user") {
      out.push({ kind: "prompt", id: n.id, ids: [n.id] });
    } else if (n.role === "assistant") {
      if (out[out.length - 1]?.kind === "answer") {
        extend(out.length - 1, n.id);
      } else {
        answer = out.push({ kind: "answer", id: n.id, ids: [n.id] }) - 1;
      }
    } else if (n.role === "toolResult" && answer >= 0) {
      extend(answer, n.id);
    }
  }
  return out;
}

/** turns makes turns of entries, the oldest first. */
export function turns(entries: Entry[], tree: Tree, compacted: string): Turn[] {
  const results = new Map<string, Said>();
  for (const e of entries) if (e.message?.role === "toolResult" && e.message.toolCallId) results.set(e.message.toolCallId, e.message);
  const out: Turn[] = [];
  let before = 0; // when the entry before was written
  for (const e of entries) {
    const [began, written] = [before, Date.parse(e.timestamp)];
    before = written;
    if (e.type === "compaction") {
      out.push({ kind: "notice", id: e.id, text: compacted });
      continue;
    }
    const m = e.message;
    if (!m) continue;
    if (m.role === "user") {
      const prompt: Prompt = { kind: "prompt", id: e.id, ...writtenOf(m), at: e.timestamp };
      const versions = tree.versions(e.id);
      if (versions) prompt.versions = versions;
      out.push(prompt);
    } else if (m.role === "assistant") {
      let last = out[out.length - 1];
      if (last?.kind !== "answer") {
        last = { kind: "answer", id: e.id, last: e.id, pieces: [], model: "", at: "", stop: "", error: "" };
        const versions = tree.versions(e.id);
        if (versions) last.versions = versions;
        out.push(last);
      }
      add(last.pieces, m, results);
      last.last = e.id;
      last.at = e.timestamp;
      last.model = m.model ?? last.model;
      last.stop = m.stopReason ?? "";
      last.error = m.errorMessage ?? "";
      if (m.usage) {
        plus((last.used ??= nothing()), m.usage);
        const kept = cachedBy(m.provider ?? "", m.usage, written);
        if (kept) last.cached = kept;
        else delete last.cached;
      }
      if (last.used && m.timestamp) last.used.took += Math.max(0, written - m.timestamp) || 0;
    } else if (m.role === "toolResult") {
      const last = out[out.length - 1];
      if (last?.kind === "answer" && last.used) last.used.took += Math.max(0, written - began) || 0;
    }
  }
  return out;
}
