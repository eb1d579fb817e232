/** A chat that is open: what was said, what is being said, and what can be done with it. */

import { Failure, messageOf, newID, type Client } from "../api/client";
import type { Message } from "../api/source";
import type { Follows } from "../api/stream";
import type { Agent, Chat, Facts, Input, Node, Question, Reply } from "../api/schema";
import { t } from "../i18n";
import { Drawing } from "./drawing";
import { add, busyWith, minionsOf, partsOf, sendable, stubs, takenBack, textOf, Tree, turns, writtenOf, type Answer, type Call, type Entry, type Part, type Prompt, type Said, type Stub, type Turn } from "./messages";
import { keep } from "./pwa";
import { Waiting } from "./waiting.svelte";

const PAGE = 100; // entries that are read at a time
const AROUND = 24; // turns that are read before and after those that are shown
const MOST = 1200; // entries that are kept

export class Open {
  about = $state.raw<Chat>();
  facts = $state.raw<Facts>();
  readonly waiting = new Waiting();
  retrying = $state("");
  problem = $state(""); // why the chat can't be shown
  held = $state(false); // because another tab has it, which this one may take it from
  lost = $state(false); // because its project can't be opened: it can be moved
  /** The chat that this one works for as an agent; undefined: it is a person's. */
  readonly above: string | undefined;
  loading = $state(true);
  sending = $state.raw<Prompt[]>([]);

  private branch = $state.raw<Stub[]>([]); // all turns, the oldest first, read or not
  private read = $state(0); // changes with the entries that are there
  private entries = new Map<string, Entry>(); // those near what is shown, and the newest
  private rough = new Set<string>(); // those that events told of: when they were written is in the transcript
  private heard: string[] = []; // prompts that events told of: nobody has kept them yet
  private built = new Map<Stub, Turn>();
  private wanted: [number, number] = [0, 0];
  private reading = false;
  private live = $state.raw<Said | undefined>();
  private calls = $state.raw(new Map<string, Call>());
  private tree = new Tree();
  private leaf = "";
  private seq = 0;
  private pieces: Part[] = [];
  private drawing = new Drawing(() => {
    if (this.pieces.length > 0) this.live = { role: "assistant", content: this.pieces.filter(Boolean) };
  });
  private syncing: Promise<void> | undefined;
  private again = false;
  private ended = false; // the server has closed the chat
  private told = 0; // counts what the stream said of whether it works

  readonly working = $derived(this.facts?.working === true || this.live !== undefined);

  private readonly writing = $derived(this.live !== undefined || this.calls.size > 0);

  /** Where the turns begin that aren't in the transcript yet. One that is being written may be the newest one there. */
  private readonly base = $derived(this.branch.length - (this.writing && this.sending.length === 0 && this.branch[this.branch.length - 1]?.kind === "answer" ? 1 : 0));

  /** What is on its way, and what is being said. */
  private readonly tail = $derived.by<Turn[]>(() => {
    const out: Turn[] = [...this.sending];
    if (!this.writing) return out;
    const said = this.base < this.branch.length ? this.past(this.base) : undefined;
    const answer: Answer = said?.kind === "answer" ? { ...said, pieces: [...said.pieces], live: true } : { kind: "answer", id: "live", last: "live", pieces: [], model: "", at: "", stop: "", error: "", live: true };
    if (this.calls.size > 0) answer.pieces = answer.pieces.map((p) => (p.t === "steps" ? { t: "steps", steps: p.steps.map((s) => (s.t === "call" && !s.call.result && this.calls.has(s.call.id) ? { t: "call", call: { ...s.call, ...this.calls.get(s.call.id), running: true } } : s)) } : p));
    if (this.live) add(answer.pieces, this.live, new Map(), this.calls);
    out.push(answer);
    return out;
  });

  /** count is how many turns the chat has, with those that are on their way. */
  readonly count = $derived(this.base + this.tail.length);

  /** kindOf tells what a turn is, whether it has been read or not. */
  kindOf(i: number): Turn["kind"] {
    return i < this.base ? this.branch[i]!.kind : (this.tail[i - this.base]?.kind ?? "notice");
  }

  /** idOf is the id of a turn; those on their way have one that changes. */
  idOf(i: number): string {
    return i < this.base ? this.branch[i]!.id : "";
  }

  /** turn gives a turn; undefined: it is to be read first, see want. */
  turn(i: number): Turn | undefined {
    return i < this.base ? this.past(i) : this.tail[i - this.base];
  }

