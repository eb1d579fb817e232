// What can be asked of a session: the methods of session/remote, with what they take and give.

import type {
  Agent,
  AgentEndEvent,
  Breakdown,
  ChangeDiff,
  ChangePlanned,
  ChangeTurn,
  ChangeUndone,
  CommandResult,
  Console,
  Cursor,
  Goal,
  Input,
  Job,
  LanguageServer,
  Navigation,
  PermissionRule,
  PermissionTried,
  Phase,
  Plan,
  PlanApproval,
  Policy,
  PolicyChange,
  Question,
  Queued,
  Receipt,
  Reply,
  SharedTask,
  ToolState,
  TranscriptNode,
} from "./events.js";

type None = Record<string, never>;
type Id = { id: string };
type Text = { text: string };

/** Each method: what it takes, and what it gives. */
export interface Methods {
  submit: [Input, Receipt];
  wait: [Id, AgentEndEvent];
  resend: [None, Receipt];
  abort: [None, null];
  abort_retry: [None, null];
  abort_command: [None, null];
  /** Answers beside the conversation; the answer also comes in pieces. */
  aside: [Text, Text];
  /** Runs a command of the person's own; its output also comes in pieces. */
  run: [{ command: string; private?: boolean }, CommandResult];
  compact: [Text, null];
  shake: [Text, number];
  handoff: [Text, Text];
  set_title: [Text, null];
  breakdown: [None, Breakdown];
  approve_plan: [PlanApproval, Receipt];

  queue: [None, Queued];
  take_back: [None, Input[] | null];
  release: [None, null];

  set_model: [Text, null];
  set_thinking: [Text, null];
  set_mode: [Text, null];
  policy: [None, Policy];
  change_policy: [PolicyChange, Policy];

  navigate: [{ id: string; how: Partial<Navigation> }, Text];
  set_label: [{ id: string; name: string }, null];

  tools: [None, ToolState[]];
  offer: [string[], null];
  force: [Text, null];

  todos: [None, Phase[] | null];
  set_todos: [Phase[], null];
  goal: [None, Goal];
  set_goal: [Goal, null];
  plan: [None, Plan];
  pins: [None, string[] | null];
  pin: [Text, null];
  unpin: [Text, null];

  agents: [None, Agent[] | null];
  agent_tasks: [None, SharedTask[] | null];
  stop_agent: [Id, null];

  jobs: [None, Job[] | null];
  job_output: [Id, Text];
  job_kill: [Id, null];

  language_servers: [None, LanguageServer[] | null];
  language_server_log: [Id, Text];
  restart_language_server: [Id, null];

  consoles: [None, Console[] | null];
  /** What a program writes comes in pieces, as base64, until it ends. */
  console_follow: [Id, null];
  /** keys are base64. */
  console_type: [{ id: string; keys: string }, null];
  console_resize: [{ id: string; cols: number; rows: number }, null];
  console_stop: [Id, null];

  questions: [None, Question[] | null];
  answer: [{ id: string; reply: Reply }, null];

  rules: [None, PermissionRule[] | null];
  grant: [{ rules: [string]; scope?: string }, PermissionRule];
  revoke: [Id, null];
  try_rules: [{ rules: string[] }, PermissionTried[] | null];

  turns: [None, ChangeTurn[] | null];
  turn_diff: [Id, ChangeDiff[] | null];
  preview_undo: [Id, ChangePlanned[] | null];
  undo: [Id, ChangeUndone];

  cursor: [None, Cursor];
  nodes: [{ from: number }, { nodes: TranscriptNode[]; total: number }];
  entry: [Id, { entry: unknown; execution?: unknown; lost?: unknown[] }];
  entries: [{ ids: string[] }, { entries: { entry: unknown; execution?: unknown; lost?: unknown[] }[] }];
}

export type Method = keyof Methods;
