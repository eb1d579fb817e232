import { describe, expect, it } from "vitest";
import { blocks } from "./blocks";
import { inline } from "./inline";
import { tex } from "./katex";

const show = (text: string) => inline(text, false, tex).map((n) => (n.t === "math" ? `<${n.display ? "D" : "M"} ${n.v}>` : "v" in n ? (n.t === "code" ? `<code ${n.v}>` : n.v) : n.t)).join("");

describe("formulas", () => {
  it.each([
    ["$1.5 to $2.25", "$1.5 to $2.25"],
    ["$1.5, $(x^2)$", "$1.5, <M (x^2)>"],
    ["$20 for $\\frac{1}{4}$", "$20 for <M \\frac{1}{4}>"],
    ["$$$", "$$$"],
    ["$$$x^2$$$", "$$$x^2$$$"],
    ["$\\$\\$\\$$", "<M \\$\\$\\$>"],
    ["$x-y$ and $-5$ and $-.5$ and $5$", "$x-y$ and <M -5> and <M -.5> and $5$"],
    ["$x$ and $ab$", "<M x> and $ab$"],
    ["`$x^2$` and \\$x^2$", "<code $x^2$> and $x^2$"],
    ["$x^2`$`", "$x^2<code $>"],
    ["$x^2\n$", "$x^2\n$"],
    ["a $$x^2 +\ny$$ b", "a <D x^2 +\ny> b"],
    ["$\\href{javascript:alert(1)}{x}$", "<M \\href{javascript:alert(1)}{x}>"],
    ["$\\frac{1$ and $y_1$", "$\\frac{1$ and <M y_1>"],
    ["it costs $5 (or $6)", "it costs $5 (or $6)"],
    ["\\\\$x^2$", "\\<M x^2>"],
  ])("%s", (text, want) => expect(show(text)).toBe(want));

  it("have lines of their own", () => {
    expect(blocks("a\n$$\nx^2\n\n+ 1\n$$\nb", false, tex).map((b) => (b.t === "math" ? b.v : b.t))).toEqual(["p", "x^2\n\n+ 1", "p"]);
    expect(blocks("$$\nno \\frac{\n$$", false, tex).map((b) => b.t)).toEqual(["p"]);
    expect(blocks("```\n$$x$$\n```", false, tex).map((b) => b.t)).toEqual(["code"]);
  });

  it("show no dollars while they are written", () => {
    const text = "The sum is $\\frac{a}{b}$ here.\n\n$$\n\\int_0^1 x\\,dx\n$$\n\nend";
    for (let n = 1; n <= text.length; n++) {
      const said = JSON.stringify(blocks(text.slice(0, n), true, tex));
      expect(said, text.slice(0, n)).not.toMatch(/\$\\\\frac\{|\$\$\\n|\\\\int_0"/);
    }
  });

  it("cost little, however many dollars there are", () => {
    for (const piece of ["$", "$ ", "$x^2 ", "$$ x", "$\\frac{", "$a_{b}$ "]) {
      const text = piece.repeat(5000);
      inline("warm $x^1$", false, tex);
      const began = performance.now();
      inline(text.slice(0, 49_000), false, tex);
      expect(performance.now() - began, piece).toBeLessThan(4000);
    }
  });
});
