import { describe, expect, it } from "vitest";
import { read } from "./ansi";
import { parse, planned, sides, visible } from "./diff";
import { items, type CodingEntry } from "./items";
import { Screen } from "./screen";
import { treeRows } from "./tree";
import { grantOf, labelOf, scopesOf } from "./permit";

const now = Date.UTC(2026, 10, 27, 12);
const in30 = new Date(Date.UTC(2026, 11, 27, 12)).toISOString();
const offer = (words: string, expires?: string) => ({ words, rules: [{ tool: "bash", pattern: "go test:*", verdict: "allow" }], scopes: ["session", "project", "user"], ...(expires ? { expires } : {}) });

describe("permit", () => {
  it("labels answers as the terminal does", () => {
    expect(labelOf(offer("all `go test` commands", in30), "session", now)).toBe("Allow all `go test` commands in this session");
    expect(labelOf(offer("all `go test` commands"), "project", now)).toBe("Always allow all `go test` commands in this project");
    expect(labelOf(offer("all `go test` commands", in30), "user", now)).toBe("Allow all `go test` commands in all projects for 30 days");
    expect(labelOf(offer("`make`", new Date(now + 3_600_000).toISOString()), "project", now)).toBe("Allow `make` in this project for 1 day");
    expect(labelOf(offer("`make`", "2116-11-27T12:00:00Z"), "project", now)).toBe("Allow `make` in this project for years");
  });
  it("grants in the scope that was chosen, until then", () => {
    expect(scopesOf({ ...offer("x"), scopes: ["once", "session"] })).toEqual(["session"]);
    expect(grantOf(offer("x", in30), "project")).toEqual({ allow: true, grant: [{ tool: "bash", pattern: "go test:*", verdict: "allow", scope: "project", expires: in30 }] });
    expect(grantOf(offer("x", in30), "session").grant![0]).not.toHaveProperty("expires");
  });
});

describe("diff", () => {
  const text = "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n@@ -9 +9,2 @@\n nine\n+--- no header\n";
  it("numbers lines, and takes no line of a file for a header", () => {
    expect(parse(text)).toEqual([
      { kind: " ", old: 1, now: 1, text: "one" }, { kind: "-", old: 2, text: "two" }, { kind: "+", now: 2, text: "zwei" }, { kind: " ", old: 3, now: 3, text: "three" },
      { kind: "@", text: "" }, { kind: " ", old: 9, now: 9, text: "nine" }, { kind: "+", now: 10, text: "--- no header" },
    ]);
  });
  it("puts what went next to what came", () => {
    const pairs = sides(parse(text));
    expect(pairs[1]).toEqual({ left: { kind: "-", old: 2, text: "two" }, right: { kind: "+", now: 2, text: "zwei" } });
    expect(pairs.at(-1)).toEqual({ right: { kind: "+", now: 10, text: "--- no header" } });
  });
  it("shows what a call would write", () => {
    expect(planned("write", { path: "a", content: "x\ny\n" }).map((r) => r.text)).toEqual(["x", "y"]);
    expect(planned("edit", '{"path":"a","edits":[{"old":"x","new":"y"}]}')).toEqual([{ kind: "-", text: "x" }, { kind: "+", text: "y" }]);
    expect(planned("edit", { patch: "*** Update File: a\n@@\n-x\n+y" }).map((r) => r.kind)).toEqual(["/", "/", "-", "+"]);
    expect(planned("bash", { command: "rm x" })).toEqual([]);
  });
  it("hides nothing", () => expect(visible("a\u202eb\u0007\u200b")).toBe("a⟨202e⟩b␇⟨200b⟩"));
});

describe("ansi", () => {
  it("has colors and nothing else of a terminal", () => {
    expect(read("a \u001b[1;31mred\u001b[0m\u001b]8;;http://x\u0007 b\u001b[2J\n")).toEqual([[{ text: "a ", look: "" }, { text: "red", look: "a1 bold" }, { text: " b", look: "" }]]);
    expect(read("10%\r50%\r100%\nend")).toEqual([[{ text: "100%", look: "" }], [{ text: "end", look: "" }]]);
    expect(read("\u001b[38;2;200;40;40mx\u001b[38;5;34my")[0]!.map((s) => s.look)).toEqual(["a1", "a2"]);
  });
});

