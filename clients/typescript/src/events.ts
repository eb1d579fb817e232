// What happens in a session, as docs/events.md has it. Made of the table in session/event_json.go,
// version 1: change it there, and run its tests with BURIN_UPDATE=1.

import type { Message, Usage } from "./messages.js";

/** The version of the events. It grows when a program that read the one before could misread one. */
export const eventVersion = 1;

/** What all events have. */
export interface EventHead {
  /** Counts from 1 in the life of the process that owns the session. */
  seq?: number;
  /** An entry of the session file. */
  entryId?: string;
  /** The message that began what happens, by the id of its receipt. */
  turn?: string;
  text?: string;
}

export type Event =
  | AgentStartEvent
  | AgentEndEvent
  | AgentSettledEvent
  | TurnStartEvent
  | TurnEndEvent
  | MessageStartEvent
  | MessageUpdateEvent
  | MessageEndEvent
  | ToolExecutionStartEvent
  | ToolExecutionUpdateEvent
  | ToolExecutionEndEvent
  | QuestionAskedEvent
  | QuestionSettledEvent
  | QueueChangedEvent
  | AutoRetryStartEvent
  | AutoRetryEndEvent
  | RetryFallbackAppliedEvent
  | ContextPromotionEvent
  | AutoCompactionStartEvent
  | AutoCompactionEndEvent
  | ContextPrunedEvent
  | CacheReportEvent
  | ModelChangedEvent
  | ThinkingChangedEvent
  | ModeChangedEvent
  | PolicyChangedEvent
  | ToolsChangedEvent
  | GoalChangedEvent
  | PinsChangedEvent
  | TodosChangedEvent
  | ConsoleOpenedEvent
  | ConsoleClosedEvent
  | JobsChangedEvent
  | TitleChangedEvent
  | LabelChangedEvent
  | SessionTreeEvent
  | CommandStartEvent
  | CommandOutputEvent
  | CommandEndEvent
  | WarningEvent
  | OwnerChangedEvent
  | EventsLostEvent;

/** A run begins. */
export interface AgentStartEvent extends EventHead {
  type: "agent_start";
}

/** A run has ended. What a policy does after it (a retry, a reminder) is another run of the same turn. */
export interface AgentEndEvent extends EventHead {
  type: "agent_end";
  messages: Message[];
  reason?: string;
  error?: string;
  failure?: Failure;
  turns?: number;
  usage?: Usage;
}

/** Nothing more happens for these messages. It comes once for each message that was submitted. */
export interface AgentSettledEvent extends EventHead {
  type: "agent_settled";
  ids: string[];
  reason: string;
  error?: string;
  resumeAt?: string;
}

/** A request begins. */
export interface TurnStartEvent extends EventHead {
  type: "turn_start";
}

/** An answer and the results of its calls are there. */
export interface TurnEndEvent extends EventHead {
  type: "turn_end";
  message?: Message;
  toolResults: Message[];
}

/** A message begins. */
export interface MessageStartEvent extends EventHead {
  type: "message_start";
  message?: Message;
}

/** A piece of an answer. Readers that are slow do not get all of them; message_end says everything. */
export interface MessageUpdateEvent extends EventHead {
  type: "message_update";
  assistantMessageEvent: Stream;
}

/** A message is whole, and in the transcript as entryId. */
export interface MessageEndEvent extends EventHead {
  type: "message_end";
  message?: Message;
}

/** A call begins. */
export interface ToolExecutionStartEvent extends EventHead {
  type: "tool_execution_start";
  toolCallId: string;
  toolName: string;
  label?: string;
  args: unknown;
}

/** What a call has so far. */
export interface ToolExecutionUpdateEvent extends EventHead {
  type: "tool_execution_update";
  toolCallId: string;
  toolName: string;
  label?: string;
  args: unknown;
  partialResult?: Result;
}

/** A call has ended. */
export interface ToolExecutionEndEvent extends EventHead {
  type: "tool_execution_end";
  toolCallId: string;
  toolName: string;
  label?: string;
  args: unknown;
  result?: Result;
  isError: boolean;
  elapsedMs: number;
}

/** A person is asked. Whoever may answer does so by the id. */
export interface QuestionAskedEvent extends EventHead {
  type: "question_asked";
  question?: Question;
}

/** A question is not open any more. */
export interface QuestionSettledEvent extends EventHead {
  type: "question_settled";
  id: string;
  how: string;
  by?: string;
  reply?: Reply;
}

/** What waits to be read by the model has changed. */
export interface QueueChangedEvent extends EventHead {
  type: "queue_changed";
  steering?: Waiting[];
  followUps?: Waiting[];
  held?: boolean;
}

/** A request failed and will be repeated. */
export interface AutoRetryStartEvent extends EventHead {
  type: "auto_retry_start";
  attempt: number;
  maxAttempts?: number;
  delayMs?: number;
  errorMessage?: string;
}

