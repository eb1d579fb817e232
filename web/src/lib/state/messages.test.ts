import { describe, expect, it } from "vitest";
import { argumentText, busyWith, sendable, stubs, takenBack, Tree, turns, writtenOf, type Entry } from "./messages";

const node = (id: string, role: string, parent = -1) => ({ id, role, parent, type: role === "" ? "compaction" : "message", name: "", label: "" });

describe("stubs", () => {
  const nodes = [node("u1", "user"), node("a1", "assistant"), node("r1", "toolResult"), node("a2", "assistant"), node("c1", ""), node("u2", "user"), node("a3", "assistant"), node("u3", "user"), node("r3", "toolResult")];

  it("are the turns that their entries make", () => {
    const entries = nodes.map((n): Entry => ({ type: n.type, id: n.id, parentId: null, timestamp: "", ...(n.role ? { message: { role: n.role, content: n.id } } : {}) }));
    expect(stubs(nodes).map((s) => [s.kind, s.id])).toEqual(turns(entries, new Tree(), "").map((t) => [t.kind, t.id]));
  });

  it("have each entry once, results with their calls", () => {
    const all = stubs(nodes);
    expect(all.map((s) => s.ids.join())).toEqual(["u1", "a1,r1,a2", "c1", "u2", "a3,r3", "u3"]);
  });

  it("grow as if they came at once", () => {
    for (let n = 0; n <= nodes.length; n++) expect(stubs(nodes.slice(n), stubs(nodes.slice(0, n)))).toEqual(stubs(nodes));
  });
});

describe("what a call is given", () => {
  it("is read as it is written", () => {
    for (const [given, want] of [
      [undefined, ""], [null, ""], ["plain", "plain"], [[1], "[\n  1\n]"], [{}, ""],
      [{ code: "a\n  b" }, "a\n  b"],
      [{ path: "a.txt", text: "x\ny", n: 1, all: { b: true } }, 'path: a.txt\ntext:\nx\ny\nn: 1\nall: {\n  "b": true\n}'],
    ] as const) expect(argumentText(given)).toBe(want);
  });
});

it("a call shows what its agents do, the ones that it doesn't name yet, too", () => {
  const agent = { id: "a", name: "Look", persona: "critic", state: "running", cost: 0 };
  const call = { id: "c", name: "task", arguments: {}, agents: [agent] };
  expect(busyWith(call, { ...agent, name: "a", cost: 1, now: "read draft.txt" }).agents).toEqual([{ ...agent, cost: 1, now: "read draft.txt" }]);
  expect(busyWith(call, { ...agent, id: "b", now: "" }).agents?.map((a) => a.id)).toEqual(["a", "b"]);
});

describe("what a person wrote", () => {
  const file = { type: "text", text: '<file path="a \\"b\\".txt">\nhello\n</file>\nworld\n</file>' };
  const picture = { type: "image", data: "AA==", mimeType: "image/png" };

  it("stands apart from what is attached", () => {
    expect(writtenOf({ role: "user", content: [picture, file, { type: "text", text: "look" }] })).toEqual({ text: "look", parts: [picture, { ...file, name: 'a "b".txt' }] });
    expect(writtenOf({ role: "user", content: 'see <file path="a">\nb\n</file>' })).toEqual({ text: 'see <file path="a">\nb\n</file>', parts: [] });
    const [turn] = turns([{ type: "message", id: "1", parentId: null, timestamp: "", message: { role: "user", content: [file, { type: "text", text: "look" }] } }], new Tree(), "");
    expect(turn).toMatchObject({ text: "look", parts: [{ name: 'a "b".txt' }] });
  });

  it("is sent again as it was", () => {
    const back = takenBack([{ message: { role: "user", content: [file, { type: "text", text: "one" }] } }, { message: { role: "user", content: [picture, { type: "text", text: "two" }] } }]);
    expect(back.text).toBe("one\n\ntwo");
    expect(back.parts.map(sendable)).toEqual([file, picture]);
  });
});
