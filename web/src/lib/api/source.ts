/**
 * Source is one stream of events of the server for any number of chats. It connects again when
 * the connection breaks, later and later, and goes on where it was.
 */

export interface Message {
  session?: string;
  event?: Record<string, unknown> & { type: string };
  facts?: Record<string, unknown>;
  ended?: unknown;
  away?: boolean;
  lists?: boolean; // of chats and projects have changed
  sessions?: boolean; // of this machine, which admins see, have changed
  files?: string[]; // the projects whose files have changed
}
export type State = "online" | "offline";

const LEAST = 500; // ms before another try
const MOST = 15_000;
const SILENCE = 40_000; // after which a connection counts as lost: the server says something every 15 s

export class Source {
  private places = new Map<string, string>(); // of each chat, as ID or ID@EPOCH.SEQ
  private abort: AbortController | undefined; // undefined: it has not begun
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private state: State = "online";
  private watched = true;
  private looking: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly heard: (m: Message) => void,
    private readonly changed: (s: State) => void,
    private readonly request: (path: string, init: RequestInit) => Promise<Response> = (path, init) => fetch(path, init),
  ) {}

  /**
   * follow sets which chats are followed. Those that are new begin where their place says, and so
   * do those of again, which another page wants to hear from there.
   */
  follow(wanted: Map<string, string>, again: string[] = []) {
    const same = wanted.size === this.places.size && [...wanted.keys()].every((id) => this.places.has(id));
    if (same && again.length === 0 && this.abort) return;
    this.places = new Map([...wanted].map(([id, place]) => [id, (again.includes(id) ? undefined : this.places.get(id)) ?? place]));
    this.connect();
  }

  /**
   * watch says whether anybody looks: a page in the background is told by notifications, too. What
   * changes only for a moment, as between two pages, changes nothing.
   */
  watch(is: boolean) {
    clearTimeout(this.looking);
    if (is === this.watched) return;
    const change = () => {
      this.watched = is;
      if (this.places.size > 0) this.connect();
    };
    if (is || this.places.size === 0) change();
    else this.looking = setTimeout(change, 5_000);
  }

  /** stop ends the stream, as when no page is left. */
  stop() {
    const was = this.abort;
    this.abort = undefined;
    was?.abort();
    clearTimeout(this.timer);
  }

  /** connect begins the stream at once, as when the browser is online again. */
  connect() {
    this.abort?.abort();
    clearTimeout(this.timer);
    void this.run((this.abort = new AbortController()));
  }

  private async run(abort: AbortController) {
    const q = new URLSearchParams({ answers: "true", name: "browser", lists: "true", pictures: "address" });
    if (!this.watched) q.set("watching", "false");
    for (const place of this.places.values()) q.append("session", place);
    let watch: ReturnType<typeof setTimeout> | undefined;
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => abort.abort(), SILENCE);
    };
    try {
      alive();
      const answer = await this.request(`/v1/events?${q}`, { signal: abort.signal, headers: { Accept: "text/event-stream" }, cache: "no-store" });
      if (answer.status === 404 || answer.status === 401 || answer.status === 403) {
        if (this.places.size === 0) return; // to ask again would change nothing
        this.places.clear();
        this.timer = setTimeout(() => this.connect(), LEAST);
        return;
      }
      if (!answer.ok || !answer.body) throw new Error(answer.statusText);
      this.failures = 0;
      this.say("online");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        alive();
        rest += value;
        let end: number;
        while ((end = rest.indexOf("\n\n")) >= 0) {
          this.take(rest.slice(0, end));
          rest = rest.slice(end + 2);
        }
      }
    } catch {
      if (this.abort !== abort) return; // another one has begun
      this.failures++;
      this.say("offline");
    } finally {
      clearTimeout(watch);
    }
    if (this.abort !== abort) return;
    const wait = Math.min(MOST, LEAST * 2 ** Math.max(0, this.failures - 1));
    this.timer = setTimeout(() => this.connect(), wait * (0.75 + Math.random() / 2));
  }

  private take(text: string) {
    let id = "";
    let data = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("id: ")) id = line.slice(4);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    for (const place of id ? id.split(",") : []) {
      const session = place.slice(0, place.indexOf("@"));
      if (this.places.has(session)) this.places.set(session, place);
    }
    if (!data) return;
    const m = JSON.parse(data) as Message;
    if (m.ended !== undefined && m.session) this.places.delete(m.session);
    this.heard(m);
  }

  private say(s: State) {
    if (this.state === s) return;
    this.state = s;
    this.changed(s);
  }
}
