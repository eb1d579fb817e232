import { describe, expect, it } from "vitest";
import { Heights } from "./heights";

const kind = (i: number) => (i % 2 === 0 ? "prompt" : "answer");

describe("heights", () => {
  it("finds rows as a plain sum does, whatever changes", () => {
    const h = new Heights();
    const plain: number[] = [];
    let seed = 7;
    const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
    h.resize(500, kind);
    for (let i = 0; i < 500; i++) plain.push(h.get(i));
    for (let step = 0; step < 2000; step++) {
      const i = random(plain.length);
      plain[i] = 20 + random(400);
      h.set(i, plain[i]!, kind(i));
      if (step % 97 === 0) {
        const n = 300 + random(400);
        h.resize(n, kind);
        plain.length = Math.min(plain.length, n);
        for (let k = plain.length; k < n; k++) plain.push(h.get(k));
      }
      const k = random(plain.length + 1);
      const top = plain.slice(0, k).reduce((a, b) => a + b, 0);
      expect(h.top(k)).toBeCloseTo(top, 3);
      if (k < plain.length) expect(h.at(top + 1)).toBe(k);
    }
    expect(h.at(-5)).toBe(0);
    expect(h.at(1e9)).toBe(plain.length - 1);
  });

  it("guesses by what it has seen", () => {
    const h = new Heights();
    h.resize(2, kind);
    h.set(0, 60, "prompt");
    h.set(1, 900, "answer");
    h.resize(4, kind);
    expect([h.get(2), h.get(3)]).toEqual([60, 900]);
  });

  it("is empty without rows", () => {
    const h = new Heights();
    expect([h.total, h.at(10), h.top(3)]).toEqual([0, 0, 0]);
  });
});
