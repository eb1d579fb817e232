/** A coding session that is open in the page: what was said and done, what is being done, and what can be done with it. */

import { Failure, messageOf, newID, type Client } from "../api/client";
import type { Agent, Diff, Facts, Header, Input, Node, Planned, Question, Reply, Turn } from "../api/schema";
import type { Message } from "../api/source";
import type { Follows } from "../api/stream";
import { c } from "../i18n/coding";
import { Drawing } from "../state/drawing";
import { takenBack, textOf, Tree, writtenOf, type Part, type Said } from "../state/messages";
import { keep } from "../state/pwa";
import { Waiting } from "../state/waiting.svelte";
import { KEEP, Work, type PlanOption } from "./work.svelte";
import { answerItems, filesOf, items, type CodingCall, type CodingEntry, type Details, type Item } from "./items";

const PAGE = 150; // entries that are read at a time
const SHOWN = new Set(["message", "compaction", "branch_summary"]);
const SEEN = 3_000; // milliseconds that a message waits until the page follows the session
const LIVE_OUTPUT = 64_000; // characters that are kept of a running command

/** answersOf says how a question was settled, for a page that did not settle it. */
export interface Settled {
  id: string;
  by: string;
}

export class Session {
  header = $state.raw<Header>();
  facts = $state.raw<Facts>();
  title = $state("");
  readonly waiting = new Waiting();
  agents = $state.raw<Agent[]>([]);
  retrying = $state("");
  problem = $state("");
  loading = $state(true);
  earlier = $state(false);
  settled = $state.raw<Settled>();

  private entries = $state.raw(new Map<string, CodingEntry>());
  private order = $state.raw<string[]>([]);
  private live = $state.raw<Said | undefined>();
  private calls = $state.raw(new Map<string, CodingCall>());
  private running = $state.raw<{ command: string; output: string }>();
  private sending = $state.raw<{ id: string; text: string; parts: Part[] }[]>([]);
  readonly work: Work;
  private readonly tree = new Tree();
  nodes = $state.raw<Node[]>([]); // of all branches
  leaf = $state(""); // where the session is
  private seq = 0;
  private pieces: Part[] = [];
  private drawing = new Drawing(() => {
    if (this.pieces.length > 0) this.live = { role: "assistant", content: this.pieces.filter(Boolean) };
  });
  private syncing: Promise<void> | undefined;
  private again = false;
  private heard: string[] = []; // entries that events told of: nobody has kept them yet

  readonly working = $derived(this.facts?.working === true || this.live !== undefined);
  readonly items = $derived.by<Item[]>(() => {
    const out = items(this.order.map((id) => this.entries.get(id)).filter((e) => e !== undefined), this.calls, { compacted: c("compacted"), branch: c("branch") });
    for (const s of this.sending) out.push({ t: "prompt", id: s.id, text: s.text, parts: s.parts });
    if (this.live) out.push(...answerItems("live", this.live, new Map(), this.calls, true));
    if (this.running) out.push({ t: "command", id: "running", run: { command: this.running.command, output: this.running.output, cancelled: false, truncated: false, timestamp: 0 }, live: true });
    return out;
  });

  private seen!: () => void;
  private readonly followed = new Promise<void>((done) => (this.seen = done));

  constructor(
    readonly id: string,
    private readonly client: Client,
    private readonly follower: Follows,
    private readonly changed: () => void,
  ) {
    this.work = new Work(id, client);
  }