/** Repeating has ended. */
export interface AutoRetryEndEvent extends EventHead {
  type: "auto_retry_end";
  success: boolean;
  attempt: number;
  finalError?: string;
}

/** Another model takes over, as the one before keeps failing. */
export interface RetryFallbackAppliedEvent extends EventHead {
  type: "retry_fallback_applied";
  change?: Change;
}

/** A larger model takes over, as the conversation has outgrown the one before. */
export interface ContextPromotionEvent extends EventHead {
  type: "context_promotion";
  change?: Change;
}

/** The conversation is being condensed. */
export interface AutoCompactionStartEvent extends EventHead {
  type: "auto_compaction_start";
  reason: string;
  action?: string;
  tokensBefore?: number;
  tokensAfter?: number;
  summary?: string;
  aborted?: boolean;
  errorMessage?: string;
}

/** Condensing has ended; entryId is its entry. */
export interface AutoCompactionEndEvent extends EventHead {
  type: "auto_compaction_end";
  reason: string;
  action?: string;
  tokensBefore?: number;
  tokensAfter?: number;
  summary?: string;
  aborted?: boolean;
  errorMessage?: string;
}

/** Outputs were shortened. */
export interface ContextPrunedEvent extends EventHead {
  type: "context_pruned";
  reason: string;
  action?: string;
  tokensBefore?: number;
  tokensAfter?: number;
  summary?: string;
  aborted?: boolean;
  errorMessage?: string;
}

/** How much of a request the vendor had in its cache. */
export interface CacheReportEvent extends EventHead {
  type: "cache_report";
  cache?: CacheInfo;
}

/** A person chose another model. */
export interface ModelChangedEvent extends EventHead {
  type: "model_changed";
  change?: Change;
}

/** How hard the model thinks; text is the level. */
export interface ThinkingChangedEvent extends EventHead {
  type: "thinking_changed";
}

/** The mode of permission; text is its name. */
export interface ModeChangedEvent extends EventHead {
  type: "mode_changed";
}

/** What the session does by itself, and how it takes in messages. */
export interface PolicyChangedEvent extends EventHead {
  type: "policy_changed";
  autoRetry: boolean;
  autoCompaction: boolean;
  steering: string;
  followUp: string;
  interrupt: string;
}

/** Which tools are offered; text has their names. */
export interface ToolsChangedEvent extends EventHead {
  type: "tools_changed";
}

/** What the session works towards; text is the state, missing where there is no goal. */
export interface GoalChangedEvent extends EventHead {
  type: "goal_changed";
  goal?: Goal;
}

/** What is kept word for word. */
export interface PinsChangedEvent extends EventHead {
  type: "pins_changed";
}

/** A person changed the list of work. */
export interface TodosChangedEvent extends EventHead {
  type: "todos_changed";
}

/** A program of a call has a terminal, for a person to see and to type into. */
export interface ConsoleOpenedEvent extends EventHead {
  type: "console_opened";
  id: string;
  callId?: string;
  command: string;
}

/** It has ended. */
export interface ConsoleClosedEvent extends EventHead {
  type: "console_closed";
  id: string;
  callId?: string;
  command: string;
}

/** A command in the background has started or ended. */
export interface JobsChangedEvent extends EventHead {
  type: "jobs_changed";
}

/** The session's name is text. */
export interface TitleChangedEvent extends EventHead {
  type: "title_changed";
}

/** The entry entryId is called text; missing takes the name away. */
export interface LabelChangedEvent extends EventHead {
  type: "label_changed";
}

/** The conversation goes on behind the entry entryId; text are words to edit and send again. */
export interface SessionTreeEvent extends EventHead {
  type: "session_tree";
}

/** A person's own command, text, begins. */
export interface CommandStartEvent extends EventHead {
  type: "command_start";
}

/** A piece of what it writes. */
export interface CommandOutputEvent extends EventHead {
  type: "command_output";
}

/** It has ended; entryId is its entry, missing where it did not run. */
export interface CommandEndEvent extends EventHead {
  type: "command_end";
}

/** What a person should know. */
export interface WarningEvent extends EventHead {
  type: "warning";
}

/** The first event of an epoch: who was there before goes on from these entries. */
export interface OwnerChangedEvent extends EventHead {
  type: "owner_changed";
  epoch: string;
  lastEntry?: string;
  entries: number;
}

/** This reader was too slow, or its cursor is of another epoch: read the transcript instead. It has no number. */
export interface EventsLostEvent extends EventHead {
  type: "events_lost";
  events?: number;
}

export interface Failure {
  message?: string;
  code?: string;
  model?: Message;
}

export interface Stream {
  type: string;
  contentIndex: number;
  delta?: string;
  content?: string;
  toolCall?: CallLine;
  block?: unknown;
}

export interface Result {
  content: unknown;
  details?: unknown;
  final?: boolean;
}

