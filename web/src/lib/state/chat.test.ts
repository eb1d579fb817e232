import { expect, it, vi } from "vitest";
import { Client } from "../api/client";
import { Open } from "./chat.svelte";
import { Server } from "./server.testkit";

vi.stubGlobal("cancelAnimationFrame", () => {});

const shown = (o: Open) => Array.from({ length: o.count }, (_, i) => o.idOf(i)).join(" ");

async function opened(): Promise<[Server, Open]> {
  const server = new Server();
  server.say("user", "one");
  server.say("assistant", "two");
  const open = new Open("1", new Client(server), server.follow(), () => {});
  await open.load();
  expect(shown(open)).toBe("e0 e1");
  return [server, open];
}

const settled = async (o: Open) => {
  for (let i = 0; i < 20; i++) {
    expect(shown(o)).toContain("e0 e1"); // at no moment is what was there gone
    await new Promise((r) => setTimeout(r));
  }
};

it("stays in sight when it grows while it is read again", async () => {
  const [server, open] = await opened();
  server.before["sessions/1"] = () => server.say("user", "three");
  open.hear({ event: { type: "auto_compaction_end" } } as never);
  await settled(open);
  expect(shown(open)).toBe("e0 e1 e2");
});

it("keeps what is said while it is read again", async () => {
  const [server, open] = await opened();
  const heard = (role: string, text: string) => () => open.hear({ event: { type: "message_end", message: { role, content: text }, entryId: server.say(role, text) } } as never);
  server.before["sessions/1/nodes"] = heard("user", "three");
  server.after["sessions/1/nodes"] = heard("assistant", "four");
  open.hear({ event: { type: "auto_compaction_end" } } as never);
  await settled(open);
  expect(shown(open)).toBe("e0 e1 e2 e3");
});

it("works from the beginning of a turn to its end, whatever comes late", async () => {
  const [server, open] = await opened();
  const hear = (type: string) => open.hear({ event: { type } } as never);
  hear("agent_start");
  expect(open.working).toBe(true);
  server.working = true;
  server.after["sessions/1"] = () => {
    server.working = false;
    hear("agent_settled"); // before the answer comes that says it works
  };
  hear("auto_compaction_end");
  for (let i = 0; i < 20; i++) {
    await new Promise((r) => setTimeout(r));
    expect(open.working).toBe(false);
  }
});

it("keeps what is asked and queued while it reads what was", async () => {
  const server = new Server();
  server.say("user", "one");
  const open = new Open("1", new Client(server), server.follow(), () => {});
  server.after["sessions/1/questions"] = () => {
    open.hear({ event: { type: "question_asked", question: { id: "q", kind: "confirm" } } } as never);
    open.hear({ event: { type: "queue_changed", steering: [{ id: "m", text: "two" }] } } as never);
  };
  await open.load();
  expect(open.waiting.questions.map((q) => q.id)).toEqual(["q"]);
  expect(open.waiting.queued.steering?.map((q) => q.text)).toEqual(["two"]);
});

it("reads again what waits when events are lost", async () => {
  const [server, open] = await opened();
  open.hear({ event: { type: "question_asked", question: { id: "q", kind: "confirm" } } } as never);
  server.before["sessions/1/questions"] = () => expect(open.waiting.questions.length).toBe(1);
  open.hear({ event: { type: "events_lost" } } as never);
  await settled(open);
  expect(server.before["sessions/1/questions"]).toBe(undefined);
  expect(open.waiting.questions).toEqual([]);
});

it("reads many turns at a time while a person scrolls", async () => {
  const server = new Server();
  for (let i = 0; i < 100; i++) server.say("user", "q"), server.say("assistant", "a");
  const open = new Open("1", new Client(server), server.follow(), () => {});
  await open.load();
  const before = server.asked;
  for (let i = open.count; i >= 20; i--) {
    open.want(i - 20, i);
    for (let n = 0; n < 5; n++) await new Promise((r) => setTimeout(r));
    for (let n = i - 20; n < i; n++) expect(open.turn(n)).toBeDefined();
  }
  expect(server.asked - before).toBeLessThan(20);
});

it("stays in sight when the connection ends while it is read again", async () => {
  const [server, open] = await opened();
  open.hear({ event: { type: "message_end", message: { role: "user", content: "three" }, entryId: server.say("user", "three") } } as never);
  server.kept = 2;
  open.hear({ event: { type: "auto_compaction_end" } } as never);
  await settled(open);
  expect(shown(open)).toBe("e0 e1 e2");
});

it("shows the newest that is kept where there is no connection", async () => {
  const [server] = await opened();
  server.say("user", "three");
  server.kept = 2;
  const open = new Open("1", new Client(server), server.follow(), () => {});
  await open.load();
  expect(shown(open)).toBe("e0 e1");
});