  async load() {
    try {
      const open = await this.client.call("GET /v1/sessions/{id}", { id: this.id });
      this.header = open.header;
      this.facts = open.facts;
      this.title = open.facts.stats.title || open.header.title || "";
      this.leaf = open.facts.leaf ?? "";
      await this.grow();
      if (this.leaf !== "" && !this.tree.has(this.leaf)) this.leaf = this.tree.nodes.at(-1)?.id ?? ""; // without a connection: the newest that was kept
      await this.show();
      const { epoch, seq } = open.cursor;
      // What is being said now is heard from its beginning.
      this.follower.follow(this.id, epoch ? `${this.id}@${epoch}.${open.facts.working ? 1 : seq}` : this.id);
      void this.work.read();
      const [, agents] = await Promise.all([
        this.waiting.read(this.client, this.id),
        this.client.call("POST /v1/sessions/{id}/agents", { id: this.id }).catch(() => null),
      ]);
      this.agents = [...(agents ?? []).filter((a) => !this.agents.some((b) => b.id === a.id)), ...this.agents];
    } catch (error) {
      this.problem = error instanceof Failure && error.status === 404 ? c("missing") : messageOf(error);
    }
    this.loading = false;
  }

  close() {
    this.drawing.stop();
    this.follower.leave(this.id);
  }

  hear(m: Message) {
    if (m.facts) {
      this.seen();
      this.facts = m.facts as unknown as Facts;
      this.leaf = this.facts.leaf ?? "";
      if (this.facts.stats.title) this.title = this.facts.stats.title;
    }
    if (m.ended !== undefined) this.live = undefined;
    if (!m.event) return;
    const e = m.event;
    const seq = e["seq"] as number | undefined;
    if (e.type === "owner_changed") this.seq = 0;
    if (seq !== undefined) {
      if (seq <= this.seq) return;
      this.seq = seq;
    }
    this.work.hear(e);
    this.happen(e);
  }

  private happen(e: Record<string, unknown> & { type: string }) {
    switch (e.type) {
      case "message_start":
        this.pieces = [];
        if ((e["message"] as Said | undefined)?.role === "assistant") this.live = { role: "assistant", content: [] };
        break;
      case "message_update":
        this.piece(e["assistantMessageEvent"] as { type: string; contentIndex: number; delta?: string; toolCall?: Part });
        break;
      case "message_end":
        this.said(e["message"] as Said, e["entryId"] as string | undefined);
        break;
      case "tool_execution_start":
      case "tool_execution_update": {
        const partial = e["partialResult"] as (Said & { details?: Details }) | undefined;
        const call: CodingCall = { id: e["toolCallId"] as string, name: e["toolName"] as string, arguments: e["args"], running: true };
        if (e["label"]) call.label = e["label"] as string;
        if (partial) {
          call.result = textOf(partial);
          if (partial.details) call.details = partial.details;
          const pictures = filesOf(partial);
          if (pictures.length > 0) call.pictures = pictures;
        }
        this.calls = new Map(this.calls).set(call.id, call);
        break;
      }
      case "tool_execution_end": {
        const calls = new Map(this.calls);
        calls.delete(e["toolCallId"] as string);
        this.calls = calls;
        break;
      }
      case "queue_changed":
      case "question_asked":
      case "question_settled":
        if (e.type === "question_settled" && this.waiting.questions.some((q) => q.id === e["id"])) this.settled = { id: e["id"] as string, by: (e["by"] as string | undefined) ?? "" };
        this.waiting.hear(e);
        if (e.type !== "queue_changed") this.changed();
        break;
      case "subagent_changed": {
        const { type: _, seq: __, ...agent } = e;
        const is = agent as unknown as Agent;
        const at = this.agents.findIndex((a) => a.id === is.id);
        this.agents = at < 0 ? [...this.agents, is] : this.agents.with(at, is);
        break;
      }
      case "command_start":
        this.running = { command: e["text"] as string, output: "" };
        break;
      case "command_output":
        if (this.running) this.running = { ...this.running, output: (this.running.output + (e["text"] as string)).slice(-LIVE_OUTPUT) };
        break;
      case "command_end":
        this.running = undefined;
        void this.sync();
        break;
      case "auto_retry_start":
        this.live = undefined;
        this.retrying = c("retrying", { n: e["attempt"] as number, total: e["maxAttempts"] as number, why: e["errorMessage"] as string });
        break;
      case "auto_retry_end":
        this.retrying = "";
        break;
      case "agent_settled":
        this.live = undefined;
        this.retrying = "";
        this.calls = new Map();
        void this.sync().then(this.changed);
        keep(this.heard.splice(0), (ids) => this.ask(ids));
        break;
      case "title_changed":
        this.title = e["text"] as string;
        this.changed();
        break;
      case "session_tree":
        this.leaf = (e["entryId"] as string | undefined) ?? "";
        void this.sync();
        break;
      case "events_lost":
      case "owner_changed":
        void this.waiting.read(this.client, this.id, true).catch(() => {});
        void this.sync();
        break;
      case "auto_compaction_end":
      case "rewound":
        void this.sync();
        break;
    }
  }

