/** The screen of a program with a terminal, as far as a page needs it: what it says stays text. */

import { clean, Look, type Span } from "./ansi";

interface Cell {
  ch: string;
  look: string;
}
const KEPT = 300; // lines that have left the screen
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u;
const LINES = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"; // of the set for drawing, from "`" to "~"

export class Screen {
  private rows: Cell[][] = [[]];
  private above: Cell[][] = [];
  private x = 0;
  private y = 0;
  private saved: [number, number] = [0, 0];
  private top = 0;
  private bottom: number;
  private look = new Look();
  private rest = "";
  private drawing = false;
  private other: { rows: Cell[][]; x: number; y: number } | undefined; // what stands behind an alternate screen

  constructor(
    private cols = 120,
    private height = 40,
  ) {
    this.bottom = height - 1;
  }

  resize(cols: number, height: number) {
    this.cols = Math.max(2, cols);
    this.height = Math.max(2, height);
    while (this.rows.length > this.height) this.above.push(this.rows.shift()!);
    this.above = this.above.slice(-KEPT);
    [this.top, this.bottom] = [0, this.height - 1];
    this.x = Math.min(this.x, this.cols - 1);
    this.y = Math.max(0, Math.min(this.y, this.height - 1));
  }

  /** lines are what is seen, and some of what was. */
  lines(): Span[][] {
    return [...this.above, ...this.rows].map((row) => {
      const out: Span[] = [];
      for (const c of row) {
        const last = out.at(-1);
        if (last && last.look === (c?.look ?? "")) last.text += c?.ch ?? " ";
        else out.push({ text: c?.ch ?? " ", look: c?.look ?? "" });
      }
      return out;
    });
  }

  write(text: string) {
    const all = this.rest + text;
    this.rest = "";
    for (let i = 0; i < all.length; ) {
      const ch = String.fromCodePoint(all.codePointAt(i)!);
      if (ch === "\u001b") {
        const n = this.escape(all.slice(i, i + 4096));
        if (n === 0) {
          if (all.length - i < 4096) this.rest = all.slice(i); // its end is yet to come
          return;
        }
        i += n;
        continue;
      }
      i += ch.length;
      if (ch === "\n" || ch === "\u000b" || ch === "\u000c") this.down();
      else if (ch === "\r") this.x = 0;
      else if (ch === "\b") this.x = Math.max(0, this.x - 1);
      else if (ch === "\t") this.x = Math.min(this.cols - 1, (Math.floor(this.x / 8) + 1) * 8);
      else if (ch === "\u000e") this.drawing = true;
      else if (ch === "\u000f") this.drawing = false;
      else this.put(ch);
    }
  }

  private put(given: string) {
    const ch = clean(given);
    if (ch === "") return;
    const wide = WIDE.test(ch);
    if (this.x + (wide ? 1 : 0) >= this.cols) {
      this.x = 0;
      this.down();
    }
    const row = this.row(this.y);
    const at = ch >= "`" && ch <= "~" && this.drawing ? LINES[ch.charCodeAt(0) - 96]! : ch;
    while (row.length < this.x) row.push({ ch: " ", look: "" });
    row[this.x++] = { ch: at, look: this.look.classes };
    if (wide) row[this.x++] = { ch: "", look: this.look.classes };
  }

  private row(y: number): Cell[] {
    while (this.rows.length <= y) this.rows.push([]);
    return this.rows[y]!;
  }

  private down() {
    if (this.y === this.bottom) this.scroll(1);
    else this.y = Math.min(this.height - 1, this.y + 1);
    this.row(this.y);
  }

  private scroll(n: number, from = this.top) {
    this.row(this.bottom);
    for (let k = 0; k < Math.min(Math.abs(n), this.height); k++) {
      if (n > 0) {
        const [gone] = this.rows.splice(from, 1, ...[]);
        this.rows.splice(this.bottom, 0, []);
        if (from === 0 && !this.other && gone) this.above.push(gone);
      } else {
        this.rows.splice(this.bottom, 1);
        this.rows.splice(from, 0, []);
      }
    }
    if (this.above.length > KEPT) this.above = this.above.slice(-KEPT);
  }

  /** escape does a sequence, and gives how long it is; 0: its end isn't there. */
  private escape(s: string): number {
    // eslint-disable-next-line no-control-regex
    const csi = /^\u001b\[([?<=>]?)([0-9;:]*)[ -/]*([@-~])/.exec(s);
    if (csi) {
      this.control(csi[1]!, csi[2]!, csi[3]!);
      return csi[0].length;
    }
    if (/^\u001b\[[?<=>]?[0-9;: -/]*$/.test(s)) return 0;
    if (/^\u001b[\]PX^_]/.test(s)) {
      const end = /\u0007|\u001b\\/.exec(s);
      return end ? end.index + end[0].length : s.length >= 4096 ? s.length : 0;
    }
    const plain = /^\u001b([ -/]*)([0-~])/.exec(s);
    if (!plain) return s.length < 8 && /^\u001b[ -/]*$/.test(s) ? 0 : 1;
    if (plain[1] === "(") this.drawing = plain[2] === "0";
    else if (plain[1] === "") this.simple(plain[2]!);
    return plain[0].length;
  }

  private simple(c: string) {
    if (c === "7") this.saved = [this.x, this.y];
    else if (c === "8") [this.x, this.y] = this.saved;
    else if (c === "D") this.down();
    else if (c === "E") {
      this.x = 0;
      this.down();
    } else if (c === "M") {
      if (this.y === this.top) this.scroll(-1);
      else this.y = Math.max(0, this.y - 1);
    } else if (c === "c") this.clear();
  }

  private clear() {
    this.rows = [[]];
    [this.x, this.y, this.top, this.bottom] = [0, 0, 0, this.height - 1];
    this.look = new Look();
  }

  private control(mark: string, args: string, c: string) {
    const n = args.split(/[;:]/).map(Number);
    const one = Math.min(n[0] || 1, 500);
    const to = (x: number, y: number) => {
      this.x = Math.max(0, Math.min(this.cols - 1, x));
      this.y = Math.max(0, Math.min(this.height - 1, y));
    };
    if (mark === "?" && (c === "h" || c === "l")) {
      if (n.some((v) => v === 1049 || v === 1047 || v === 47)) this.alternate(c === "h");
      return;
    }
    if (mark !== "") return;
    const row = this.row(this.y);
    if (c === "m") this.look.set(args);
    else if (c === "A") to(this.x, this.y - one);
    else if (c === "B" || c === "e") to(this.x, this.y + one);
    else if (c === "C" || c === "a") to(this.x + one, this.y);
    else if (c === "D") to(this.x - one, this.y);
    else if (c === "E") to(0, this.y + one);
    else if (c === "F") to(0, this.y - one);
    else if (c === "G" || c === "`") to(one - 1, this.y);
    else if (c === "d") to(this.x, one - 1);
    else if (c === "H" || c === "f") to((n[1] || 1) - 1, (n[0] || 1) - 1);
    else if (c === "J") {
      if (n[0] === 2 || n[0] === 3) this.rows = [];
      else if (n[0] === 1) for (let y = 0; y < this.y; y++) this.rows[y] = [];
      else {
        row.splice(this.x);
        this.rows.splice(this.y + 1);
      }
      this.row(this.y);
    } else if (c === "K") {
      if (n[0] === 2) row.length = 0;
      else if (n[0] === 1) for (let x = 0; x <= Math.min(this.x, row.length - 1); x++) row[x] = { ch: " ", look: "" };
      else row.splice(this.x);
    } else if (c === "X") for (let x = this.x; x < Math.min(this.x + one, row.length); x++) row[x] = { ch: " ", look: "" };
    else if (c === "P") row.splice(this.x, one);
    else if (c === "@") row.splice(this.x, 0, ...Array.from({ length: Math.min(one, this.cols) }, () => ({ ch: " ", look: "" })));
    else if (c === "L") this.scroll(-one, this.y);
    else if (c === "M") this.scroll(one, this.y || this.top);
    else if (c === "S") this.scroll(one);
    else if (c === "T") this.scroll(-one);
    else if (c === "s") this.saved = [this.x, this.y];
    else if (c === "u") [this.x, this.y] = this.saved;
    else if (c === "r") {
      const [top, bottom] = [(n[0] || 1) - 1, (n[1] || this.height) - 1];
      if (top < bottom && bottom < this.height) [this.top, this.bottom] = [top, bottom];
      to(0, 0);
    }
    if (row.length > this.cols) row.length = this.cols;
  }

  private alternate(on: boolean) {
    if (on && !this.other) {
      this.other = { rows: this.rows, x: this.x, y: this.y };
      this.rows = [[]];
    } else if (!on && this.other) {
      ({ rows: this.rows, x: this.x, y: this.y } = this.other);
      this.other = undefined;
    }
  }
}
