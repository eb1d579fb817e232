// The two ways to a session: a process of one's own, and the socket of one that runs.

import { type ChildProcess, spawn } from "node:child_process";
import { connect as dial } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Event } from "./events.js";

/** Why something that was asked for was not done. */
export class BurinError extends Error {
  /** A name for programs, where there is one: see session.Failure in burin's Go code. */
  readonly code: string | undefined;
  constructor(message: string, code?: string) {
    super(message);
    this.name = "BurinError";
    this.code = code;
  }
}

/** What carries requests, and brings events. */
export interface Transport {
  request(method: string, params: unknown, piece?: (text: string) => void): Promise<unknown>;
  /** Has all events from now on given to the listener, until the end; then over is called. */
  follow(listener: (event: Event) => void, over: (why: Error | undefined) => void): Promise<void>;
  close(): Promise<void>;
}

type Line = Record<string, unknown>;

interface Waiting {
  done(value: unknown): void;
  failed(why: Error): void;
  piece: ((text: string) => void) | undefined;
}

/** Lines of JSON in both directions. Only LF ends a line: others stand in strings. */
abstract class Lines {
  protected readonly waiting = new Map<string, Waiting>();
  protected ended: Error | undefined;
  protected listener: ((event: Event) => void) | undefined;
  protected over: ((why: Error | undefined) => void) | undefined;
  private next = 1;
  private rest: Buffer[] = [];

  protected constructor(
    input: Readable,
    private readonly output: Writable,
  ) {
    input.on("data", (data: Buffer) => this.take(data));
    output.on("error", () => {}); // that the other side is gone is told where it is read
  }

  private take(data: Buffer): void {
    for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10)) {
      this.rest.push(data.subarray(0, at));
      const text = Buffer.concat(this.rest).toString("utf8");
      this.rest = [];
      data = data.subarray(at + 1);
      if (text.trim() === "") continue;
      let line: Line;
      try {
        line = JSON.parse(text) as Line;
      } catch {
        continue; // it is no line of the protocol
      }
      this.line(line);
    }
    if (data.length > 0) this.rest.push(data);
  }

  protected abstract line(line: Line): void;

  protected send(line: Line): void {
    this.output.write(`${JSON.stringify(line)}\n`);
  }

  /** Sends a request made by frame, and waits for its answer. */
  protected ask(frame: (id: number) => [key: string, line: Line], piece?: (text: string) => void): Promise<unknown> {
    if (this.ended) return Promise.reject(this.ended);
    const [key, line] = frame(this.next++);
    return new Promise((done, failed) => {
      this.waiting.set(key, { done, failed, piece });
      this.send(line);
    });
  }

  protected settle(key: string): Waiting | undefined {
    const w = this.waiting.get(key);
    this.waiting.delete(key);
    return w;
  }

  protected end(why: Error, ordinary: boolean): void {
    if (this.ended) return;
    this.ended = why;
    for (const w of this.waiting.values()) w.failed(why);
    this.waiting.clear();
    this.over?.(ordinary ? undefined : why);
  }
}

export interface StartOptions {
  /** The program; "burin" is looked for on PATH. */
  program?: string;
  /** More flags: ["--model", "anthropic/claude-sonnet-4-5"], ["--continue"], ["--resume", id]. */
  args?: string[];
  /** Where it works; the current folder. */
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Gets what burin says of itself, a text at a time; else it goes to standard error. */
  log?: (text: string) => void;
}

/** burin as a process of one's own, in RPC mode. */
export class Process extends Lines implements Transport {
  private closing = false;

  private constructor(private readonly child: ChildProcess & { stdin: Writable; stdout: Readable }) {
    super(child.stdout, child.stdin);
    child.once("error", (e) => this.end(e, false));
    child.once("close", (code, signal) =>
      this.end(new BurinError(`burin has ended (${signal ?? `exit code ${code}`})`, "ended"), this.closing || code === 0),
    );
  }