  /** piece takes a piece of an answer. */
  private piece(p: { type: string; contentIndex: number; delta?: string; toolCall?: Part } | undefined) {
    if (!p) return;
    const i = p.contentIndex ?? 0;
    const was = this.pieces[i];
    switch (p.type.split("_")[0]) {
      case "text":
        this.pieces[i] = { type: "text", text: (was?.text ?? "") + (p.delta ?? "") };
        break;
      case "thinking":
        this.pieces[i] = { type: "thinking", thinking: (was?.thinking ?? "") + (p.delta ?? "") };
        break;
      case "toolcall":
        this.pieces[i] = { ...was, ...(p.toolCall ? { id: p.toolCall.id ?? "", name: p.toolCall.name ?? "", arguments: p.toolCall.arguments } : {}), type: "toolCall" };
        break;
      default:
        return;
    }
    this.drawing.ask();
  }

  private said(m: Said | undefined, id: string | undefined) {
    if (!m) return;
    this.drawing.stop();
    this.pieces = [];
    if (m.role === "assistant") this.live = undefined;
    if (m.role === "user") this.sending = this.sending.filter((s) => s.text !== writtenOf(m).text);
    if (!id || this.entries.has(id)) return;
    if (m.role !== "user" && m.role !== "assistant" && m.role !== "toolResult") return;
    this.entries = new Map(this.entries).set(id, { type: "message", id, parentId: this.leaf || null, timestamp: new Date().toISOString(), message: m });
    this.heard.push(id);
    this.order = [...this.order, id];
    this.leaf = id;
  }

  private sync(): Promise<void> {
    if (this.syncing) {
      this.again = true;
      return this.syncing;
    }
    this.syncing = (async () => {
      do {
        this.again = false;
        const was = this.leaf;
        const open = await this.client.call("GET /v1/sessions/{id}", { id: this.id, fresh: true });
        this.facts = open.facts;
        if (this.leaf === was) this.leaf = open.facts.leaf ?? ""; // else the stream has told of a newer one
        await this.grow(); // after the question for the leaf, which is in the tree then
        await this.show();
      } while (this.again);
    })()
      .catch(() => {})
      .finally(() => (this.syncing = undefined));
    return this.syncing;
  }

  private async grow() {
    for (;;) {
      const from = this.tree.nodes.length;
      const { nodes, total } = await this.client.call("POST /v1/sessions/{id}/nodes", { id: this.id, body: { from } });
      this.tree.grow((nodes ?? []).slice(Math.max(0, this.tree.nodes.length - from)) as Node[]);
      if (this.tree.nodes.length >= total || !nodes?.length) break;
    }
    if (this.nodes.length !== this.tree.nodes.length) this.nodes = [...this.tree.nodes];
  }

  /** branch is the way from the beginning to the leaf: what is shown of it. */
  private branch(): Node[] {
    const all: Node[] = [];
    const at = this.tree.nodes.findLastIndex((n) => n.id === this.leaf);
    for (let i = at; i >= 0; i = this.tree.nodes[i]!.parent) if (SHOWN.has(this.tree.nodes[i]!.type)) all.push(this.tree.nodes[i]!);
    return all.reverse();
  }

