import { expect, it, vi } from "vitest";
import { Client } from "../api/client";
import { Server } from "../state/server.testkit";
import { Session } from "./session.svelte";

vi.stubGlobal("cancelAnimationFrame", () => {});

it("keeps what is said while its transcript is read", async () => {
  const server = new Server();
  server.say("user", "one");
  server.say("assistant", "two");
  const session = new Session("1", new Client(server), server.follow(), () => {});
  await session.load();
  expect(session.problem).toBe("");
  const shown = () => session.items.map((i) => i.id).join(" ");
  const before = shown();
  server.say("user", "three");
  const said = () => session.hear({ event: { type: "message_end", entryId: server.say("assistant", "four"), message: { role: "assistant", content: [{ type: "text", text: "four" }] } } } as never);
  server.after["sessions/1/entries"] = said;
  session.hear({ event: { type: "auto_compaction_end" } } as never);
  for (let i = 0; i < 20; i++) await new Promise((r) => setTimeout(r));
  expect(shown().startsWith(before)).toBe(true);
  expect(JSON.stringify(session.items)).toContain("four");
});

it("stays in sight when the connection ends while it is read again", async () => {
  const server = new Server();
  server.say("user", "one");
  const session = new Session("1", new Client(server), server.follow(), () => {});
  await session.load();
  session.hear({ event: { type: "message_end", entryId: server.say("assistant", "two"), message: { role: "assistant", content: [{ type: "text", text: "two" }] } } } as never);
  server.kept = 1;
  session.hear({ event: { type: "auto_compaction_end" } } as never);
  for (let i = 0; i < 20; i++) await new Promise((r) => setTimeout(r));
  expect(session.items.map((i) => i.id)).toEqual(["e0", "e1.0"]);
});
