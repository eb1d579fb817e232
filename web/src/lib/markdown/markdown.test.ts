import { describe, expect, it } from "vitest";
import { blocks, Growing, type Block } from "./blocks";
import { inline, textOf, type Inline } from "./inline";

/** show writes a tree as short text. */
function show(nodes: Inline[]): string {
  return nodes
    .map((n) => {
      switch (n.t) {
        case "text":
          return n.v;
        case "code":
          return `<code ${n.v}>`;
        case "br":
          return "<br>";
        case "link":
          return `<a ${n.href} ${show(n.c)}>`;
        case "math":
          return `<math ${n.v}>`;
        case "image":
          return `<img ${n.src} ${n.alt}>`;
        default:
          return `<${n.t} ${show(n.c)}>`;
      }
    })
    .join("");
}

function outline(all: Block[]): string {
  return all
    .map((b) => {
      switch (b.t) {
        case "p":
          return `p(${show(b.c)})`;
        case "h":
          return `h${b.level}(${show(b.c)})`;
        case "code":
          return `code:${b.lang}(${b.v})`;
        case "quote":
          return `quote(${outline(b.b)})`;
        case "list":
          return `${b.start === undefined ? "ul" : `ol${b.start}`}(${b.items.map((i) => (i.task === undefined ? "" : i.task ? "[x]" : "[ ]") + outline(i.b)).join("; ")})`;
        case "table":
          return `table(${b.head.map(show).join("|")} / ${b.rows.map((r) => r.map(show).join("|")).join(" / ")})`;
        default:
          return b.t;
      }
    })
    .join(" ");
}

describe("inline", () => {
  it.each([
    ["a **b** *c* ~~d~~ `e`", "a <strong b> <em c> <del d> <code e>"],
    ["***both***", "<em <strong both>>"],
    ["**a *b* c**", "<strong a <em b> c>"],
    ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
    ["\\*not\\* `` a`b ``", "*not* <code a`b>"],
    ["[x](https://a.example/b_c) <https://d.example>", "<a https://a.example/b_c x> <a https://d.example https://d.example>"],
    ["see https://a.example/x_(y). Or", "see <a https://a.example/x_(y) https://a.example/x_(y)>. Or"],
    ["![alt](https://a.example/i.png)", "<img https://a.example/i.png alt>"],
    ["[x](javascript:alert(1))", "x"],
    ["[x](data:text/html,y) [y](vbscript:z)", "x y"],
    ["<script>alert(1)</script>", "<script>alert(1)</script>"],
    ["a  \nb\\\nc\nd", "a<br>b<br>c\nd"],
    ["**open", "**open"],
  ])("%s", (text, want) => expect(show(inline(text))).toBe(want));

  it.each([
    ["**op", "<strong op>"],
    ["a *b", "a <em b>"],
    ["a **", "a "],
    ["`co", "<code co>"],
    ["[lin", "lin"],
    ["[link](http", "link"],
    ["**a `b", "<strong a <code b>>"],
  ])("while it is written: %s", (text, want) => expect(show(inline(text, true))).toBe(want));

  it("does not take long over hostile texts", () => {
    for (const piece of ["[", "*a", "![](", "`", "_a*", "<", "[a](", "**", "\\"]) {
      const began = performance.now();
      textOf(inline(piece.repeat(20_000 / piece.length)));
      expect(performance.now() - began, piece).toBeLessThan(5000);
    }
  });
});

describe("blocks", () => {
  it.each([
    ["# One\ntext\n\n---\n> q\n> r", "h1(One) p(text) hr quote(p(q\nr))"],
    ["- a\n- b\n  - c\n\n1. x\n2. y", "ul(p(a); p(b) ul(p(c))) ol1(p(x); p(y))"],
    ["- [ ] a\n- [x] b", "ul([ ]p(a); [x]p(b))"],
    ["```go\nfunc f() {}\n\n# no\n```\nafter", "code:go(func f() {}\n\n# no) p(after)"],
    ["| a | b |\n|---|:-:|\n| 1 | 2 \\| 3 |\nnot", "table(a|b / 1|2 | 3 / not|)"],
    ["1. a\n\n   ```js\n   x\n   ```\n2. b", "ol1(p(a) code:js(x); p(b))"],
    ["text\n- a", "p(text) ul(p(a))"],
    ["5 apples\n2020. was", "p(5 apples\n2020. was)"],
  ])("%s", (text, want) => expect(outline(blocks(text))).toBe(want));

  it("gives the same, however a text comes", () => {
    const text = "# T\n\nA **b** [c](https://d.example).\n\n- x\n- y\n  1. z\n\n```js\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\nend\n";
    const whole = outline(blocks(text));
    for (const step of [1, 2, 3, 7, 20]) {
      const g = new Growing();
      for (let n = step; n < text.length; n += step) g.update(text.slice(0, n), true);
      expect(outline(g.update(text, false)), `${step}`).toBe(whole);
    }
  });

  it("keeps blocks that are complete", () => {
    const g = new Growing();
    const before = g.update("one\n\ntwo\n\nthr", true);
    const after = g.update("one\n\ntwo\n\nthree", true);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
    expect(after[2]).not.toBe(before[2]);
  });

  it("shows no marks on their way", () => {
    const text = "Some **bold words**, `code` and [a link](https://a.example).\n\n- item\n\n## Head\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    const g = new Growing();
    for (let n = 1; n <= text.length; n++) {
      expect(outline(g.update(text.slice(0, n), true)), text.slice(0, n)).not.toMatch(/\*\*|`|\]\(|##|p\(\||---/);
    }
  });

  it("holds deep nesting", () => {
    expect(() => blocks(">".repeat(5000) + " x")).not.toThrow();
    expect(() => blocks(Array.from({ length: 500 }, (_, i) => " ".repeat(i * 2) + "- x").join("\n"))).not.toThrow();
  });
});