  private async show(more = 0) {
    if (this.leaf !== "" && !this.tree.has(this.leaf)) await this.grow(); // it has come since
    if (this.leaf !== "" && !this.tree.has(this.leaf)) return;
    const all = this.branch();
    const first = this.order[0];
    const had = first === undefined ? -1 : all.findIndex((n) => n.id === first);
    let from = Math.max(0, had >= 0 ? Math.min(had - more, all.length - PAGE) : all.length - PAGE);
    while (from > 0 && all[from]!.role === "toolResult") from--; // a call stays with its result
    const ids = all.slice(from).map((n) => n.id);
    const missing = ids.filter((id) => !this.entries.has(id));
    const entries = new Map<string, CodingEntry>();
    const before = new Set(this.order);
    for (const e of await this.ask(missing)) entries.set(e.id, e);
    const arrived = missing.flatMap((id) => entries.get(id)?.message ?? []).filter((m) => m.role === "user").map((m) => writtenOf(m).text);
    if (arrived.length > 0) this.sending = this.sending.filter((s) => !arrived.includes(s.text));
    // What events have told of meanwhile stays.
    const since = this.order.filter((id) => !before.has(id) && !ids.includes(id));
    this.entries = new Map([...this.entries, ...entries]);
    this.earlier = from > 0;
    this.order = [...ids, ...since];
  }

  /** peek reads entries of any branch, those that are here already without asking for them. */
  async peek(ids: string[]): Promise<CodingEntry[]> {
    const out = ids.map((id) => this.entries.get(id)).filter((e) => e !== undefined);
    return [...out, ...(await this.ask(ids.filter((id) => !this.entries.has(id))))];
  }

  private async ask(ids: string[]): Promise<CodingEntry[]> {
    const out: CodingEntry[] = [];
    for (let i = 0; i < ids.length; i += 100) {
      const got = await this.client.call("POST /v1/sessions/{id}/entries", { id: this.id, query: { pictures: "address" }, body: { ids: ids.slice(i, i + 100) } });
      for (const e of got.entries ?? []) {
        const entry = e.entry as unknown as CodingEntry;
        out.push(e.execution ? { ...entry, execution: e.execution } : entry);
      }
    }
    return out;
  }

  /** navigate has the session continue from an entry. Before a prompt, it gives the text of it, to edit and send again. */
  async navigate(entry: string, summarize: boolean): Promise<string> {
    const { text } = await this.client.call("POST /v1/sessions/{id}/navigate", { id: this.id, body: { id: entry, how: { summarize, instructions: "" } } });
    await this.sync();
    return text;
  }

  /** fork begins a session with what was said up to an entry, before a prompt without it. */
  async fork(entry: string): Promise<{ id: string; text: string }> {
    const at = this.nodes.find((n) => n.id === entry);
    if (at?.role !== "user") return { id: (await this.client.call("POST /v1/sessions/{id}/fork", { id: this.id, body: { entry } })).id, text: "" };
    const [e] = await this.peek([entry]);
    const text = e?.message ? textOf(e.message) : "";
    const before = this.nodes[at.parent]?.id;
    const made = before
      ? await this.client.call("POST /v1/sessions/{id}/fork", { id: this.id, body: { entry: before } })
      : await this.client.call("POST /v1/sessions", { body: { folder: this.header?.cwd ?? "" } }); // nothing was said before
    return { id: made.id, text };
  }

  async loadEarlier() {
    if (this.earlier) await this.show(PAGE);
  }

  /** argumentsOf finds the call that a question is about: what it would write is its preview. */
  async callOf(q: Question): Promise<CodingCall | undefined> {
    const id = q.callId || q.permission?.request.callId;
    if (!id) return undefined;
    const here = this.items.findLast((x) => x.t === "call" && x.call.id === id);
    if (here?.t === "call" && !q.from) return here.call;
    if (!q.from) return this.calls.get(id);
    // A sub-agent asks: its call is in its own session.
    try {
      const of = `${this.id}:${q.from}`;
      const { total } = await this.client.call("POST /v1/sessions/{id}/nodes", { id: of, body: { from: 1 << 30 } });
      const { nodes } = await this.client.call("POST /v1/sessions/{id}/nodes", { id: of, body: { from: Math.max(0, total - 8) } });
      const { entries } = await this.client.call("POST /v1/sessions/{id}/entries", { id: of, body: { ids: (nodes ?? []).map((n) => n.id) } });
      for (const e of entries ?? []) {
        const m = (e.entry as unknown as CodingEntry).message;
        const p = Array.isArray(m?.content) ? m.content.find((x) => x.type === "toolCall" && x.id === id) : undefined;
        if (p) return { id, name: p.name ?? "", arguments: p.arguments };
      }
    } catch {
      // The question says what it touches anyway.
    }
    return undefined;
  }

