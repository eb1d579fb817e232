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
  | TtsrTriggeredEvent
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
  | PlanChangedEvent
  | PinsChangedEvent
  | TodosChangedEvent
  | ConsoleOpenedEvent
  | ConsoleClosedEvent
  | JobsChangedEvent
  | SubagentChangedEvent
  | TasksChangedEvent
  | TitleChangedEvent
  | LabelChangedEvent
  | SessionTreeEvent
  | RewoundEvent
  | AdvisorEvent
  | CommandStartEvent
  | CommandOutputEvent
  | CommandEndEvent
  | CostCountedEvent
  | WarningEvent
  | OwnerChangedEvent
  | EventsLostEvent;

/** A run starts. */
export interface AgentStartEvent extends EventHead {
  type: "agent_start";
}

/** A run ended. If a policy continues (a retry, a reminder), that is another run of the same turn. */
export interface AgentEndEvent extends EventHead {
  type: "agent_end";
  messages: Message[];
  reason?: string;
  error?: string;
  failure?: Failure;
  turns?: number;
  usage?: Usage;
}

/** These messages are done. Every submitted message gets exactly one. */
export interface AgentSettledEvent extends EventHead {
  type: "agent_settled";
  ids: string[];
  reason: string;
  error?: string;
  resumeAt?: string;
}

/** A request to the model starts. */
export interface TurnStartEvent extends EventHead {
  type: "turn_start";
}

/** An answer and the results of its calls are complete. */
export interface TurnEndEvent extends EventHead {
  type: "turn_end";
  message?: Message;
  toolResults: Message[];
}

/** A message starts. */
export interface MessageStartEvent extends EventHead {
  type: "message_start";
  message?: Message;
}

/** A piece of an answer. Slow readers miss some; message_end has the whole message. */
export interface MessageUpdateEvent extends EventHead {
  type: "message_update";
  assistantMessageEvent: Stream;
}

/** A message is complete, and in the transcript as entryId. */
export interface MessageEndEvent extends EventHead {
  type: "message_end";
  message?: Message;
}

/** A tool call starts. */
export interface ToolExecutionStartEvent extends EventHead {
  type: "tool_execution_start";
  toolCallId: string;
  toolName: string;
  label?: string;
  args: unknown;
}

/** The result of a call so far. */
export interface ToolExecutionUpdateEvent extends EventHead {
  type: "tool_execution_update";
  toolCallId: string;
  toolName: string;
  label?: string;
  args: unknown;
  partialResult?: Result;
}

/** A call ended. */
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

/** burin asks the user. A face that may answer does so with the id. */
export interface QuestionAskedEvent extends EventHead {
  type: "question_asked";
  question?: Question;
}

/** A question is settled: answered, canceled or timed out. */
export interface QuestionSettledEvent extends EventHead {
  type: "question_settled";
  id: string;
  how: string;
  by?: string;
  reply?: Reply;
}

/** The queue of messages for the model changed. */
export interface QueueChangedEvent extends EventHead {
  type: "queue_changed";
  steering?: Waiting[];
  followUps?: Waiting[];
  held?: boolean;
}

/** A request failed and will be retried. */
export interface AutoRetryStartEvent extends EventHead {
  type: "auto_retry_start";
  attempt: number;
  maxAttempts?: number;
  delayMs?: number;
  errorMessage?: string;
}

/** Retrying ended. */
export interface AutoRetryEndEvent extends EventHead {
  type: "auto_retry_end";
  success: boolean;
  attempt: number;
  finalError?: string;
}

/** Stream rules apply to what the model wrote: it reads them, and answers again if its answer was stopped. */
export interface TtsrTriggeredEvent extends EventHead {
  type: "ttsr_triggered";
  rules: Rule[];
  stopped?: boolean;
}

/** Another model takes over because the first one keeps failing. */
export interface RetryFallbackAppliedEvent extends EventHead {
  type: "retry_fallback_applied";
  change?: Change;
}

/** A larger model takes over because the conversation has outgrown the first one. */
export interface ContextPromotionEvent extends EventHead {
  type: "context_promotion";
  change?: Change;
}

/** Compaction starts. */
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

/** Compaction ended; entryId is its entry. */
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

/** Old outputs were shortened. */
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

/** How much of a request was in the provider's cache. */
export interface CacheReportEvent extends EventHead {
  type: "cache_report";
  cache?: CacheInfo;
}

/** The user chose another model. */
export interface ModelChangedEvent extends EventHead {
  type: "model_changed";
  change?: Change;
}

/** The thinking level changed; text is the level. */
export interface ThinkingChangedEvent extends EventHead {
  type: "thinking_changed";
}

/** The approval mode changed; text is its name. */
export interface ModeChangedEvent extends EventHead {
  type: "mode_changed";
}

/** The session's policies changed: automatic retry and compaction, and how it takes messages. */
export interface PolicyChangedEvent extends EventHead {
  type: "policy_changed";
  autoRetry: boolean;
  autoCompaction: boolean;
  steering: string;
  followUp: string;
  interrupt: string;
  advisor: string;
  advisorSpent?: number;
  advisorBudget?: number;
}

/** The offered tools changed; text has their names. */
export interface ToolsChangedEvent extends EventHead {
  type: "tools_changed";
}

/** The goal changed; text is its state, and is missing if there is no goal. */
export interface GoalChangedEvent extends EventHead {
  type: "goal_changed";
  goal?: Goal;
}

