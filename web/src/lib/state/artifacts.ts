/** Artifacts are what answers made that can be looked at by itself: pages, drawings, documents. */

import { blocks } from "../markdown/blocks";
import type { Turn } from "./messages";

export type Kind = "html" | "svg" | "mermaid" | "markdown";
export interface Artifact {
  kind: Kind;
  name: string;
  versions: string[]; // the oldest first
}

/** kindOf tells what code is an artifact. */
export function kindOf(lang: string, text: string): Kind | undefined {
  lang = lang.toLowerCase();
  const head = text.trimStart().slice(0, 200).toLowerCase();
  if (lang === "svg" || ((lang === "xml" || lang === "html" || lang === "") && head.startsWith("<svg"))) return "svg";
  if (lang === "mermaid") return "mermaid";
  if (lang === "html" || lang === "htm") return "html";
  if ((lang === "markdown" || lang === "md") && text.split("\n").length > 8) return "markdown";
  return undefined;
}

function nameOf(kind: Kind, text: string): string {
  if (kind === "mermaid") return (/^\s*title:?\s+(.{1,80})$/m.exec(text) ?? /^\s*(?:---[^]*?\n---\s*)?(?:%%.*\s+)*([A-Za-z]+)/.exec(text))?.[1]?.trim() ?? "";
  const m = kind === "markdown" ? /^#{1,6}\s+(.+)$/m.exec(text) : /<title>([^<]{1,80})<\/title>/i.exec(text);
  return m?.[1]?.trim() ?? "";
}

/** artifacts finds those of answers. One of the same kind and name in a later place is another version. */
export function artifacts(turns: Iterable<Turn>): Artifact[] {
  const all = new Map<string, Artifact>();
  for (const turn of turns) {
    if (turn.kind !== "answer") continue;
    for (const p of turn.pieces) {
      if (p.t !== "text" || !p.text.includes("```")) continue;
      for (const b of blocks(p.text, turn.live === true)) {
        const kind = b.t === "code" && !b.open ? kindOf(b.lang, b.v) : undefined;
        if (!kind || b.t !== "code") continue;
        const name = nameOf(kind, b.v);
        const key = `${kind}/${name}`;
        const is = all.get(key);
        if (!is) all.set(key, { kind, name, versions: [b.v] });
        else if (is.versions.at(-1) !== b.v) is.versions.push(b.v);
      }
    }
  }
  return [...all.values()];
}