  async send(text: string, parts: Part[], when: "" | "after" = "") {
    const id = newID();
    const content: Part[] = text === "" ? parts : [...parts, { type: "text", text }];
    if (!this.working) this.sending = [...this.sending, { id, text, parts }];
    try {
      // Before, the session takes it that nobody sees what a program draws.
      await Promise.race([this.followed, new Promise((done) => setTimeout(done, SEEN))]);
      const body: Input = { id, message: { role: "user", content } };
      if (when) body.when = when;
      await this.client.call("POST /v1/sessions/{id}/submit", { id: this.id, body });
      if (!this.loading) this.follower.follow(this.id, this.id); // else from where it was when it was loaded
    } catch (error) {
      this.sending = this.sending.filter((s) => s.id !== id);
      throw error;
    }
  }

  async stop() {
    await this.client.call("POST /v1/sessions/{id}/abort", { id: this.id });
  }

  async resend() {
    await this.client.call("POST /v1/sessions/{id}/resend", { id: this.id });
    this.follower.follow(this.id, this.id);
  }

  async takeBack(): Promise<{ text: string; parts: Part[] }> {
    const all = (await this.client.call("POST /v1/sessions/{id}/take_back", { id: this.id })) as { message: Said }[] | null;
    return takenBack(all ?? []);
  }

  async answer(q: Question, reply: Reply) {
    this.waiting.settle(q.id);
    try {
      await this.client.call("POST /v1/sessions/{id}/answer", { id: this.id, body: { id: q.id, reply } });
    } catch (error) {
      if (error instanceof Failure && error.code === "settled") return; // somebody was faster
      this.waiting.questions = [q, ...this.waiting.questions];
      throw error;
    }
  }

  /** reviewed answers a plan: the question about it where one is open, else the session. */
  async reviewed(q: Question | undefined, o: PlanOption | undefined, text: string, note: string) {
    if (q) return this.answer(q, { choices: [{ selected: [o?.label ?? KEEP], ...(note ? { custom: note } : {}) }], text });
    const changed = text === this.work.plan?.text ? "" : text;
    if (o) {
      await this.work.approve({ ...o.approval, ...(changed ? { text: changed } : {}), ...(note ? { note } : {}) });
      this.follower.follow(this.id, this.id);
    } else if (note || changed) {
      if (this.facts?.mode !== "plan") await this.client.call("POST /v1/sessions/{id}/set_mode", { id: this.id, body: { text: "plan" } });
      await this.send([note, changed && `I edited the plan. It is now:\n\n${changed}`].filter(Boolean).join("\n\n"), []);
    }
  }

  async stopAgent(id: string) {
    await this.client.call("POST /v1/sessions/{id}/stop_agent", { id: this.id, body: { id } });
  }

  async turns(): Promise<Turn[]> {
    return (await this.client.call("POST /v1/sessions/{id}/turns", { id: this.id })) ?? [];
  }

  async diff(turn: string): Promise<Diff[]> {
    return (await this.client.call("POST /v1/sessions/{id}/turn_diff", { id: this.id, body: { id: turn } })) ?? [];
  }

  async planned(turn: string): Promise<Planned[]> {
    return (await this.client.call("POST /v1/sessions/{id}/preview_undo", { id: this.id, body: { id: turn } })) ?? [];
  }

  undo(turn: string) {
    return this.client.call("POST /v1/sessions/{id}/undo", { id: this.id, body: { id: turn } });
  }
}
