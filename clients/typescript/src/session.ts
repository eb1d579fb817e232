import type { Event, Question, Receipt, Reply } from "./events.js";
import { type Message, textOf } from "./messages.js";
import type { Method, Methods } from "./methods.js";
import { type ConnectOptions, Process, Socket, type StartOptions, type Transport } from "./transport.js";

/** How the work on a prompt ended. */
export interface Outcome {
  /** done, length, error, aborted, max_turns, refused or loop. */
  reason: string;
  error: string | undefined;
  /** The text of the last answer. */
  text: string;
  /** What was said and called since the prompt. */
  messages: Message[];
}

/** When a message is read that is sent while the model works. */
export interface SendOptions {
  /** "" as soon as it can be, "after" when the model is done, "next" with the next request. */
  when?: "" | "after" | "next";
  /** Pictures that go with it. */
  images?: { data: string; mimeType: string }[];
  /** Makes it a message of a program, of this type; else it is a person's. */
  customType?: string;
}

/** A live session of burin. */
export class Session {
  private readonly readers = new Set<Reader>();
  private following: Promise<void> | undefined;

  private constructor(private readonly transport: Transport) {}

  /** Starts burin, and a session in it. */
  static start(options: StartOptions = {}): Session {
    return new Session(Process.start(options));
  }

  /** Joins a session of another process, at the address that `burin attach --address ID` prints. */
  static async connect(address: string, options: ConnectOptions = {}): Promise<Session> {
    return new Session(await Socket.connect(address, options));
  }

  /** Calls a method of the session; what comes in pieces is given to piece as well. */
  call<M extends Method>(method: M, params: Methods[M][0], piece?: (text: string) => void): Promise<Methods[M][1]> {
    return this.transport.request(method, params, piece) as Promise<Methods[M][1]>;
  }

  /** Takes a message in. It is on the disk when this returns. */
  send(text: string, o: SendOptions = {}): Promise<Receipt> {
    const content = [{ type: "text", text }, ...(o.images ?? []).map((i) => ({ type: "image", ...i }))];
    const message: Message = o.customType ? { role: "custom", customType: o.customType, content } : { role: "user", content };
    return this.call("submit", { message, ...(o.when ? { when: o.when } : {}) });
  }

  /** Sends a prompt and waits until nothing more is done for it. */
  async prompt(text: string, o: SendOptions = {}): Promise<Outcome> {
    const receipt = await this.send(text, o);
    const end = await this.call("wait", { id: receipt.id });
    const messages = end.messages ?? [];
    const answer = messages.filter((m) => m.role === "assistant").at(-1);
    return { reason: end.reason ?? "", error: end.error, text: answer ? textOf(answer) : "", messages };
  }

  /** Stops what is under way. */
  async abort(): Promise<void> {
    await this.call("abort", {});
  }

  async answer(question: Question | string, reply: Reply): Promise<void> {
    await this.call("answer", { id: typeof question === "string" ? question : question.id, reply });
  }

  /** What happens from now on, each event once, until the session ends or the loop is left. */
  async events(): Promise<AsyncIterableIterator<Event>> {
    const reader = new Reader(() => this.readers.delete(reader));
    this.readers.add(reader);
    this.following ??= this.transport.follow(
      (event) => {
        for (const r of this.readers) r.put(event);
      },
      (why) => {
        for (const r of this.readers) r.end(why);
      },
    );
    await this.following;
    return reader;
  }

  /** Leaves the session; one that was started here ends. */
  close(): Promise<void> {
    return this.transport.close();
  }
}

/** One loop over events. */
class Reader implements AsyncIterableIterator<Event> {
  private readonly ready: Event[] = [];
  private wake: (() => void) | undefined;
  private over = false;
  private why: Error | undefined;

  constructor(private readonly left: () => void) {}

  put(event: Event): void {
    this.ready.push(event);
    this.wake?.();
  }

  end(why: Error | undefined): void {
    this.over = true;
    this.why = why;
    this.wake?.();
  }

  async next(): Promise<IteratorResult<Event>> {
    for (;;) {
      const value = this.ready.shift();
      if (value) return { value, done: false };
      if (this.over) {
        this.left();
        if (this.why) throw this.why;
        return { value: undefined, done: true };
      }
      await new Promise<void>((wake) => {
        this.wake = wake;
      });
      this.wake = undefined;
    }
  }

  async return(): Promise<IteratorResult<Event>> {
    this.left();
    this.over = true;
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
