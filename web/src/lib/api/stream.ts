import workerAddress from "./stream.worker.ts?sharedworker&url";
import { Source, type Message, type State } from "./source";

/** What pages and the worker that they share say to each other. */
export interface ToWorker {
  follow?: [id: string, place: string][];
  online?: true;
  here?: true;
  /** Whether the page is in sight: notifications come while none is. */
  visible?: boolean;
  leave?: true;
}
export interface ToPage {
  heard?: Message;
  state?: State;
}

/** Follows is how a page follows chats. */
export interface Follows {
  /** follow begins to follow a chat where place says: ID, or ID@EPOCH.SEQ. */
  follow(id: string, place: string): void;
  leave(id: string): void;
}

/** Following hears what a stream says. */
export interface Following {
  heard(m: Message): void;
  state(s: State): void;
}

/**
 * Follower follows chats for a page. All pages of a browser share one stream, in a worker; a
 * browser without shared workers has a stream for each page.
 */
export class Follower implements Follows {
  private wanted = new Map<string, string>();
  private port: MessagePort | undefined;
  private source: Source | undefined;

  constructor(heard: Following) {
    if (typeof SharedWorker === "function") {
      const worker = new SharedWorker(trusted(workerAddress), { type: "module", name: "burin" });
      this.port = worker.port;
      this.port.onmessage = ({ data }: MessageEvent<ToPage>) => {
        if (data.heard) heard.heard(data.heard);
        if (data.state) heard.state(data.state);
      };
      this.send({ visible: !document.hidden });
      document.addEventListener("visibilitychange", () => this.send({ visible: !document.hidden }));
      setInterval(() => this.send({ here: true }), 30_000);
      addEventListener("pagehide", () => this.send({ leave: true }));
      addEventListener("pageshow", (e) => e.persisted && this.send({ follow: [...this.wanted] }));
    } else {
      const source = new Source(heard.heard.bind(heard), heard.state.bind(heard));
      source.watch(!document.hidden);
      document.addEventListener("visibilitychange", () => source.watch(!document.hidden));
      this.source = source;
    }
    this.tell(); // lists are followed from the beginning
    addEventListener("online", () => (this.source ? this.source.connect() : this.send({ online: true })));
    addEventListener("offline", () => heard.state("offline"));
  }

  follow(id: string, place: string) {
    this.wanted.set(id, place);
    this.tell();
  }

  leave(id: string) {
    if (this.wanted.delete(id)) this.tell();
  }

  private tell() {
    if (this.source) this.source.follow(this.wanted);
    else this.send({ follow: [...this.wanted] });
  }

  private send(m: ToWorker) {
    this.port?.postMessage(m);
  }
}

/** trusted makes an address of ours one that a worker may have: the page allows no other script. */
export function trusted(address: string): string {
  const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): Policy } }).trustedTypes;
  if (!types) return address;
  policy ??= types.createPolicy("burin", { createScriptURL: (s: string) => s });
  return policy.createScriptURL(address);
}

interface Policy {
  createScriptURL(s: string): string;
}
let policy: Policy | undefined;
