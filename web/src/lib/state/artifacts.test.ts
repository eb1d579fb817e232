import { expect, it } from "vitest";
import { artifacts, kindOf } from "./artifacts";
import type { Turn } from "./messages";

const answer = (text: string, live = false): Turn => ({ kind: "answer", id: "", last: "", pieces: [{ t: "text", text }], model: "", at: "", stop: "", error: "", live });
const fence = (lang: string, text: string) => `Here:\n\n\`\`\`${lang}\n${text}\n\`\`\`\n`;

it("are pages, drawings and documents", () => {
  expect(kindOf("html", "<p>")).toBe("html");
  expect(kindOf("", "  <svg viewBox='0 0 1 1'>")).toBe("svg");
  expect(kindOf("go", "package main")).toBeUndefined();
  expect(kindOf("md", "# short")).toBeUndefined();
});

it("have versions", () => {
  const all = artifacts([answer(fence("html", "<title>Clock</title>1")), answer(fence("svg", "<svg></svg>")), answer(fence("html", "<title>Clock</title>2")), answer(fence("html", "<title>Clock</title>2"))]);
  expect(all.map((a) => [a.kind, a.name, a.versions.length])).toEqual([
    ["html", "Clock", 2],
    ["svg", "", 1],
  ]);
});

it("are complete", () => expect(artifacts([answer("```html\n<p>half", true)])).toEqual([]));