describe("items", () => {
  it("joins calls with their results, and keeps what runs", () => {
    const entries: CodingEntry[] = [
      { type: "message", id: "1", parentId: null, timestamp: "", message: { role: "user", content: "go" } },
      { type: "message", id: "2", parentId: "1", timestamp: "", message: { role: "assistant", content: [{ type: "thinking", thinking: "hm" }, { type: "toolCall", id: "c", name: "bash", arguments: {} }, { type: "toolCall", id: "d", name: "read", arguments: {} }] } },
      { type: "message", id: "3", parentId: "2", timestamp: "", message: { role: "toolResult", toolCallId: "c", content: "out", isError: true } },
    ];
    const all = items(entries, new Map([["d", { id: "d", name: "read", arguments: {}, running: true }]]), { compacted: "", branch: "" });
    expect(all.map((x) => x.t)).toEqual(["prompt", "thought", "call", "call"]);
    expect(all[2]).toMatchObject({ call: { result: "out", failed: true } });
    expect(all[3]).toMatchObject({ call: { running: true } });
  });
});

describe("tree", () => {
  const node = (id: string, parent: number, role: string, type = "message") => ({ id, parent, type, role, name: "", label: "" });
  const nodes = [node("m", -1, "", "model_change"), node("a", 0, "user"), node("b", 1, "assistant"), node("r", 2, "toolResult"), node("c", 3, "", "compaction"), node("d", 4, "user"), node("x", 3, "user"), node("y", 6, "assistant")];
  const shape = (leaf: string, all = false) => treeRows(nodes, leaf, all).map((r) => `${" ".repeat(r.depth)}${r.node.id}${r.active ? "*" : ""}${r.here ? "!" : ""}${r.parts ? "/" : ""}`);
  it("puts branches below the entry where they part, the one in use first", () => {
    expect(shape("d")).toEqual(["a*", "b*", " c*/", " d*!", " x/", " y"]);
    expect(shape("y")).toEqual(["a*", "b*", " x*/", " y*!", " c/", " d"]);
    expect(shape("r", true)).toEqual(["a*", "b*", "r*!", " c/", " d", " x/", " y"]);
  });
  it("takes what a file says of parents for what it is", () => {
    expect(treeRows([node("a", 0, "user"), node("b", 7, "user")], "b", false).map((r) => r.node.id)).toEqual(["b", "a"]);
  });
});

describe("screen", () => {
  const show = (...pieces: string[]) => {
    const s = new Screen(10, 4);
    for (const p of pieces) s.write(p);
    return s.lines().map((l) => l.map((x) => x.text).join("").trimEnd());
  };
  it("shows what a terminal shows", () => {
    expect(show("one\r\ntwo\r\n")).toEqual(["one", "two", ""]);
    expect(show("50%\r100%")).toEqual(["100%"]);
    expect(show("abc\b\bX\u001b[K")).toEqual(["aX"]);
    expect(show("\u001b[2J\u001b[3;4Hhere\u001b[1;1Htop")).toEqual(["top", "", "   here"]);
    expect(show("0123456789ab")).toEqual(["0123456789", "ab"]);
    expect(show("1\r\n2\r\n3\r\n4\r\n5")).toEqual(["1", "2", "3", "4", "5"]);
    expect(show("a\r\nb\r\nc\u001b[1;1H\u001b[Lx")).toEqual(["x", "a", "b", "c"]);
    expect(show("a\r\nb\r\nc\u001b[2;1H\u001b[M")).toEqual(["a", "c", "", ""]);
    expect(show("shell\u001b[?1049hfull\u001b[?1049l!")).toEqual(["shell!"]);
    expect(show("\u001b(0qx\u001b(Bq")).toEqual(["─│q"]);
  });
  it("takes sequences that come in pieces, and leaves nothing of them", () => {
    expect(show("a\u001b", "[3", "1mb\u001b]0;ti", "tle\u0007c")).toEqual(["abc"]);
    expect(show("\u001bPsecret\u001b\\x\u202ey\u0000z")).toEqual(["xyz"]);
  });
  it("keeps within its bounds, whatever it is told", () => {
    const s = new Screen(10, 4);
    s.write("\u001b[999999999;999999999Hx\u001b[999999999@\u001b[999999999L\u001b[999999999S\u001b[999999999C\u001b[99;1r");
    for (let i = 0; i < 5000; i++) s.write(`line ${i}\r\n`);
    expect(s.lines().length).toBeLessThanOrEqual(304);
    expect(Math.max(...s.lines().map((l) => l.reduce((n, x) => n + x.text.length, 0)))).toBeLessThanOrEqual(10);
    s.write("\u001b]" + "x".repeat(100_000));
    s.write("\u0007\r\nafter");
    expect(s.lines().at(-1)!.map((x) => x.text).join("")).toContain("after");
  });
});