/** The model handed over a plan, or its state changed; text is its state: proposed, approved or done. */
export interface PlanChangedEvent extends EventHead {
  type: "plan_changed";
  plan?: Plan;
}

/** The pins changed. */
export interface PinsChangedEvent extends EventHead {
  type: "pins_changed";
}

/** The user changed the todos. */
export interface TodosChangedEvent extends EventHead {
  type: "todos_changed";
}

/** A program that a call started has a terminal, where the user can watch and type. */
export interface ConsoleOpenedEvent extends EventHead {
  type: "console_opened";
  id: string;
  callId?: string;
  command: string;
}

/** That program ended. */
export interface ConsoleClosedEvent extends EventHead {
  type: "console_closed";
  id: string;
  callId?: string;
  command: string;
}

/** A background command started or ended. */
export interface JobsChangedEvent extends EventHead {
  type: "jobs_changed";
}

/** A sub-agent started, got on, or ended; at most seven times a second for each. */
export interface SubagentChangedEvent extends EventHead {
  type: "subagent_changed";
  id: string;
  agent: string;
  parent?: string;
  callId?: string;
  index: number;
  description?: string;
  task: string;
  background?: boolean;
  state: string;
  error?: string;
  tool?: string;
  said?: string;
  model?: string;
  requests: number;
  calls: number;
  tokens: number;
  context?: number;
  window?: number;
  cost: number;
  known: boolean;
  waiting?: string;
  started: string;
  ended?: string;
  path?: string;
}

/** The list of tasks that the session shares with its sub-agents changed. */
export interface TasksChangedEvent extends EventHead {
  type: "tasks_changed";
}

/** The session's title changed; text is the title. */
export interface TitleChangedEvent extends EventHead {
  type: "title_changed";
}

/** The label of the entry entryId changed; text is the label, and is missing if it was removed. */
export interface LabelChangedEvent extends EventHead {
  type: "label_changed";
}

/** The conversation continues after the entry entryId; text is a prompt to edit and send again. */
export interface SessionTreeEvent extends EventHead {
  type: "session_tree";
}

/** The model went back to its checkpoint; entryId is its report, which follows the checkpoint. */
export interface RewoundEvent extends EventHead {
  type: "rewound";
  goal?: string;
  report: string;
  checkpoint: string;
  left: string;
  messages: number;
}

/** The advisor has read what the model did for a prompt; text is its remark, and is missing if it has none. The model reads the remark next. */
export interface AdvisorEvent extends EventHead {
  type: "advisor";
  model: string;
  remark?: string;
  cost: number;
  spent: number;
}

/** A command of the user's own starts; text is the command. */
export interface CommandStartEvent extends EventHead {
  type: "command_start";
}

/** A piece of its output. */
export interface CommandOutputEvent extends EventHead {
  type: "command_output";
}

/** It ended; entryId is its entry, and is missing if it didn't run. */
export interface CommandEndEvent extends EventHead {
  type: "command_end";
}

/** After a resume: requests, tokens and cost now include what came before. */
export interface CostCountedEvent extends EventHead {
  type: "cost_counted";
}

/** Something the user should know. */
export interface WarningEvent extends EventHead {
  type: "warning";
}

/** The first event of an epoch: readers from before continue from these entries. */
export interface OwnerChangedEvent extends EventHead {
  type: "owner_changed";
  epoch: string;
  lastEntry?: string;
  entries: number;
}

/** This reader was too slow, or its cursor is from another epoch: read the transcript instead. It has no seq. */
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
  plan?: Plan;
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

export interface Rule {
  name: string;
  path?: string;
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
  criteria?: Criterion[];
}

export interface Plan {
  title?: string;
  text: string;
  file?: string;
  state?: string;
  mode?: string;
}

export interface Facts {
  id: string;
  path?: string;
  kept?: boolean;
  sealed?: boolean;
  model: unknown;
  unusable?: string;
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
  advisor: string;
  advisorSpent?: number;
  advisorBudget?: number;
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
  advisor?: string;
}

export interface Navigation {
  summarize: boolean;
  instructions: string;
}

export interface PlanApproval {
  mode?: string;
  compact?: boolean;
  text?: string;
  note?: string;
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
  agent?: string;
  command: string;
  started: string;
  running: boolean;
  exitCode: number;
  lastLine: string;
}

export interface LanguageServer {
  id: string;
  name: string;
  root: string;
  path: string;
  state: string;
  pid?: number;
  memory?: number;
  starts: number;
  documents: number;
  errors: number;
  work?: string[];
  error?: string;
}

export interface Agent {
  id: string;
  agent: string;
  parent?: string;
  callId?: string;
  index: number;
  description?: string;
  task: string;
  background?: boolean;
  state: string;
  error?: string;
  tool?: string;
  said?: string;
  model?: string;
  requests: number;
  calls: number;
  tokens: number;
  context?: number;
  window?: number;
  cost: number;
  known: boolean;
  waiting?: string;
  started: string;
  ended?: string;
  path?: string;
}

export interface SharedTask {
  id: string;
  title: string;
  state: string;
  owner?: string;
  after?: string[];
  note?: string;
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

export interface ChangeDiff {
  path: string;
  diff?: string;
  added: number;
  removed: number;
  created?: boolean;
  deleted?: boolean;
  why?: string;
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

export interface Criterion {
  text: string;
  state?: string;
  evidence?: string;
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
