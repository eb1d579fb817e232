/** Mathematics, loaded with the first formula. KaTeX makes nodes, never HTML. */

import katex from "katex";
import "katex/dist/katex.css";
import type { Tex } from "./math";

interface Virtual {
  attributes?: Record<string, string>;
  children?: Virtual[];
  toNode(): Node;
}
interface Inner {
  __parse(tex: string, options: object): unknown;
  __renderToHTMLTree(tex: string, options: object): Virtual;
}
const inner = katex as unknown as Inner;
const MOST = 2_000; // formulas that are remembered

/** reader remembers what it has read: a text that grows is read again and again. */
function reader(): Tex {
  const known = new Map<string, boolean>();
  return (v, displayMode) => {
    const key = `${displayMode ? 1 : 0}${v}`;
    let is = known.get(key);
    if (is === undefined) {
      try {
        inner.__parse(v, { displayMode, strict: true, throwOnError: true, trust: false, maxExpand: 500 });
        is = true;
      } catch {
        is = false;
      }
      if (known.size >= MOST) known.clear();
      known.set(key, is);
    }
    return is;
  };
}

export const tex: Tex = reader();

/** render makes the nodes of a formula. */
export function render(v: string, displayMode: boolean): Node {
  const tree = inner.__renderToHTMLTree(v, { displayMode, strict: false, throwOnError: false, trust: false, errorColor: "#cc0000", maxSize: 20, maxExpand: 500 });
  style(tree);
  return tree.toNode();
}

/** style sets what KaTeX would write into style attributes, which the policy of the page forbids. */
function style(n: Virtual) {
  const text = n.attributes?.["style"];
  if (text !== undefined) {
    delete n.attributes!["style"];
    const make = n.toNode.bind(n);
    n.toNode = () => {
      const e = make() as HTMLElement;
      e.style.cssText += text;
      return e;
    };
  }
  n.children?.forEach(style);
}
