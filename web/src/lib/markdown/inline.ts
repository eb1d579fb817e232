/** Reads what stands inside a paragraph: emphasis, code, links, mathematics. It makes a tree, never HTML. */

import { displayAt, formulaAt, pending, type Tex } from "./math";

export type Inline =
  | { t: "text"; v: string }
  | { t: "code"; v: string }
  | { t: "strong" | "em" | "del"; c: Inline[] }
  | { t: "link"; href: string; c: Inline[] }
  | { t: "image"; src: string; alt: string }
  | { t: "math"; v: string; display: boolean }
  | { t: "br" };

const MAX_LENGTH = 50_000; // of a paragraph; a longer one is text
const MAX_LINK = 4_000; // characters of an address
const escapable = /[!-/:-@[-`{-~]/;
const space = /\s/;
const punctuation = /[\p{P}\p{S}]/u;
const bare = /https?:\/\/[^\s<>"]+/gy;

interface Run {
  at: number; // in the list of nodes
  mark: string;
  count: number;
  opens: boolean;
  closes: boolean;
}

/** href gives an address that a link may have; undefined: it may not. */
export function href(text: string): string | undefined {
  return /^(https?:\/\/|mailto:)[^\s<>"]+$/i.test(text) && text.length <= MAX_LINK ? text : undefined;
}

/**
 * inline reads a text. Of a text that is still being written, open is true: marks that are not
 * closed yet count as closed at its end, so that nothing changes its look when they are.
 */
export function inline(text: string, open = false, tex?: Tex): Inline[] {
  if (text.length > MAX_LENGTH) return [{ t: "text", v: text }];
  return new Reader(text, open, tex).read();
}

class Reader {
  private nodes: Inline[] = [];
  private runs: Run[] = [];
  private brackets: { at: number; runs: number; image: boolean; from: number }[] = [];
  private plain = "";
  private ticks = new Map<number, number>(); // from where on no run of so many backticks comes
  constructor(
    private readonly s: string,
    private readonly open: boolean,
    private readonly tex: Tex | undefined,
  ) {}

  read(): Inline[] {
    const s = this.s;
    let i = 0;
    while (i < s.length) {
      const c = s[i]!;
      switch (c) {
        case "\\":
          if (s[i + 1] === "\n") {
            this.push({ t: "br" });
            i += 2;
          } else if (i + 1 < s.length && escapable.test(s[i + 1]!)) {
            this.plain += s[i + 1];
            i += 2;
          } else if (this.open && i + 1 === s.length) {
            i++;
          } else {
            this.plain += c;
            i++;
          }
          break;
        case "`":
          i = this.code(i);
          break;
        case "$":
          i = this.math(i);
          break;
        case "*":
        case "_":
        case "~":
          i = this.run(i, c);
          break;
        case "!":
          if (s[i + 1] === "[") {
            this.bracket(true, i + 2);
            i += 2;
          } else {
            this.plain += c;
            i++;
          }
          break;
        case "[":
          this.bracket(false, i + 1);
          i++;
          break;
        case "]":
          i = this.close(i);
          break;
        case "<": {
          const end = s.indexOf(">", i);
          const to = end > 0 && end - i < MAX_LINK ? href(s.slice(i + 1, end)) : undefined;
          if (to) {
            this.push({ t: "link", href: to, c: [{ t: "text", v: to.replace(/^mailto:/, "") }] });
            i = end + 1;
          } else if (/^<br ?\/?>/i.test(s.slice(i, i + 6))) {
            this.push({ t: "br" });
            i += s.slice(i).indexOf(">") + 1;
          } else {
            this.plain += c;
            i++;
          }
          break;
        }
        case "\n":
          if (this.plain.endsWith("  ")) {
            this.plain = this.plain.trimEnd();
            this.push({ t: "br" });
          } else {
            this.plain += "\n";
          }
          i++;
          while (s[i] === " ") i++;
          break;
        case "h":
          i = this.address(i);
          break;
        default:
          this.plain += c;
          i++;
      }
    }
    if (this.open && this.brackets.length > 0) this.unfinished();
    this.flush();
    this.emphasis(0);
    return merge(this.nodes);
  }

  private flush() {
    if (this.plain !== "") this.nodes.push({ t: "text", v: this.plain });
    this.plain = "";
  }

  private push(n: Inline) {
    this.flush();
    this.nodes.push(n);
  }

  /** math reads a formula, if one begins at a dollar. */
  private math(i: number): number {
    const s = this.s;
    let n = 1;
    while (s[i + n] === "$") n++;
    const found = !this.tex ? undefined : n === 1 ? formulaAt(s, i, this.tex) : n === 2 ? displayAt(s, i, this.tex) : undefined;
    if (found) {
      this.push({ t: "math", v: found.v, display: n === 2 });
      return found.end;
    }
    if (this.open && this.tex && n < 3 && pending(s, i, n === 2)) return s.length; // it is being written
    this.plain += s.slice(i, i + n);
    return i + n;
  }

  private code(i: number): number {
    const s = this.s;
    let n = 1;
    while (s[i + n] === "`") n++;
    const from = i + n;
    if ((this.ticks.get(n) ?? s.length) > from) {
      for (let at = from; (at = s.indexOf("`", at)) >= 0; ) {
        let m = 1;
        while (s[at + m] === "`") m++;
        if (m === n) {
          this.push({ t: "code", v: trimCode(s.slice(from, at)) });
          return at + m;
        }
        at += m;
      }
      this.ticks.set(n, from);
    }
    if (this.open && from < s.length) {
      this.push({ t: "code", v: s.slice(from).replace(/`+$/, "") });
      return s.length;
    }
    if (!this.open) this.plain += s.slice(i, from);
    return from;
  }

  private run(i: number, mark: string): number {
    const s = this.s;
    let n = 1;
    while (s[i + n] === mark) n++;
    const before = i === 0 ? " " : s[i - 1]!;
    const after = i + n < s.length ? s[i + n]! : " ";
    const left = !space.test(after) && (!punctuation.test(after) || space.test(before) || punctuation.test(before));
    const right = !space.test(before) && (!punctuation.test(before) || space.test(after) || punctuation.test(after));
    if (mark === "~" && n !== 2) {
      this.plain += s.slice(i, i + n);
      return i + n;
    }
    let opens = left;
    let closes = right;
    if (mark === "_") {
      opens = left && (!right || punctuation.test(before));
      closes = right && (!left || punctuation.test(after));
    }
    if (this.open && i + n === s.length && !right) return i + n; // it is about to begin something
    this.flush();
    this.nodes.push({ t: "text", v: s.slice(i, i + n) });
    if (opens || closes) this.runs.push({ at: this.nodes.length - 1, mark, count: n, opens, closes });
    return i + n;
  }

  private bracket(image: boolean, from: number) {
    this.flush();
    this.nodes.push({ t: "text", v: image ? "![" : "[" });
    this.brackets.push({ at: this.nodes.length - 1, runs: this.runs.length, image, from });
    if (this.brackets.length > 100) this.brackets.shift();
  }

  private close(i: number): number {
    const b = this.brackets.pop();
    if (!b) {
      this.plain += "]";
      return i + 1;
    }
    const s = this.s;
    if (s[i + 1] !== "(") {
      this.plain += "]";
      return i + 1;
    }
    const m = /^\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(s.slice(i + 1, i + 1 + MAX_LINK));
    if (!m) {
      if (this.open && !s.slice(i).includes(")") && !s.slice(i).includes("\n")) {
        this.wrap(b, undefined);
        return s.length; // the rest of it is on its way
      }
      this.plain += "]";
      return i + 1;
    }
    this.wrap(b, (m[1] ?? m[2] ?? "").replace(/\\(.)/g, "$1"));
    return i + 1 + m[0].length;
  }

  /** wrap makes a link or an image of what stands since a bracket. */
  private wrap(b: { at: number; runs: number; image: boolean; from: number }, to: string | undefined) {
    this.flush();
    this.emphasis(b.runs);
    const inner = merge(this.nodes.splice(b.at).slice(1));
    this.runs.length = b.runs;
    const good = to === undefined ? undefined : href(to);
    if (b.image) {
      this.nodes.push(good && !good.startsWith("mailto:") ? { t: "image", src: good, alt: textOf(inner) } : { t: "text", v: textOf(inner) });
    } else if (good) {
      this.nodes.push({ t: "link", href: good, c: inner });
      this.brackets = this.brackets.filter((o) => o.image); // no link in a link
    } else {
      this.nodes.push(...inner);
    }
  }

  /** unfinished hides the bracket of a link that is being written. */
  private unfinished() {
    const b = this.brackets[this.brackets.length - 1]!;
    if (!this.s.slice(b.from).includes("\n")) this.nodes[b.at] = { t: "text", v: "" };
  }

  private address(i: number): number {
    bare.lastIndex = i;
    const m = (i === 0 || !/\w/.test(this.s[i - 1]!)) && this.s.startsWith("http", i) ? bare.exec(this.s) : null;
    if (!m) {
      this.plain += "h";
      return i + 1;
    }
    let to = m[0].replace(/[.,:;!?'"*_~\]]+$/, "");
    while (to.endsWith(")") && count(to, ")") > count(to, "(")) to = to.slice(0, -1);
    const good = href(to);
    if (!good || to.length < 9) {
      this.plain += "h";
      return i + 1;
    }
    this.push({ t: "link", href: good, c: [{ t: "text", v: to }] });
    return i + to.length;
  }

  /** emphasis pairs the runs from a number on, as CommonMark does. */
  private emphasis(bottom: number) {
    const runs = this.runs;
    for (let c = bottom; c < runs.length; c++) {
      const closer = runs[c]!;
      while (closer.closes && closer.count > 0) {
        let o = c - 1;
        for (const least = Math.max(bottom, c - 200); o >= least; o--) {
          const r = runs[o]!;
          if (r.mark !== closer.mark || !r.opens || r.count === 0) continue;
          if ((r.closes || closer.opens) && (r.count + closer.count) % 3 === 0 && (r.count % 3 !== 0 || closer.count % 3 !== 0)) continue;
          break;
        }
        if (o < Math.max(bottom, c - 200)) break;
        this.pair(o, c, closer.at);
        for (let k = o + 1; k < c; k++) runs[k]!.count = 0; // what was not paired in between is text
      }
    }
    if (this.open) {
      for (let o = runs.length - 1; o >= bottom; o--) {
        const r = runs[o]!;
        while (r.opens && r.count > 0 && r.at < this.nodes.length - 1) this.pair(o, -1, this.nodes.length);
      }
    }
    runs.length = bottom;
  }

  /** pair wraps what stands between two runs; the second one may be the end of the text. */
  private pair(o: number, c: number, end: number) {
    const opener = this.runs[o]!;
    const closer = this.runs[c];
    const n = opener.mark === "~" ? 2 : Math.min(opener.count, closer?.count ?? opener.count) >= 2 ? 2 : 1;
    const kind = opener.mark === "~" ? "del" : n === 2 ? "strong" : "em";
    const inner = merge(this.nodes.slice(opener.at + 1, end));
    const put: Inline = { t: kind, c: inner };
    // The nodes in between become one; the places of later runs stay as they are.
    for (let k = opener.at + 1; k < end; k++) this.nodes[k] = { t: "text", v: "" };
    if (opener.at + 1 < end) this.nodes[opener.at + 1] = put;
    opener.count -= n;
    this.nodes[opener.at] = { t: "text", v: opener.mark.repeat(opener.count) };
    if (closer) {
      closer.count -= n;
      this.nodes[closer.at] = { t: "text", v: closer.mark.repeat(closer.count) };
    }
  }
}

function count(text: string, c: string): number {
  return text.split(c).length - 1;
}

function trimCode(text: string): string {
  const one = text.replaceAll("\n", " ");
  return one.startsWith(" ") && one.endsWith(" ") && one.trim() !== "" ? one.slice(1, -1) : one;
}

/** merge joins neighboring texts. */
function merge(nodes: Inline[]): Inline[] {
  const out: Inline[] = [];
  for (const n of nodes) {
    const last = out[out.length - 1];
    if (n.t === "text" && n.v === "") continue;
    if (n.t === "text" && last?.t === "text") out[out.length - 1] = { t: "text", v: last.v + n.v };
    else out.push(n);
  }
  return out;
}

/** textOf is what a tree says, without marks. */
export function textOf(nodes: Inline[]): string {
  return nodes.map((n) => ("v" in n ? n.v : "c" in n ? textOf(n.c) : n.t === "image" ? n.alt : n.t === "br" ? "\n" : "")).join("");
}