  private past(i: number): Turn | undefined {
    void this.read;
    const stub = this.branch[i];
    if (!stub) return undefined;
    let turn = this.built.get(stub);
    if (!turn) {
      const entries = stub.ids.map((id) => this.entries.get(id));
      if (entries.includes(undefined)) return undefined;
      turn = turns(entries as Entry[], this.tree, t("message.compacted"))[0];
      if (turn) this.built.set(stub, turn);
    }
    return turn;
  }

  /** answers gives the answers that have been read, the oldest first. */
  *answers(): Generator<Turn> {
    for (let i = 0; i < this.base; i++) {
      const turn = this.branch[i]!.kind === "answer" ? this.past(i) : undefined;
      if (turn) yield turn;
    }
    yield* this.tail;
  }

  /** find is where a turn with an entry is; -1: it is on no branch that is shown. */
  find(entry: string): number {
    return this.branch.findIndex((s) => s.ids.includes(entry));
  }

  /** want reads the turns around some that are shown, and forgets those that are far away. */
  want(from: number, to: number) {
    this.wanted = [from, to];
    if (!this.reading) void this.readWanted();
  }

  private missing(from: number, to: number): string[] {
    return this.branch.slice(Math.max(0, from), to).flatMap((s) => s.ids.filter((id) => !this.entries.has(id)));
  }

  /**
   * readWanted reads until all is there that is wanted by then; what is shown comes first. Of what
   * is around that it reads many at a time, when the nearer half isn't there.
   */
  private async readWanted() {
    this.reading = true;
    try {
      for (;;) {
        const [from, to] = this.wanted;
        let next = this.missing(from, to);
        if (next.length === 0 && this.missing(from - AROUND / 2, to + AROUND / 2).length > 0) next = this.missing(from - AROUND, to + AROUND);
        if (next.length === 0) break;
        const had = this.entries.size;
        await this.fetch(next.slice(0, PAGE));
        if (this.entries.size === had) break; // without a connection it may not be there
      }
      this.forget();
    } catch {
      // What is wanted next tries again.
    } finally {
      this.reading = false;
    }
  }

  private forget() {
    if (this.entries.size <= MOST) return;
    const [from, to] = [this.wanted[0] - AROUND, this.wanted[1] + AROUND];
    const least = Math.max(0, to - from);
    this.branch.forEach((s, i) => {
      if (i >= from - least && i < to + least) return;
      if (i >= this.branch.length - AROUND) return; // the newest stay
      for (const id of s.ids) this.entries.delete(id);
      this.built.delete(s);
    });
  }

  /** all reads every turn, as for printing them, and gives them. It keeps none. */
  async all(): Promise<Turn[]> {
    const got = new Map<string, Entry>();
    const ids = this.branch.flatMap((s) => s.ids);
    for (let i = 0; i < ids.length; i += PAGE) for (const e of await this.ask(ids.slice(i, i + PAGE))) got.set(e.id, e);
    return turns(ids.map((id) => got.get(id)).filter((e) => e !== undefined), this.tree, t("message.compacted"));
  }

  /** written is what a turn says, as its entries have it: for one that can't be drawn. */
  written(i: number): string {
    const all = i < this.base ? this.branch[i]!.ids.map((id) => this.entries.get(id)?.message) : [this.live];
    try {
      const text = all.map((m) => (m && m.role !== "toolResult" ? textOf(m) : "")).filter(Boolean).join("\n\n");
      if (text) return text;
    } catch {
      // What it is made of may be what is wrong.
    }
    return JSON.stringify(all, null, 2);
  }

  /** json is what a turn says, as the transcript has it. */
  json(i: number): string {
    return JSON.stringify(i < this.base ? this.branch[i]!.ids.map((id) => this.entries.get(id)) : [this.live], null, 2);
  }

  constructor(
    readonly id: string,
    private readonly client: Client,
    private readonly follower: Follows,
    private readonly settled: () => void,
  ) {
    const [chat, agent] = id.split(".", 2);
    this.above = agent ? chat! : undefined;
  }

