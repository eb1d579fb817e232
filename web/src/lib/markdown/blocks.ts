/** Reads Markdown into blocks, and goes on reading while a text is being written. */

import { inline, type Inline } from "./inline";
import { displayAt, pending, type Tex } from "./math";

export type Align = "left" | "center" | "right" | undefined;
export interface Item {
  b: Block[];
  task?: boolean; // whether it is done; undefined: it is no task
}
export type Block = { at: number } & (
  | { t: "p"; c: Inline[] }
  | { t: "h"; level: number; c: Inline[] }
  | { t: "code"; lang: string; v: string; open: boolean }
  | { t: "quote"; b: Block[] }
  | { t: "list"; start: number | undefined; loose: boolean; items: Item[] }
  | { t: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { t: "math"; v: string }
  | { t: "hr" }
);

const MAX_DEPTH = 12; // of quotes and lists in each other
const fence = /^( {0,3})(`{3,}|~{3,})([^`\n]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}> ?/;
const dollars = /^ {0,3}\$\$(?!\$)/;
const marker = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:( {1,4})(?=\S)|[ \t]*$| )/;
const divider = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
/** What the last line of a text may be while it is only the beginning of something. */
const beginning = /^\s*(?:[-*+]|\d+[.)]?|#{1,6}|>|`{1,2}|~{1,2}|\|)\s*$/;

/** blocks reads a text. open: it is still being written. */
export function blocks(text: string, open = false, tex?: Tex): Block[] {
  const lines = text.split("\n");
  if (open && beginning.test(lines[lines.length - 1]!)) lines.pop();
  return parse(lines, 0, open, 0, tex);
}

/** parse reads lines. The first one begins at an offset of the text. */
function parse(lines: string[], offset: number, open: boolean, depth: number, tex: Tex | undefined): Block[] {
  const out: Block[] = [];
  let i = 0;
  let at = offset;
  const take = () => {
    at += lines[i]!.length + 1;
    i++;
  };
  while (i < lines.length) {
    const line = lines[i]!;
    if (line.trim() === "") {
      take();
      continue;
    }
    const from = at;
    let m: RegExpExecArray | null;
    const formula = math(i);
    if (formula) {
      for (let k = 0; k < formula.lines; k++) take();
      if (formula.v !== "") out.push({ t: "math", at: from, v: formula.v });
    } else if ((m = fence.exec(line))) {
      const [, indent, mark, info] = m;
      const end = new RegExp(`^ {0,3}\\${mark![0]}{${mark!.length},}[ \\t]*$`);
      const body: string[] = [];
      take();
      while (i < lines.length && !end.test(lines[i]!)) {
        body.push(lines[i]!.startsWith(indent!) ? lines[i]!.slice(indent!.length) : lines[i]!.trimStart());
        take();
      }
      const closed = i < lines.length;
      if (closed) take();
      out.push({ t: "code", at: from, lang: info!.trim().split(/\s+/)[0] ?? "", v: body.join("\n"), open: !closed && open });
    } else if ((m = heading.exec(line))) {
      const last = open && i === lines.length - 1;
      out.push({ t: "h", at: from, level: m[1]!.length, c: inline(m[2] ?? "", last, tex) });
      take();
    } else if (rule.test(line)) {
      out.push({ t: "hr", at: from });
      take();
    } else if (quote.test(line) && depth < MAX_DEPTH) {
      const body: string[] = [];
      while (i < lines.length && (quote.test(lines[i]!) || (lines[i]!.trim() !== "" && !starts(lines[i]!)))) {
        body.push(lines[i]!.replace(quote, ""));
        take();
      }
      out.push({ t: "quote", at: from, b: parse(body, 0, open && i === lines.length, depth + 1, tex) });
    } else if ((m = marker.exec(line)) && depth < MAX_DEPTH) {
      const list = readList();
      out.push({ t: "list", at: from, ...list });
    } else if (table(i)) {
      const align = i + 1 < lines.length ? cells(lines[i + 1]!).map(alignment) : [];
      const head = cells(line).map((c) => inline(c, open && i >= lines.length - 2, tex));
      take();
      if (i < lines.length) take();
      const rows: Inline[][][] = [];
      while (i < lines.length && lines[i]!.trim() !== "" && !starts(lines[i]!)) {
        const last = open && i === lines.length - 1;
        const row = cells(lines[i]!).slice(0, head.length);
        while (row.length < head.length) row.push("");
        rows.push(row.map((c) => inline(c, last, tex)));
        take();
      }
      out.push({ t: "table", at: from, align, head, rows });
    } else {
      const body: string[] = [];
      do {
        body.push(body.length === 0 ? lines[i]!.trimStart() : lines[i]!);
        take();
      } while (i < lines.length && lines[i]!.trim() !== "" && !starts(lines[i]!) && !table(i) && !math(i));
      const last = open && i === lines.length;
      out.push({ t: "p", at: from, c: inline(last ? body.join("\n") : body.join("\n").trimEnd(), last, tex) });
    }
  }
  return out;

  /** math reads a formula that has lines of its own. One that is being written is nothing yet. */
  function math(n: number): { v: string; lines: number } | undefined {
    if (!tex || !dollars.test(lines[n]!)) return undefined;
    const rest = lines.slice(n, n + 200).join("\n");
    const found = displayAt(rest, rest.indexOf("$"), tex);
    if (!found) return open && pending(rest, rest.indexOf("$"), true) ? { v: "", lines: lines.length - n } : undefined;
    const after = rest.indexOf("\n", found.end);
    if (rest.slice(found.end, after < 0 ? undefined : after).trim() !== "") return undefined;
    return { v: found.v, lines: rest.slice(0, found.end).split("\n").length };
  }

  /** table reports whether a table begins at a line. One that is being written has no divider yet. */
  function table(n: number): boolean {
    const line = lines[n]!;
    const next = lines[n + 1];
    if (!line.includes("|")) return false;
    if (next === undefined || (open && n + 2 === lines.length && /^[\s|:-]*$/.test(next))) return open && /^ {0,3}\|.*\S/.test(line);
    return next.includes("-") && divider.test(next) && cells(line).length === cells(next).length;
  }

  function readList() {
    const first = marker.exec(lines[i]!)!;
    const kind = first[3] === undefined ? first[2]! : first[2]!.slice(-1);
    const items: Item[] = [];
    let loose = false;
    for (;;) {
      const m = i < lines.length ? marker.exec(lines[i]!) : null;
      if (!m || (m[3] === undefined ? m[2]! : m[2]!.slice(-1)) !== kind || rule.test(lines[i]!)) break;
      const width = m[1]!.length + m[2]!.length + Math.max(1, m[4]?.length ?? 1);
      const body = [lines[i]!.slice(width)];
      take();
      let blank = false;
      while (i < lines.length) {
        const line = lines[i]!;
        if (line.trim() === "") {
          blank = true;
        } else if (indent(line) >= Math.min(width, 4) || (indent(line) >= 2 && marker.test(line.trimStart()))) {
          if (blank && body.length > 0) loose ||= !/^\s*$/.test(body[body.length - 1]!) || indent(line) < width + 2;
          blank = false;
        } else if (blank || starts(line) || marker.test(line)) {
          break;
        }
        body.push(line.slice(Math.min(indent(line), width)));
        take();
      }
      if (blank && i < lines.length && marker.test(lines[i]!)) loose = true;
      while (body.length > 1 && body[body.length - 1]!.trim() === "") body.pop();
      const task = /^\[([ xX])\][ \t]+/.exec(body[0]!);
      if (task) body[0] = body[0]!.slice(task[0].length);
      const item: Item = { b: parse(body, 0, open && i === lines.length, depth + 1, tex) };
      if (task) item.task = task[1] !== " ";
      items.push(item);
    }
    return { start: first[3] === undefined ? undefined : Number(first[3]), loose, items };
  }
}

