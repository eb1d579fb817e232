// Messages as session files of version 3 have them.

/** What a request took. Costs are US dollars. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost?: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export interface TextBlock {
  type: "text";
  text: string;
}

export interface ImageBlock {
  type: "image";
  /** Base64. */
  data?: string;
  mimeType?: string;
  url?: string;
}

export interface ThinkingBlock {
  type: "thinking";
  thinking?: string;
  redacted?: boolean;
}

export interface ToolCallBlock {
  type: "toolCall";
  id: string;
  name: string;
  arguments?: unknown;
  /** Arguments that are no JSON object, as the model wrote them. */
  rawArguments?: string;
  defect?: string;
}

/** A block of a kind that this version does not know. */
export interface OtherBlock {
  type: string;
  [field: string]: unknown;
}

export type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCallBlock | OtherBlock;

export interface Message {
  role: "user" | "assistant" | "toolResult" | "custom" | "system" | (string & {});
  content: string | Block[];
  /** Of a custom message: which program's it is. */
  customType?: string;
  toolCallId?: string;
  toolName?: string;
  isError?: boolean;
  details?: unknown;
  display?: boolean;
  api?: string;
  provider?: string;
  model?: string;
  usage?: Usage;
  stopReason?: string;
  errorMessage?: string;
  /** Milliseconds since 1970. */
  timestamp?: number;
}

/** The text of a message, without anything else in it. */
export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((b) => (b.type === "text" ? String((b as TextBlock).text ?? "") : "")).join("");
}