  /** load reads the chat and begins to follow it. A private chat can be taken from the tab that has it. */
  async load(take?: true) {
    this.problem = "";
    this.lost = false;
    this.loading = true;
    try {
      const named = this.client.call("GET /v1/chats/{id}", { id: this.above ?? this.id });
      const asked = this.client.call("GET /v1/sessions/{id}", { id: this.id, query: { take } });
      asked.catch(() => {}); // it is awaited below, unless there is no such chat
      const about = await named;
      if (!this.above) this.about = about;
      const open = await asked;
      // An agent has a name of its own, and nothing else of the chat around it.
      if (this.above) this.about = { ...about, title: open.facts.stats.title || this.id.slice(this.above.length + 1), draft: "" };
      this.facts = open.facts;
      this.leaf = open.facts.leaf ?? "";
      await this.grow();
      if (this.leaf !== "" && !this.tree.has(this.leaf)) this.leaf = this.tree.nodes.at(-1)?.id ?? ""; // without a connection: the newest that was kept
      await this.show();
      // What is being said now is heard from its beginning: the server keeps the pieces of an
      // answer until it is whole.
      const { epoch, seq } = open.cursor;
      this.follower.follow(this.id, epoch ? `${this.id}@${epoch}.${open.facts.working ? 1 : seq}` : this.id);
      await this.waiting.read(this.client, this.id);
      this.loading = false;
    } catch (error) {
      this.lost = error instanceof Failure && error.code === "unreadable" && this.about !== undefined;
      this.problem = error instanceof Failure && error.status === 404 ? t("chat.gone") : error instanceof Failure && error.code === "unreadable" ? t(this.lost ? "chat.lostProject" : "chat.lost") : messageOf(error);
      this.held = error instanceof Failure && error.code === "held";
      this.loading = false;
    }
  }

  close() {
    this.drawing.stop();
    this.follower.leave(this.id);
  }

  /** hear takes what the stream says of this chat. */
  hear(m: Message) {
    if (m.facts) {
      const facts = m.facts as unknown as Facts;
      this.facts = facts;
      this.told++;
      this.leaf = facts.leaf ?? "";
      if (this.ended) {
        // It was opened again, and may have said something before it was followed.
        this.ended = false;
        void this.waiting.read(this.client, this.id, true).catch(() => {});
        void this.sync().then(() => {
          if (!this.working) this.sending = [];
        });
      }
      return;
    }
    if (m.ended !== undefined) {
      this.live = undefined;
      this.seq = 0; // another one counts from its beginning
      this.ended = true;
      return;
    }
    if (!m.event) return;
    const e = m.event;
    const seq = e["seq"] as number | undefined;
    if (e.type === "owner_changed") this.seq = 0;
    if (seq !== undefined) {
      if (seq <= this.seq) return; // another page had the stream begin earlier
      this.seq = seq;
    }
    this.happen(e);
  }

  /** callOf finds the call that a question is about. Those of minions are in their own chats. */
  callOf(q: Question): Call | undefined {
    const id = q.callId || q.permission?.request.callId;
    if (!id || q.from) return undefined;
    const running = this.calls.get(id);
    if (running) return running;
    void this.read;
    for (const said of [this.live, ...[...this.entries.values()].reverse().map((e) => e.message)]) {
      const part = said && partsOf(said).find((p) => p.type === "toolCall" && p.id === id);
      if (part) return { id, name: part.name ?? "", arguments: part.arguments };
    }
    return undefined;
  }

