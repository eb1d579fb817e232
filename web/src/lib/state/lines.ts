/** The difference between two texts, line by line. */

import type { Row } from "../coding/diff";

const MOST = 1500; // lines that differ; beyond that the rest is shown as replaced
const AROUND = 3; // lines that are the same, around those that differ

/** compare gives what makes one text the other, as rows of a difference. */
export function compare(before: string, after: string): Row[] {
  const [a, b] = [split(before), split(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let [enda, endb] = [a.length, b.length];
  while (enda > start && endb > start && a[enda - 1] === b[endb - 1]) [enda, endb] = [enda - 1, endb - 1];
  const rows: Row[] = [];
  for (let i = 0; i < start; i++) rows.push({ kind: " ", old: i + 1, now: i + 1, text: a[i]! });
  for (const step of steps(a.slice(start, enda), b.slice(start, endb))) {
    const [old, now] = [start + step.a + 1, start + step.b + 1];
    if (step.kind === "-") rows.push({ kind: "-", old, text: a[old - 1]! });
    else if (step.kind === "+") rows.push({ kind: "+", now, text: b[now - 1]! });
    else rows.push({ kind: " ", old, now, text: a[old - 1]! });
  }
  for (let i = enda; i < a.length; i++) rows.push({ kind: " ", old: i + 1, now: i - enda + endb + 1, text: a[i]! });
  return folded(rows);
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

interface Step {
  kind: "-" | "+" | " ";
  a: number;
  b: number;
}

/** steps finds the shortest way from one list of lines to another (Myers), as long as it isn't too long. */
function steps(a: string[], b: string[]): Step[] {
  const replaced = (): Step[] => [...a.map((_, i): Step => ({ kind: "-", a: i, b: 0 })), ...b.map((_, i): Step => ({ kind: "+", a: a.length, b: i }))];
  if (a.length === 0 || b.length === 0) return replaced();
  const most = Math.min(a.length + b.length, MOST);
  const mid = most + 1;
  let far = new Int32Array(2 * most + 3);
  const history: Int32Array[] = [];
  let found = -1;
  search: for (let d = 0; d <= most; d++) {
    history.push(far.slice(mid - d - 1, mid + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && far[mid + k - 1]! < far[mid + k + 1]!) ? far[mid + k + 1]! : far[mid + k - 1]! + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) [x, y] = [x + 1, y + 1];
      far[mid + k] = x;
      if (x >= a.length && y >= b.length) {
        found = d;
        break search;
      }
    }
  }
  if (found < 0) return replaced();
  const out: Step[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = found; d >= 0; d--) {
    const was = history[d]!; // from -d-1 on
    const k = x - y;
    const at = (k: number) => was[k + d + 1]!;
    const from = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
    const [px, py] = d === 0 ? [0, 0] : [at(from), at(from) - from];
    while (x > px && y > py) out.push({ kind: " ", a: --x, b: --y });
    if (d === 0) break;
    if (x === px) out.push({ kind: "+", a: x, b: --y });
    else out.push({ kind: "-", a: --x, b: y });
  }
  return out.reverse();
}

/** folded leaves out what is far from any difference. */
function folded(rows: Row[]): Row[] {
  const near = new Uint8Array(rows.length);
  for (const [i, r] of rows.entries()) if (r.kind !== " ") near.fill(1, Math.max(0, i - AROUND), i + AROUND + 1);
  const out: Row[] = [];
  for (const [i, r] of rows.entries()) {
    if (near[i]) out.push(r);
    else if (near[i - 1] && near.indexOf(1, i) > 0) out.push({ kind: "@", text: "" });
  }
  return out;
}
