/** What a session has besides its conversation: todos, the plan, background jobs, and programs with a terminal. */

import type { Client } from "../api/client";
import type { Console, Job, Phase, Plan, PlanApproval } from "../api/schema";
import { c } from "../i18n/coding";
import type { Said } from "../state/messages";

type Kind = "todos" | "plan" | "jobs" | "consoles";
/** After these events, anything may be different. */
const MOVED = new Set(["session_tree", "rewound", "events_lost", "owner_changed"]);

export const open = (status: string) => status !== "completed" && status !== "abandoned";

export class Work {
  todos = $state.raw<Phase[]>([]);
  plan = $state.raw<Plan>();
  jobs = $state.raw<Job[]>([]);
  consoles = $state.raw<Console[]>([]);
  readonly tasks = $derived(this.todos.flatMap((p) => p.tasks ?? []));
  readonly done = $derived(this.tasks.filter((t) => !open(t.status)).length);
  readonly current = $derived((this.tasks.find((t) => t.status === "in_progress") ?? this.tasks.find((t) => open(t.status)))?.content ?? "");
  readonly running = $derived(this.jobs.filter((j) => j.running).length);
  private wanted = new Set<Kind>();
  private reading: Promise<void> | undefined;

  constructor(
    private readonly id: string,
    private readonly client: Client,
  ) {}

  hear(e: Record<string, unknown> & { type: string }) {
    const said = e["message"] as Said | undefined;
    if (MOVED.has(e.type)) void this.read();
    else if (e.type === "todos_changed" || (e.type === "message_end" && said?.role === "toolResult" && said.toolName === "todo")) void this.read("todos");
    else if (e.type === "plan_changed") void this.read("plan");
    else if (e.type === "jobs_changed") void this.read("jobs");
    else if (e.type === "console_opened" || e.type === "console_closed") void this.read("consoles");
  }

  /** read reads what may have changed. What changes meanwhile is read once more, not as often as it is said. */
  read(...kinds: Kind[]): Promise<void> {
    for (const k of kinds.length > 0 ? kinds : (["todos", "plan", "jobs", "consoles"] as const)) this.wanted.add(k);
    this.reading ??= this.drain().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async drain() {
    while (this.wanted.size > 0) {
      const now = [...this.wanted];
      this.wanted.clear();
      await Promise.all(now.map((k) => this.one(k).catch(() => {}))); // sub-agents have less
    }
  }

  private async one(k: Kind) {
    const id = this.id;
    if (k === "todos") this.todos = (await this.client.call("POST /v1/sessions/{id}/todos", { id })) ?? [];
    else if (k === "plan") this.plan = await this.client.call("POST /v1/sessions/{id}/plan", { id });
    else if (k === "jobs") this.jobs = ((await this.client.call("POST /v1/sessions/{id}/jobs", { id })) ?? []).filter((j) => !j.agent); // agents stand at their calls
    else this.consoles = (await this.client.call("POST /v1/sessions/{id}/consoles", { id })) ?? [];
  }

  async output(id: string): Promise<string> {
    return (await this.client.call("POST /v1/sessions/{id}/job_output", { id: this.id, body: { id } })).text;
  }

  async kill(id: string) {
    await this.client.call("POST /v1/sessions/{id}/job_kill", { id: this.id, body: { id } });
    await this.read("jobs");
  }

  /** follow passes what a program writes, from when it knows the size that the page has for it, until it ends. */
  async follow(id: string, cols: number, rows: number, signal: AbortSignal, heard: (bytes: Uint8Array) => void) {
    const size = (r: number) => this.client.call("POST /v1/sessions/{id}/console_resize", { id: this.id, body: { id, cols, rows: r } }).catch(() => {}); // who only watches may not
    await size(rows - 1); // a program draws again when its size changes
    await size(rows);
    await this.client.pieces(`/v1/sessions/${encodeURIComponent(this.id)}/console_follow`, { id }, signal, (text) => heard(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))));
  }

  async type(id: string, keys: string) {
    await this.client.call("POST /v1/sessions/{id}/console_type", { id: this.id, body: { id, keys: btoa(String.fromCharCode(...new TextEncoder().encode(keys))) } });
  }

  async stop(id: string) {
    await this.client.call("POST /v1/sessions/{id}/console_stop", { id: this.id, body: { id } });
  }

  approve(body: PlanApproval) {
    return this.client.call("POST /v1/sessions/{id}/approve_plan", { id: this.id, body });
  }
}

/** A way to carry out a plan, as the terminal offers it (session.PlanOptions). */
export interface PlanOption {
  label: string; // as the session knows it
  text: string;
  approval: PlanApproval;
}

/** planOptions are those for a plan, the usual one first. */
export function planOptions(plan: Plan): PlanOption[] {
  const mode = plan.mode ?? "";
  const modes = [...new Set([mode, "ask", "auto-edit"].filter((m) => m !== "" && m !== "plan"))];
  return [
    ...modes.map((m) => ({ label: `Approve and execute in ${m} mode`, text: c("planIn", { mode: m }), approval: { mode: m } })),
    { label: "Approve and compact the context first", text: c("planCompact"), approval: { mode, compact: true } },
  ];
}
/** KEEP is the answer that approves nothing. */
export const KEEP = "Keep planning";