/** starts reports whether a line begins another block than a paragraph. */
function starts(line: string): boolean {
  if (fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line)) return true;
  const m = marker.exec(line);
  return m !== null && m[4] !== undefined && (m[3] === undefined || m[3] === "1");
}

function indent(line: string): number {
  return line.length - line.trimStart().length;
}

function cells(line: string): string[] {
  let s = line.trim();
  if (s.startsWith("|")) s = s.slice(1);
  if (s.endsWith("|") && !s.endsWith("\\|")) s = s.slice(0, -1);
  return s.split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
}

function alignment(cell: string): Align {
  const left = cell.startsWith(":");
  return cell.endsWith(":") ? (left ? "center" : "right") : left ? "left" : undefined;
}

/**
 * Growing reads a text that grows. Only the last block is read again: those before it stay the
 * same objects, so that nothing of them is drawn again.
 */
export class Growing {
  private text = "";
  private open = false;
  private tex: Tex | undefined;
  private all: Block[] = [];

  /** update gives the blocks of a text, with formulas if there is something that reads them. */
  update(text: string, open: boolean, tex?: Tex): Block[] {
    if (text === this.text && open === this.open && tex === this.tex) return this.all;
    const last = this.all[this.all.length - 1];
    const from = last && tex === this.tex && text.startsWith(this.text) ? last.at : 0;
    const kept = from > 0 ? this.all.slice(0, -1) : [];
    const fresh = blocks(text.slice(from), open, tex);
    this.tex = tex;
    for (const b of fresh) b.at += from;
    this.text = text;
    this.open = open;
    this.all = kept.concat(fresh);
    return this.all;
  }
}