  private happen(e: Record<string, unknown> & { type: string }) {
    const entry = e["entryId"] as string | undefined;
    switch (e.type) {
      case "message_start":
        this.pieces = [];
        if ((e["message"] as Said | undefined)?.role === "assistant") this.live = { role: "assistant", content: [] };
        break;
      case "message_update":
        this.piece(e["assistantMessageEvent"] as { type: string; contentIndex: number; delta?: string; toolCall?: Part });
        break;
      case "message_end":
        this.said(e["message"] as Said, entry, e["turn"] as string | undefined);
        break;
      case "tool_execution_start":
      case "tool_execution_update": {
        const partial = e["partialResult"] as Said | undefined;
        const call: Call = { id: e["toolCallId"] as string, name: e["toolName"] as string, arguments: e["args"], running: true };
        if (e["label"]) call.label = e["label"] as string;
        if (partial) call.result = textOf(partial);
        const before = this.calls.get(call.id)?.agents;
        const agents = minionsOf(partial && { ...partial, toolName: call.name })?.map((a) => ({ ...before?.find((b) => b.id === a.id), ...a })) ?? before;
        if (agents) call.agents = agents;
        this.calls = new Map(this.calls).set(call.id, call);
        break;
      }
      case "tool_execution_end": {
        const calls = new Map(this.calls);
        calls.delete(e["toolCallId"] as string);
        this.calls = calls;
        break;
      }
      case "subagent_changed": {
        const is = e as unknown as Agent;
        const call = this.calls.get(is.callId ?? "");
        if (call) this.calls = new Map(this.calls).set(call.id, busyWith(call, { id: is.id, name: is.description || is.id, persona: is.agent, state: is.state === "idle" || is.state === "parked" ? "done" : is.state === "queued" ? "running" : is.state, cost: is.cost, now: is.waiting || is.tool || is.said || "" }));
        break;
      }
      case "queue_changed":
      case "question_asked":
      case "question_settled":
        this.waiting.hear(e);
        break;
      case "auto_retry_start":
        this.live = undefined;
        this.retrying = t("message.retrying", { n: e["attempt"] as number, total: e["maxAttempts"] as number, why: e["errorMessage"] as string });
        break;
      case "auto_retry_end":
        this.retrying = "";
        break;
      case "agent_start":
        this.works(true);
        break;
      case "agent_settled":
        this.works(false);
        this.live = undefined;
        this.retrying = "";
        this.calls = new Map();
        void this.sync().then(this.settled);
        keep(this.heard.splice(0), (ids) => this.ask(ids));
        break;
      case "session_tree":
        this.leaf = entry ?? "";
        void this.sync();
        break;
      case "title_changed":
        if (this.about) this.about = { ...this.about, title: e["text"] as string };
        this.settled();
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

  private works(working: boolean) {
    this.told++;
    if (this.facts) this.facts = { ...this.facts, working };
  }

  /** piece takes a piece of an answer. */
  private piece(p: { type: string; contentIndex: number; delta?: string; toolCall?: Part } | undefined) {
    if (!p) return;
    const i = p.contentIndex ?? 0;
    const kind = p.type.split("_")[0];
    if (kind === "text") {
      const was = this.pieces[i];
      this.pieces[i] = { type: "text", text: (was?.text ?? "") + (p.delta ?? "") };
    } else if (kind === "thinking") {
      this.pieces[i] = { type: "thinking", thinking: (this.pieces[i]?.thinking ?? "") + (p.delta ?? "") };
    } else if (kind === "toolcall") {
      const was = this.pieces[i] ?? { type: "toolCall" };
      this.pieces[i] = { ...was, ...(p.toolCall ? { id: p.toolCall.id ?? "", name: p.toolCall.name ?? "" } : {}), type: "toolCall" };
    } else {
      return;
    }
    this.drawing.ask();
  }

  private said(m: Said | undefined, id: string | undefined, turn: string | undefined) {
    if (!m) return;
    this.drawing.stop();
    this.pieces = [];
    if (m.role === "assistant") this.live = undefined;
    if (m.role === "user") this.sending = this.sending.filter((s) => s.id !== turn && s.text !== writtenOf(m).text);
    if (!id || this.entries.has(id)) return;
    if (this.tree.has(id)) {
      // It was written between the questions for the leaf and for the tree.
      if (this.find(id) < 0) void this.sync();
      return;
    }
    const type = m.role === "user" || m.role === "assistant" || m.role === "toolResult" ? "message" : "custom_message";
    this.entries.set(id, { type, id, parentId: this.leaf || null, timestamp: new Date().toISOString(), message: m });
    if (m.role === "user") this.heard.push(id);
    else this.rough.add(id);
    if (type === "message") this.branch = stubs([{ id, type, role: m.role }], this.branch);
    this.leaf = id;
  }

  /** sync reads what the transcript has that isn't known yet. */
  private sync(): Promise<void> {
    if (this.syncing) {
      this.again = true;
      return this.syncing;
    }
    this.syncing = (async () => {
      do {
        this.again = false;
        const [was, told] = [this.leaf, this.told];
        const open = await this.client.call("GET /v1/sessions/{id}", { id: this.id, fresh: true });
        this.facts = this.told === told ? open.facts : { ...open.facts, working: this.facts?.working === true };
        if (this.leaf === was) this.leaf = open.facts.leaf ?? ""; // else the stream has told of a newer one
        await this.grow(); // after the question for the leaf, which is in the tree then
        await this.show();
      } while (this.again);
    })()
      .catch(() => {}) // the next event tries again
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
  }

  /** show makes the turns of the branch, and reads the newest. */
  private async show() {
    // What is said while the newest is read is part of it.
    const asked = new Set<string>();
    let branch: Stub[];
    for (;;) {
      if (this.leaf !== "" && !this.tree.has(this.leaf) && !asked.has(this.leaf)) {
        asked.add(this.leaf);
        await this.grow();
        continue;
      }
      branch = stubs(this.tree.branch(this.leaf));
      const exact = this.facts?.working === true ? [] : [...this.rough];
      const newest = branch.slice(-AROUND).flatMap((s) => s.ids).filter((id) => (!this.entries.has(id) || exact.includes(id)) && !asked.has(id));
      if (newest.length === 0) break;
      const next = newest.slice(-PAGE);
      for (const id of next) asked.add(id);
      await this.fetch(next);
    }
    if (this.leaf !== "" && !this.tree.has(this.leaf)) return; // the connection ended meanwhile
    // Those that are as they were stay the same objects.
    for (let i = 0; i < branch.length; i++) {
      const was = this.branch[i];
      const is = branch[i]!;
      if (was?.id === is.id && was.ids.length === is.ids.length && was.ids.at(-1) === is.ids.at(-1)) branch[i] = was;
    }
    this.built.clear(); // there may be other versions of them
    this.branch = branch;
    this.read++;
  }

  private async ask(ids: string[]): Promise<Entry[]> {
    const { entries } = await this.client.call("POST /v1/sessions/{id}/entries", { id: this.id, query: { pictures: "address" }, body: { ids } });
    return (entries ?? []).map((e) => e.entry as unknown as Entry);
  }

  private async fetch(ids: string[]) {
    for (const e of await this.ask(ids)) {
      this.entries.set(e.id, e);
      this.rough.delete(e.id);
    }
    this.read++;
  }

  /** send submits a message; it is shown at once. */
  async send(text: string, parts: Part[], when: "" | "after" = ""): Promise<void> {
    const id = newID();
    const content: Part[] = text === "" ? parts : [...parts, { type: "text", text }];
    const queue = this.working;
    const prompt: Prompt = { kind: "prompt", id, text, parts, at: new Date().toISOString(), pending: true };
    if (!queue) this.sending = [...this.sending, prompt];
    try {
      const body: Input = { id, message: { role: "user", content } };
      if (when) body.when = when;
      await this.client.call("POST /v1/sessions/{id}/submit", { id: this.id, body });
      this.reopen();
    } catch (error) {
      this.sending = this.sending.filter((s) => s.id !== id);
      throw error;
    }
  }

  /** reopen follows the chat again where the server had closed it. */
  private reopen() {
    this.follower.follow(this.id, this.id);
  }

  /** edit sends a message in place of an earlier one, which stays on a branch of its own. */
  async edit(id: string, text: string, parts: Part[]) {
    const whole = await Promise.all(parts.map((p) => (p.url?.startsWith("/v1/") ? this.client.picture(p.url, p) : sendable(p))));
    await this.move(id);
    await this.send(text, whole);
  }

  /** again has the prompt before an answer answered once more. */
  async regenerate(answer: Answer) {
    const i = this.branch.slice(0, this.find(answer.id)).findLastIndex((s) => s.kind === "prompt");
    if (i < 0) return;
    if (!this.past(i)) await this.fetch(this.missing(i, i + 1));
    const prompt = this.past(i);
    if (prompt?.kind === "prompt") await this.edit(prompt.id, prompt.text, prompt.parts);
  }

  /** newest is the newest message of the person; undefined: there is none. */
  newest(): Prompt | undefined {
    const i = this.branch.findLastIndex((s) => s.kind === "prompt");
    const prompt = i < 0 ? undefined : this.past(i);
    return prompt?.kind === "prompt" ? prompt : undefined;
  }

  /** resend goes on from an answer that failed or was stopped. */
  async resend() {
    await this.client.call("POST /v1/sessions/{id}/resend", { id: this.id });
    this.reopen();
  }

  async version(id: string) {
    await this.move(this.tree.newest(id));
  }

  private async move(id: string) {
    await this.client.call("POST /v1/sessions/{id}/navigate", { id: this.id, body: { id, how: { summarize: false, instructions: "" } } });
    await this.sync();
  }

  async stop() {
    await this.client.call("POST /v1/sessions/{id}/abort", { id: this.id });
  }

  /** takeBack empties the queue, and gives what waited. */
  async takeBack(): Promise<{ text: string; parts: Part[] }> {
    const all = (await this.client.call("POST /v1/sessions/{id}/take_back", { id: this.id })) as { message: Said }[] | null;
    return takenBack(all ?? []);
  }

  async answer(q: Question, reply: Reply) {
    await this.client.call("POST /v1/sessions/{id}/answer", { id: this.id, body: { id: q.id, reply } });
  }

  async setModel(model: string) {
    await this.client.call("POST /v1/sessions/{id}/set_model", { id: this.id, body: { text: model } });
    if (this.about && !this.above) this.about = await this.client.call("PATCH /v1/chats/{id}", { id: this.id, body: { model } });
  }
}
