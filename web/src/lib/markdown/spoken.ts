/** What is read aloud of a text: words, no marks and no code. */

import { blocks, type Block } from "./blocks";
import { textOf } from "./inline";

export function spoken(text: string): string {
  const say = (all: Block[]): string[] =>
    all.flatMap((b) => {
      switch (b.t) {
        case "p":
        case "h":
          return [textOf(b.c)];
        case "quote":
          return say(b.b);
        case "list":
          return b.items.flatMap((i) => say(i.b));
        case "table":
          return [b.head, ...b.rows].map((row) => row.map(textOf).join(", "));
        default:
          return [];
      }
    });
  return say(blocks(text)).join("\n\n");
}
