/** Diffs, and what a call that is asked about would write. */

export interface Row {
  kind: "+" | "-" | " " | "@" | "/" | "\\"; // "@": a gap, "/": a file, "\\": a remark
  old?: number;
  now?: number;
  text: string;
}
/** Pair is a row of both sides of a change. */
export interface Pair {
  left?: Row;
  right?: Row;
}

const MAX = 20_000; // rows

/** parse reads a unified diff of one or several files. */
export function parse(diff: string): Row[] {
  const rows: Row[] = [];
  const several = diff.split("\n--- ").length + (diff.startsWith("--- ") ? 1 : 0) > 2;
  let [old, now, oldLeft, nowLeft] = [0, 0, 0, 0];
  let first = true;
  for (const raw of diff.split("\n")) {
    const line = raw.replace(/\r$/, "");
    if (rows.length >= MAX) break;
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk && oldLeft <= 0 && nowLeft <= 0) {
      [old, now, oldLeft, nowLeft] = [Number(hunk[1]), Number(hunk[3]), Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      if (!first) rows.push({ kind: "@", text: "" });
      first = false;
    } else if (oldLeft > 0 || nowLeft > 0) {
      const text = line.slice(1);
      if (line[0] === "+") {
        rows.push({ kind: "+", now: now++, text });
        nowLeft--;
      } else if (line[0] === "-") {
        rows.push({ kind: "-", old: old++, text });
        oldLeft--;
      } else if (line[0] === " " || line === "") {
        rows.push({ kind: " ", old: old++, now: now++, text });
        oldLeft--;
        nowLeft--;
      }
    } else if (line.startsWith("+++ ")) {
      first = true;
      if (several) rows.push({ kind: "/", text: line.slice(4).replace(/^b\//, "") });
    } else if (line.startsWith("[")) {
      rows.push({ kind: "\\", text: line });
    }
  }
  return rows;
}

/** sides puts what went and what came next to each other. */
export function sides(rows: Row[]): Pair[] {
  const out: Pair[] = [];
  for (let i = 0; i < rows.length; ) {
    const row = rows[i]!;
    if (row.kind !== "-" && row.kind !== "+") {
      out.push({ left: row, right: row });
      i++;
      continue;
    }
    const [left, right]: [Row[], Row[]] = [[], []];
    for (; rows[i]?.kind === "-"; i++) left.push(rows[i]!);
    for (; rows[i]?.kind === "+"; i++) right.push(rows[i]!);
    for (let k = 0; k < Math.max(left.length, right.length); k++) {
      const pair: Pair = {};
      if (left[k]) pair.left = left[k]!;
      if (right[k]) pair.right = right[k]!;
      out.push(pair);
    }
  }
  return out;
}

type Fields = Record<string, unknown>;
const text = (v: unknown) => (typeof v === "string" ? v : "");
const lines = (s: string) => (s === "" ? [] : s.replace(/\n$/, "").split("\n"));

/** argumentsOf gives the arguments of a call, also of one whose JSON is a text. */
export function argumentsOf(a: unknown): Fields {
  if (typeof a === "string") {
    try {
      a = JSON.parse(a);
    } catch {
      return {};
    }
  }
  return a !== null && typeof a === "object" ? (a as Fields) : {};
}

/** planned gives what a call would write, whole: the text of a file, the lines of an edit, the patch. */
export function planned(name: string, given: unknown): Row[] {
  const a = argumentsOf(given);
  if ((name === "write" || name === "edit") && typeof a["content"] === "string") return lines(a["content"]).map((line, i) => ({ kind: "+", now: i + 1, text: line }));
  const patch = text(a["patch"]) || text(a["input"]);
  if (patch !== "" && /^(\*\*\*|---|@@|\+|diff )/m.test(patch)) {
    return lines(patch).map((line) => (/^(\+\+\+|---|\*\*\*|@@)/.test(line) ? { kind: "/", text: line } : line[0] === "+" || line[0] === "-" ? { kind: line[0], text: line.slice(1) } : { kind: " ", text: line.replace(/^ /, "") }));
  }
  if (name !== "edit") return [];
  const edits = Array.isArray(a["edits"]) ? (a["edits"] as Fields[]) : [a];
  const rows: Row[] = [];
  for (const [i, e] of edits.entries()) {
    if (i > 0) rows.push({ kind: "@", text: "" });
    for (const [k, v] of Object.entries(e)) {
      if (!["old", "new", "text", "oldText", "newText", "path", "edits"].includes(k)) rows.push({ kind: "\\", text: `${k}: ${typeof v === "string" ? v : JSON.stringify(v)}` });
    }
    for (const line of lines(text(e["old"]) || text(e["oldText"]))) rows.push({ kind: "-", text: line });
    for (const line of lines(text(e["new"]) || text(e["newText"]) || text(e["text"]))) rows.push({ kind: "+", text: line });
  }
  return rows;
}

/** visible shows characters that would hide what a text says. */
export function visible(s: string): string {
  return s.replace(/[\u0000-\u0008\u000b-\u001f]/g, (ch) => String.fromCharCode(0x2400 + ch.charCodeAt(0))).replace(/[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (ch) => `⟨${ch.charCodeAt(0).toString(16)}⟩`);
}