export interface Question {
  id: string;
  kind: string;
  title?: string;
  text?: string;
  from?: string;
  callId?: string;
  until?: string;
  permission?: PermissionQuestion;
  choices?: Choice[];
  schema?: unknown;
}

export interface Reply {
  dismissed?: boolean;
  permission?: PermissionAnswer;
  choices?: Chosen[];
  yes?: boolean;
  text?: string;
  object?: unknown;
}

export interface Waiting {
  id: string;
  text: string;
  attached?: number;
  by?: string;
}

export interface Change {
  from: string;
  to: string;
  role?: string;
  why?: string;
}

export interface CacheInfo {
  read: number;
  write: number;
  fresh: number;
  missed?: string;
}

export interface Goal {
  text: string;
  state?: string;
  budget?: number;
  spent?: number;
}

export interface Facts {
  id: string;
  path?: string;
  kept?: boolean;
  sealed?: boolean;
  model: unknown;
  mode?: string;
  leaf?: string;
  stats: Stats;
  working?: boolean;
  since?: string;
}

export interface Policy {
  autoRetry: boolean;
  autoCompaction: boolean;
  steering: string;
  followUp: string;
  interrupt: string;
}

export interface Queued {
  steering?: Waiting[];
  followUps?: Waiting[];
  held?: boolean;
}

export interface Console {
  id: string;
  callId?: string;
  command: string;
}

export interface Input {
  id?: string;
  message: Message;
  when?: string;
}

export interface Receipt {
  id: string;
  started?: boolean;
  again?: boolean;
}

export interface Cursor {
  epoch?: string;
  seq?: number;
}

export interface CommandResult {
  output: string;
  exitCode: number;
  cancelled: boolean;
  truncated: boolean;
  artifact: string;
  dir: string;
  entryId: string;
}

export interface Breakdown {
  window: number;
  total: number;
  reserve: number;
  free: number;
  system: Share[];
  tools: Share[];
  messages: Share[];
  largest: Big[];
}

export interface PolicyChange {
  autoRetry?: boolean;
  autoCompaction?: boolean;
  steering?: string;
  followUp?: string;
  interrupt?: string;
}

export interface Navigation {
  summarize: boolean;
  instructions: string;
}

export interface ToolState {
  name: string;
  label: string;
  description: string;
  effects: number;
  enabled: boolean;
  tokens: number;
}

export interface Job {
  id: string;
  command: string;
  started: string;
  running: boolean;
  exitCode: number;
  lastLine: string;
}

export interface Phase {
  name: string;
  tasks: Task[];
}

export interface PermissionTried {
  tool: string;
  target: string;
  decision: PermissionDecision;
}

export interface ChangeTurn {
  id: string;
  session?: string;
  label?: string;
  time: string;
  paths?: string[];
  undone?: boolean;
}

export interface ChangePlanned {
  path: string;
  action: string;
  reason?: string;
}

export interface ChangeUndone {
  restored?: string[];
  kept?: ChangePlanned[];
}

export interface TranscriptNode {
  id: string;
  parent: number;
  type: string;
  role: string;
  name: string;
  label: string;
}

export interface CallLine {
  id: string;
  name: string;
  arguments?: string;
  defect?: string;
}

export interface PermissionQuestion {
  request: PermissionRequest;
  decision: PermissionDecision;
}

export interface Choice {
  id: string;
  text: string;
  options?: string[];
  multi?: boolean;
  recommended: number;
}

export interface PermissionAnswer {
  allow: boolean;
  grant?: PermissionRule[];
  note?: string;
  stop?: boolean;
}

export interface Chosen {
  selected?: string[];
  custom?: string;
}

export interface Stats {
  model: string;
  thinking?: string;
  title?: string;
  entries: number;
  requests: number;
  usage: Usage;
  cost: number;
  known: boolean;
  context: number;
  window?: number;
}

export interface Share {
  kind: string;
  name: string;
  tokens: number;
  count: number;
}

export interface Big {
  index: number;
  kind: string;
  name: string;
  text: string;
  tokens: number;
}

export interface Task {
  content: string;
  status: string;
}

export interface PermissionDecision {
  verdict: string;
  reason?: string;
  rule?: PermissionRule;
  parts?: PermissionPart[];
  offers?: PermissionOffer[];
  dangerous?: string;
}

export interface PermissionRequest {
  tool: string;
  effects: number;
  access?: Access[];
  callId?: string;
}

export interface PermissionRule {
  tool: string;
  pattern?: string;
  verdict: string;
  scope?: string;
  expires?: string;
  id?: string;
  source?: string;
  words?: string;
}

export interface PermissionPart {
  text: string;
  verdict: string;
  reason?: string;
}

export interface PermissionOffer {
  rules: PermissionRule[];
  words: string;
  examples?: string[];
  scopes: string[];
  expires?: string;
}

export interface Access {
  kind: string;
  target: string;
  dir?: string;
}
