/** The tree of a session as rows: straight runs stay at their depth, branches stand below the entry where they part. */

import type { Node } from "../api/schema";

export interface TreeRow {
  node: Node;
  depth: number;
  active: boolean; // it is on the way to where the session is
  here: boolean; // it is where the session is
  parts: boolean; // a branch begins with it
}

const SAID = new Set(["message", "compaction", "branch_summary"]);

/** shownIn reports whether a row stands for an entry; with all, also for results of tools and for what programs say to the model. */
export function shownIn(n: Node, all: boolean): boolean {
  if (n.role === "toolResult" || n.role === "custom" || n.type === "custom_message" || (n.type === "message" && n.role === "")) return all;
  return SAID.has(n.type);
}

/** treeRows lays out a tree, the branch in use first where it parts. Entries below a compaction are entries like others. */
export function treeRows(nodes: Node[], leaf: string, all: boolean): TreeRow[] {
  const on = new Set<number>();
  for (let i = nodes.findLastIndex((n) => n.id === leaf); i >= 0 && i < nodes.length && !on.has(i); i = nodes[i]!.parent) on.add(i);
  let here = -1;
  const above = new Int32Array(nodes.length).fill(-1); // the row's entry that each one follows
  const below = new Map<number, number[]>();
  for (let i = 0; i < nodes.length; i++) {
    const n = nodes[i]!;
    const parent = n.parent < i ? n.parent : -1; // a file may say anything
    const up = parent < 0 ? -1 : shownIn(nodes[parent]!, all) ? parent : above[parent]!;
    above[i] = up;
    if (!shownIn(n, all)) continue;
    if (on.has(i)) here = i;
    const kids = below.get(up);
    if (kids) kids.push(i);
    else below.set(up, [i]);
  }
  const rows: TreeRow[] = [];
  const first = (kids: number[]) => [...kids].sort((a, b) => Number(on.has(b)) - Number(on.has(a)) || a - b);
  const stack: [i: number, depth: number, parts: boolean][] = [];
  const push = (of: number, depth: number) => {
    const kids = first(below.get(of) ?? []);
    for (const i of kids.reverse()) stack.push([i, kids.length > 1 ? depth + 1 : depth, kids.length > 1]);
  };
  push(-1, 0);
  for (let at; (at = stack.pop()); ) {
    const [i, depth, parts] = at;
    rows.push({ node: nodes[i]!, depth, active: on.has(i), here: i === here, parts });
    push(i, depth);
  }
  return rows;
}
