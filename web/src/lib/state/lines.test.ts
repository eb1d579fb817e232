import { expect, test } from "vitest";
import { compare } from "./lines";

const said = (before: string, after: string) => compare(before, after).map((r) => r.kind + r.text);

test("lines that differ are found, with those around them", () => {
  expect(said("a\nb\nc\n", "a\nx\nc\n")).toEqual([" a", "-b", "+x", " c"]);
  expect(said("", "a\n")).toEqual(["+a"]);
  expect(said("a\n", "")).toEqual(["-a"]);
  expect(said("same\n", "same\n")).toEqual([]);
  const many = Array.from({ length: 40 }, (_, i) => `line ${i}`);
  const other = many.map((l, i) => (i === 5 || i === 30 ? `${l}!` : l));
  const rows = compare(many.join("\n"), other.join("\n"));
  expect(rows.filter((r) => r.kind === "@")).toHaveLength(1);
  expect(rows.filter((r) => r.kind === "+").map((r) => r.now)).toEqual([6, 31]);
  expect(rows.filter((r) => r.kind === "-").map((r) => r.old)).toEqual([6, 31]);
});

test("what makes one text the other is always whole", () => {
  let seed = 1;
  const next = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 400; round++) {
    const make = () => Array.from({ length: next(12) }, () => "abc"[next(3)]!);
    const [a, b] = [make(), make()];
    const rows = compare(a.map((l) => `${l}\n`).join(""), b.map((l) => `${l}\n`).join(""));
    // Rows have the numbers of their lines: those that are left out are the same in both.
    for (const r of rows) {
      if (r.kind === "-" || r.kind === " ") expect(a[r.old! - 1]).toBe(r.text);
      if (r.kind === "+" || r.kind === " ") expect(b[r.now! - 1]).toBe(r.text);
    }
    const gone = new Set(rows.filter((r) => r.kind === "-").map((r) => r.old));
    const come = new Set(rows.filter((r) => r.kind === "+").map((r) => r.now));
    expect(a.filter((_, i) => !gone.has(i + 1))).toEqual(b.filter((_, i) => !come.has(i + 1)));
  }
});

test("texts that differ everywhere are one replaced by the other", () => {
  const [a, b] = ["a", "b"].map((x) => Array.from({ length: 3000 }, (_, i) => `${x}${i}\n`).join(""));
  const rows = compare(a!, b!);
  expect(rows.filter((r) => r.kind === "-")).toHaveLength(3000);
  expect(rows.filter((r) => r.kind === "+")).toHaveLength(3000);
});