  static start(o: StartOptions = {}): Process {
    const child = spawn(o.program ?? "burin", ["--mode", "rpc", ...(o.args ?? [])], {
      cwd: o.cwd,
      env: o.env ?? process.env,
      stdio: ["pipe", "pipe", o.log ? "pipe" : "inherit"],
    });
    if (o.log) child.stderr?.setEncoding("utf8").on("data", o.log);
    return new Process(child as ChildProcess & { stdin: Writable; stdout: Readable });
  }

  protected line(line: Line): void {
    const id = String(line.id);
    switch (line.type) {
      case "response": {
        const w = this.settle(id);
        if (line.success) w?.done(line.data ?? null);
        else w?.failed(new BurinError(String(line.error), line.code as string | undefined));
        return;
      }
      case "burin/chunk":
        this.waiting.get(id)?.piece?.(String(line.chunk));
        return;
      case "burin/event":
        this.listener?.(line.event as Event);
    }
  }

  request(method: string, params: unknown, piece?: (text: string) => void): Promise<unknown> {
    return this.ask((n) => [`c${n}`, { id: `c${n}`, type: `burin/${method}`, with: params }], piece);
  }

  async follow(listener: (event: Event) => void, over: (why: Error | undefined) => void): Promise<void> {
    this.listener = listener;
    this.over = over;
    await this.request("follow", {});
  }

  close(): Promise<void> {
    this.closing = true;
    if (this.child.exitCode !== null || this.child.signalCode !== null) return Promise.resolve();
    return new Promise((done) => {
      this.child.once("close", () => done());
      this.child.stdin.end(); // it ends in order then
    });
  }
}

/** What a connection may do; each includes those before it. */
export type Rights = "watch" | "steer" | "answer" | "own";

export interface ConnectOptions {
  /** Tells other faces who answered and who said what. */
  name?: string;
  rights?: Rights;
}

/** A session of another process, at its socket. */
export class Socket extends Lines implements Transport {
  private constructor(
    private readonly stream: import("node:net").Socket,
    private readonly welcomed: (line: Line) => void,
  ) {
    super(stream, stream);
    stream.once("error", (e) => this.end(e, false));
    stream.once("close", () => this.end(new BurinError("the session's owner has ended", "owner_gone"), true));
  }

  /** Joins the session at an address, which `burin attach --address ID` prints. */
  static connect(address: string, o: ConnectOptions = {}): Promise<Socket> {
    return new Promise((done, failed) => {
      const stream = dial(address);
      const socket: Socket = new Socket(stream, (line) => {
        if (line.welcome) done(socket);
        else failed(new BurinError(String((line.failure as Line | undefined)?.message ?? "the owner gave no welcome")));
      });
      socket.over = failed as (why: Error | undefined) => void;
      stream.once("connect", () => socket.send({ hello: { versions: [1], name: o.name ?? "script", rights: o.rights ?? "own" } }));
    });
  }

  protected line(line: Line): void {
    if (line.welcome || (line.failure && line.id === undefined)) {
      this.over = undefined;
      this.welcomed(line);
      return;
    }
    const id = String(line.id);
    if (line.event !== undefined) this.listener?.(line.event as Event);
    else if (line.chunk !== undefined) this.waiting.get(id)?.piece?.(String(line.chunk));
    else if (line.failure) {
      const f = line.failure as Line;
      this.settle(id)?.failed(new BurinError(String(f.message), f.code as string | undefined));
    } else if (line.id !== undefined) this.settle(id)?.done(line.is ?? null);
  }

  request(method: string, params: unknown, piece?: (text: string) => void): Promise<unknown> {
    return this.ask((n) => [String(n), { id: n, do: method, with: params }], piece);
  }

  async follow(listener: (event: Event) => void, over: (why: Error | undefined) => void): Promise<void> {
    const now = await this.request("cursor", {}); // from here on nothing is missed
    this.listener = listener;
    this.over = over;
    this.request("follow", now).then(undefined, (e: Error) => this.end(e, true)); // it is answered when the session ends
  }

  close(): Promise<void> {
    return new Promise((done) => {
      if (this.stream.destroyed) return done();
      this.stream.once("close", () => done());
      this.stream.end();
      this.stream.destroySoon();
    });
  }
}
