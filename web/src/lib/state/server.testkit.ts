import type { Transport } from "../api/client";

/** A server with one chat, whose transcript grows while it is read. */
export class Server implements Transport {
  entries: { id: string; role: string; text: string }[] = [];
  working = false;
  kept = Infinity; // how many entries a browser has kept, which has no connection
  asked = 0; // how often for entries
  before: Record<string, () => void> = {}; // what happens once before a request is answered
  after: Record<string, () => void> = {}; // and before its answer arrives

  say(role: string, text: string): string {
    const id = `e${this.entries.length}`;
    this.entries.push({ id, role, text });
    return id;
  }
  request(path: string, init: RequestInit): Promise<Response> {
    const what = path.split("?")[0]!.split("/").slice(2).join("/");
    const once = (from: Record<string, () => void>) => {
      const f = from[what];
      delete from[what];
      f?.();
    };
    once(this.before);
    const body = init.body ? (JSON.parse(init.body as string) as { from?: number; ids?: string[] }) : {};
    const answer = JSON.stringify(this.answer(what, body));
    once(this.after);
    return Promise.resolve(new Response(answer));
  }
  private answer(what: string, body: { from?: number; ids?: string[] }): unknown {
    switch (what) {
      case "chats/1":
        return { id: "1", title: "" };
      case "sessions/1":
        return { header: {}, facts: { leaf: this.entries.at(-1)?.id ?? "", working: this.working, stats: {} }, cursor: { epoch: "e", seq: 0 } };
      case "sessions/1/nodes":
        return { nodes: this.entries.map((e, i) => ({ id: e.id, type: "message", role: e.role, parent: i - 1, name: "", label: "" })).slice(0, this.kept).slice(body.from), total: Math.min(this.kept, this.entries.length) };
      case "sessions/1/entries":
        this.asked++;
        return { entries: body.ids!.map((id) => ({ entry: { type: "message", id, message: this.entries.find((e) => e.id === id && { role: e.role, content: e.text }) } })) };
      case "sessions/1/queue":
        return {};
      default:
        return [];
    }
  }
  follow() {
    return { follow() {}, leave() {} };
  }
}
