/** Output of commands: colors of terminals as classes, within limits. */

export interface Span {
  text: string;
  look: string; // classes
}

const palette: [number, number, number][] = [
  [0, 0, 0], [205, 49, 49], [13, 188, 121], [180, 160, 16], [36, 114, 200], [188, 63, 188], [17, 168, 205], [128, 128, 128],
];

/** nearest is the color of the palette that is most like one of 24 bits; grays are the color of text. */
function nearest(r: number, g: number, b: number): string {
  if (Math.max(r, g, b) - Math.min(r, g, b) < 24) return Math.max(r, g, b) < 170 ? "a7" : "";
  let best = 1;
  let least = Infinity;
  for (let i = 1; i < 7; i++) {
    const [x, y, z] = palette[i]!;
    const d = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
    if (d < least) [best, least] = [i, d];
  }
  return `a${best}`;
}

function of256(n: number): string {
  if (n < 16) return n % 8 === 0 ? (n === 8 ? "a7" : "") : n % 8 === 7 ? "" : `a${n % 8}`;
  if (n >= 232) return n < 248 ? "a7" : "";
  const level = (v: number) => (v === 0 ? 0 : 55 + 40 * v);
  const k = n - 16;
  return nearest(level(Math.floor(k / 36)), level(Math.floor(k / 6) % 6), level(k % 6));
}

/** overwritten gives what a terminal shows of a line in which carriage returns go back to its beginning. */
const overwritten = (line: string) => line.replace(/\r+$/, "").split("\r").pop()!;

// eslint-disable-next-line no-control-regex
const sequence = /\u001b(?:\[([0-9;:?<=>]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g;

/** clean takes from a text what would steer a terminal, or show it in another order than it has. */
export function clean(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** Look is how text is shown, as sequences have set it. */
export class Look {
  classes = "";
  private color = "";
  private marks = new Set<string>();

  /** set does the sequence that ends with "m". */
  set(args: string) {
    const { marks } = this;
    const codes = (args || "0").split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i++) {
      const n = codes[i]!;
      if (n === 0) {
        this.color = "";
        marks.clear();
      } else if (n === 1) marks.add("bold");
      else if (n === 2) marks.add("dim");
      else if (n === 3) marks.add("it");
      else if (n === 4) marks.add("under");
      else if (n === 7) marks.add("inv");
      else if (n === 22) { marks.delete("bold"); marks.delete("dim"); }
      else if (n === 23) marks.delete("it");
      else if (n === 24) marks.delete("under");
      else if (n === 27) marks.delete("inv");
      else if (n >= 30 && n <= 37) this.color = n === 30 || n === 37 ? "" : `a${n - 30}`;
      else if (n >= 90 && n <= 97) this.color = n === 90 ? "a7" : n === 97 ? "" : `a${n - 90}`;
      else if (n === 39) this.color = "";
      else if (n === 38 || n === 48) {
        const rgb = codes[i + 1] === 2;
        const is = rgb ? nearest(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0) : of256(codes[i + 2] ?? 0);
        if (n === 38) this.color = is;
        i += rgb ? 4 : 2;
      }
    }
    this.classes = [this.color, ...marks].filter(Boolean).join(" ");
  }
}

/** read makes lines of an output; each has its spans. */
export function read(output: string): Span[][] {
  const out: Span[][] = [];
  const look = new Look();
  for (const raw of output.replace(/\n$/, "").split("\n")) {
    const line = overwritten(raw);
    const spans: Span[] = [];
    const add = (text: string) => {
      const is = clean(text);
      if (is) spans.push({ text: is, look: look.classes });
    };
    let at = 0;
    for (const m of line.matchAll(sequence)) {
      add(line.slice(at, m.index));
      at = m.index + m[0].length;
      if (m[2] === "m") look.set(m[1] ?? "");
    }
    add(line.slice(at));
    out.push(spans);
  }
  return out;
}
