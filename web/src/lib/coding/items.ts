/** What a coding session says, as the page shows it: items, made of the entries of its transcript. */

import type { Execution } from "../api/schema";
import { partsOf, pictureOf, textOf, writtenOf, type Entry, type Part, type Said } from "../state/messages";

export interface CodingEntry extends Entry {
  execution?: Execution;
}
export interface Details {
  paths?: string[];
  diff?: string;
  added?: number;
  removed?: number;
  created?: boolean;
  exitCode?: number;
  wallTimeMs?: number;
  timedOut?: boolean;
  cancelled?: boolean;
  command?: string;
  changed?: string[];
  jobId?: string;
}
export interface CodingCall {
  id: string;
  name: string;
  label?: string;
  arguments: unknown;
  result?: string;
  details?: Details;
  pictures?: Part[]; // that it gave back
  failed?: boolean;
  running?: boolean;
}
export type Item =
  | { t: "prompt"; id: string; text: string; parts: Part[] }
  | { t: "text"; id: string; text: string; live?: boolean }
  | { t: "thought"; id: string; text: string; live?: boolean }
  | { t: "pictures"; id: string; parts: Part[] }
  | { t: "call"; id: string; call: CodingCall }
  | { t: "command"; id: string; run: Execution; live?: boolean }
  | { t: "notice"; id: string; text: string; summary: string }
  | { t: "failed"; id: string; text: string; aborted: boolean };

export interface Words {
  compacted: string;
  branch: string;
}

type Result = Said & { details?: Details };

const SUMMARY = 100_000; // characters of a summary that are shown
const PICTURES = 50; // of one message that are shown

/** filesOf are the pictures, documents and texts of a message. */
export function filesOf(m: Said): Part[] {
  return writtenOf(m).parts.slice(0, PICTURES);
}

/** answerItems gives the items of an answer. */
export function answerItems(id: string, m: Said, results: Map<string, Said>, running: Map<string, CodingCall>, live = false): Item[] {
  const out: Item[] = [];
  for (const [i, p] of partsOf(m).entries()) {
    const key = `${id}.${i}`;
    if (p.type === "text" && p.text?.trim()) out.push({ t: "text", id: key, text: p.text, live });
    else if (p.type === "thinking" && p.thinking?.trim()) out.push({ t: "thought", id: key, text: p.thinking, live });
    else if (p.type === "image" && pictureOf(p)) out.push({ t: "pictures", id: key, parts: [p] });
    else if (p.type === "toolCall") {
      const now = running.get(p.id ?? "");
      const call: CodingCall = { id: p.id ?? key, name: p.name ?? "", arguments: p.arguments ?? now?.arguments };
      const result = results.get(call.id) as Result | undefined;
      if (result) {
        call.result = textOf(result);
        call.failed = result.isError === true;
        if (result.details) call.details = result.details;
        const pictures = filesOf(result);
        if (pictures.length > 0) call.pictures = pictures;
      } else if (now) {
        Object.assign(call, now, { arguments: now.arguments ?? call.arguments, running: true });
      } else if (live) {
        call.running = true;
      }
      out.push({ t: "call", id: `call-${call.id}`, call });
    }
  }
  return out;
}

/** items makes items of entries, the oldest first. */
export function items(entries: CodingEntry[], running: Map<string, CodingCall>, words: Words): Item[] {
  const results = new Map<string, Said>();
  for (const e of entries) if (e.message?.role === "toolResult" && e.message.toolCallId) results.set(e.message.toolCallId, e.message);
  const out: Item[] = [];
  for (const e of entries) {
    if (e.execution) {
      out.push({ t: "command", id: e.id, run: e.execution });
    } else if (e.type === "compaction" || e.type === "branch_summary") {
      out.push({ t: "notice", id: e.id, text: e.type === "compaction" ? words.compacted : words.branch, summary: e.summary?.slice(0, SUMMARY) ?? "" });
    } else if (e.message?.role === "user") {
      out.push({ t: "prompt", id: e.id, text: writtenOf(e.message).text, parts: filesOf(e.message) });
    } else if (e.message?.role === "assistant") {
      out.push(...answerItems(e.id, e.message, results, running));
      const { stopReason, errorMessage } = e.message;
      if (stopReason === "aborted" || stopReason === "error" || errorMessage) out.push({ t: "failed", id: `${e.id}.end`, text: errorMessage ?? "", aborted: stopReason === "aborted" });
    }
  }
  return out;
}
