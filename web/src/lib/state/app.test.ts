import { expect, it, vi } from "vitest";
import { App, first } from "./app.svelte";

it("lists what was made once, also if the stream has told of it before the answer", () => {
  const [a, b] = [{ id: "a" }, { id: "b" }];
  expect(first(a, [b])).toEqual([a, b]);
  expect(first(a, [b, { id: "a" }])).toEqual([a, b]);
});

it("doesn't take older lists over what was changed while they were read", async () => {
  vi.stubGlobal("document", { documentElement: { dataset: {} }, addEventListener() {}, hidden: true });
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("location", { href: "http://localhost/x", pathname: "/x", hash: "" });
  vi.stubGlobal("localStorage", { getItem: () => "me", setItem() {}, removeItem() {} });
  const chat = { id: "1", project: "a", title: "" };
  let arrive: (() => void) | undefined;
  let slow = false;
  const app = new App(
    {
      async request(path, init) {
        if (init.method === "PATCH") Object.assign(chat, JSON.parse(init.body as string));
        const said = path.startsWith("/v1/chats?") ? [chat] : path.startsWith("/v1/chats/") ? chat : path === "/v1/me" ? { id: "me" } : [];
        const answer = new Response(JSON.stringify(said));
        if (slow && path.startsWith("/v1/chats?")) await new Promise<void>((r) => (arrive = r));
        return answer;
      },
      follow: () => ({ follow() {}, leave() {} }),
    },
    { base: "/x", settings() {}, lock() {} },
  );
  await vi.waitUntil(() => app.ready);
  slow = true;
  const refreshed = app.refresh();
  await app.move("1", "b");
  slow = false;
  arrive!();
  const seen: unknown[] = [];
  while (!(await Promise.race([refreshed.then(() => true), new Promise((r) => setTimeout(r))]))) seen.push(app.chats[0]?.project);
  expect([...seen, app.chats[0]?.project]).not.toContain("a");
  vi.unstubAllGlobals();
});
