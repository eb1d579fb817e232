import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Drawing } from "./drawing";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  vi.stubGlobal("requestAnimationFrame", (f: () => void) => setTimeout(f, 16));
  vi.stubGlobal("cancelAnimationFrame", (id: number) => clearTimeout(id));
  vi.stubGlobal("document", { hidden: false });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("draws the first piece at once, and then at most thirty times a second", () => {
  let drawn = 0;
  const d = new Drawing(() => drawn++);
  d.ask();
  expect(drawn).toBe(0);
  vi.advanceTimersByTime(17);
  expect(drawn).toBe(1);
  for (let ms = 0; ms < 1000; ms += 5) {
    d.ask();
    vi.advanceTimersByTime(5);
  }
  expect(drawn).toBeGreaterThan(15);
  expect(drawn).toBeLessThan(32);
  vi.advanceTimersByTime(60);
  const last = drawn;
  vi.advanceTimersByTime(1000);
  expect(drawn, "nothing was asked for").toBe(last);
});

it("draws nothing that was stopped, and every piece where there are no frames", () => {
  let drawn = 0;
  const d = new Drawing(() => drawn++);
  d.ask();
  d.stop();
  vi.advanceTimersByTime(100);
  expect(drawn).toBe(0);
  vi.stubGlobal("document", { hidden: true });
  d.ask();
  d.ask();
  expect(drawn).toBe(2);
});
