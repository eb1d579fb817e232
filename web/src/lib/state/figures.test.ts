import { describe, expect, it, vi } from "vitest";
import { cachedBy, clock, dollars, span, uncached } from "./figures";
import { Tree, turns, type Answer, type Entry } from "./messages";

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const said = (id: string, role: string, began: number, ended: number, more: object = {}): Entry => ({
  type: "message", id, parentId: null, timestamp: at(ended).toISOString(), message: { role, content: [{ type: "text", text: id }], timestamp: at(began).getTime(), ...more },
});
const usage = (input: number, cost: object = {}) => ({ usage: { input, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5, ...cost } } });

describe("an answer", () => {
  it("has the figures of all its requests and calls, without pauses", () => {
    const all = turns(
      [
        said("u", "user", 0, 0),
        said("a", "assistant", 1, 3, usage(10)),
        said("r", "toolResult", 7, 7, { toolCallId: "x" }),
        said("b", "assistant", 100, 105, usage(20, { unreliable: true })), // somebody resumed it later
      ],
      new Tree(),
      "",
    );
    expect((all[1] as Answer).used).toEqual({ requests: 2, context: 29, input: 30, cached: 6, written: 8, output: 4, reasoning: 0, cost: 1, unknown: false, guessed: true, took: 11_000 });
    expect((all[1] as Answer).at).toBe(at(105).toISOString());
  });

  it("without usage has none", () => {
    expect((turns([said("a", "assistant", 1, 3)], new Tree(), "")[0] as Answer).used).toBeUndefined();
  });
});

it("costs are marked", () => {
  expect([dollars(0), dollars(0.0012), dollars(0.00001), dollars(1.5, true), dollars(0.25, false, true)]).toEqual(["$0", "$0.0012", "<$0.0001", "$1.50+", "≈$0.25"]);
});

it("times are short", () => {
  vi.stubGlobal("navigator", { languages: ["en-US"] });
  expect([span(840), span(12_400), span(61_000), span(3_660_000)]).toEqual(["0.8 s", "12 s", "1 min 1 s", "1 h 1 min"]);
});

it("what was said today has a time, and before that a day", () => {
  vi.stubGlobal("navigator", { languages: ["en-US"] });
  const now = new Date(2026, 10, 29, 15);
  const says = (is: Date) => clock(is.toISOString(), now).replace(/\s/g, " ");
  expect([says(new Date(2026, 10, 29, 9, 5)), says(new Date(2026, 10, 28, 14, 5)), says(new Date(2025, 0, 2, 3, 4))]).toEqual(["9:05 AM", "Nov 28, 2:05 PM", "Jan 2, 2025, 3:04 AM"]);
  expect(clock("")).toBe("");
});

it("a cache ends after five minutes, or an hour where it is paid for", () => {
  const is = { input: 1, output: 1, cacheRead: 0, cacheWrite: 100_000 };
  expect(cachedBy("m", is, 0)).toEqual({ provider: "m", until: 300_000, tokens: 100_002 });
  expect(cachedBy("m", { ...is, cacheWriteLong: 5 }, 0)?.until).toBe(3_600_000);
  expect(cachedBy("m", { ...is, cacheWrite: 0 }, 0)).toBeUndefined();
  expect(uncached(100_000, { input: 3, cacheWrite: 3.75 })).toBeCloseTo(0.375);
  expect(uncached(100_000, { input: 3, cacheWrite: null })).toBeCloseTo(0.3);
  expect(uncached(1, {})).toBeUndefined();
});
