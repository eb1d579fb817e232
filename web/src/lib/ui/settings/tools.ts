/** The tools of a project as a form has them: what is switched off keeps its options until it is saved. */

import type { Tools } from "../../api/schema";

export const toolNames = ["filesystem", "memory", "knowledge", "javascript", "web", "ask", "todo", "calc", "history", "sketchbook", "checkpoint", "minion"] as const;
export const swipeable = ["filesystem", "memory", "javascript", "sketchbook", "checkpoint", "minion", "web"] as const;
export const forMinions = ["filesystem", "memory", "knowledge", "javascript", "sketchbook", "web", "ask", "todo", "calc"] as const;
export const returns = ["last", "deferred", "none"] as const;
export type ToolName = (typeof toolNames)[number];

export function readTools(of: Tools | undefined) {
  const m = of?.minion;
  return {
    on: Object.fromEntries(toolNames.map((n) => [n, of?.[n] !== undefined && of[n] !== null])) as Record<ToolName, boolean>,
    readOnly: of?.filesystem?.readOnly ?? false,
    systemPrompt: of?.memory?.systemPrompt ?? false,
    modelSearches: of?.web?.model ?? false,
    library: !(of?.javascript?.noLibrary ?? false),
    programsReadOnly: of?.javascript?.readOnly ?? false,
    continueMessage: of?.checkpoint?.continueMessage ?? "",
    keep: [...(of?.checkpoint?.keep ?? [])] as string[],
    instructions: m?.instructions ?? "",
    model: m?.model ?? "",
    personas: m?.personas ?? false,
    tools: [...(m?.tools ?? forMinions)] as string[],
    return: m?.return || "last",
    concurrency: m?.concurrency ? String(m.concurrency) : "",
  };
}
export type ToolsForm = ReturnType<typeof readTools>;

/** writeTools is the change that a form means: every tool, null for those that are off. */
export function writeTools(f: ToolsForm): Tools {
  const options: Record<ToolName, Record<string, unknown>> = {
    filesystem: { readOnly: f.readOnly },
    memory: { systemPrompt: f.systemPrompt },
    javascript: { noLibrary: !f.library, readOnly: f.programsReadOnly },
    web: { model: f.modelSearches },
    knowledge: {}, ask: {}, todo: {}, calc: {}, history: {}, sketchbook: {},
    checkpoint: { continueMessage: f.continueMessage.trim(), keep: f.keep },
    minion: {
      instructions: f.instructions, model: f.model, personas: f.personas, tools: forMinions.every((n) => f.tools.includes(n)) ? null : f.tools,
      return: f.return === "last" ? "" : f.return, concurrency: Math.round(Number(f.concurrency) || 0),
    },
  };
  return Object.fromEntries(toolNames.map((n) => [n, f.on[n] ? options[n] : null])) as Tools;
}
