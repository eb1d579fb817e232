/** The server's API, over a transport that can be replaced. */

import { t } from "../i18n";
import type { Attachment, Operations, Problem } from "./schema";
import { Follower, type Following, type Follows } from "./stream";

/** Transport sends requests and follows events. The one of the browser is {@link web}. */
export interface Transport {
  request(path: string, init: RequestInit): Promise<Response>;
  follow(heard: Following): Follows;
}

/** Failure is a problem that the server answers with, or that it can't be reached (status 0). */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type Values = Record<string, string | number | boolean | undefined>;

export interface Given<O extends keyof Operations> {
  id?: string;
  name?: string;
  file?: string;
  query?: Values;
  body?: Operations[O]["in"];
  signal?: AbortSignal;
  /** What the browser has kept doesn't do, as that may be older than what is shown. */
  fresh?: boolean;
}

export class Client {
  /** Called when somebody is signed out, or their data is locked. */
  refused: (status: number) => void = () => {};
  /** The last answer is one that the browser had kept: the server can't be reached. */
  stale = false;
  constructor(readonly transport: Transport) {}

  /** call does an operation of docs/openapi.json. */
  async call<O extends keyof Operations>(operation: O, given: Given<O> = {}): Promise<Operations[O]["out"]> {
    const [verb, path] = operation.split(" ") as [string, string];
    const init: RequestInit = { method: verb, signal: given.signal ?? null };
    if (given.body !== undefined) {
      init.body = JSON.stringify(given.body);
      init.headers = { "Content-Type": "application/json" };
    }
    if (given.fresh) init.cache = "reload";
    const at = path.replace(/\{(id|name|file)\}/g, (_, key: "id" | "name" | "file") => encodeURIComponent(given[key] ?? ""));
    const answer = await this.send(at + queryOf(given.query), init);
    return (await answer.json()) as Operations[O]["out"];
  }

  /** attach uploads a file to a chat. */
  async attach(chat: string, file: File): Promise<Attachment> {
    const answer = await this.send(`/v1/chats/${encodeURIComponent(chat)}/attachments${queryOf({ name: file.name || "file" })}`, {
      method: "POST",
      body: file,
      headers: { "Content-Type": "application/octet-stream" },
    });
    return (await answer.json()) as Attachment;
  }

  /** bring uploads a file to an address that answers with events. */
  bring(path: string, query: Values, file: Blob, signal: AbortSignal): Promise<Response> {
    return this.send(path + queryOf(query), { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream", Accept: "text/event-stream" }, signal });
  }

  /** pieces calls a method that gives its output as it comes, until it ends. */
  async pieces(path: string, body: unknown, signal: AbortSignal, heard: (text: string) => void): Promise<void> {
    const answer = await this.send(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", Accept: "text/event-stream" }, signal });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      for (let end: number; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) {
        const name = /^event: (.*)$/m.exec(rest.slice(0, end))?.[1];
        const data = /^data: (.*)$/m.exec(rest.slice(0, end))?.[1];
        if (!data) continue;
        if (name === "problem") {
          const p = JSON.parse(data) as Problem;
          throw new Failure(p.status, p.code ?? "", p.detail ?? t("error.unknown"));
        }
        if (name === "chunk") heard(JSON.parse(data) as string);
      }
    }
  }

  /** put writes a file to an address of the API, and gives the answer. */
  async put(path: string, query: Values, file: Blob, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<unknown> {
    const answer = await this.send(path + queryOf(query), { method: "PUT", body: file, headers: { "Content-Type": "application/octet-stream", ...headers }, signal: signal ?? null });
    return answer.json();
  }

  /** text reads a file at an address of the API, with the tag of what it is now. */
  async text(path: string, query: Values): Promise<{ text: string; tag: string }> {
    const answer = await this.send(path + queryOf(query), { method: "GET", cache: "no-store" });
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await answer.arrayBuffer()); // with the mark that a file may begin with
    return { text, tag: answer.headers.get("ETag") ?? "" };
  }

  /** picture gives a piece of a message with its bytes, which has only their address. */
  async picture<P extends { url?: string }>(address: string, piece: P): Promise<Omit<P, "url"> & { data: string }> {
    const bytes = new Uint8Array(await (await this.send(address, { method: "GET" })).arrayBuffer());
    let text = "";
    for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    const { url: _, ...rest } = piece;
    return { ...rest, data: btoa(text) };
  }

  private async send(path: string, init: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await this.transport.request(path, init);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Failure(0, "network", t("error.network"));
    }
    this.stale = answer.headers.get("X-Burin-Kept") !== null;
    if (answer.ok) return answer;
    const problem = (await answer.json().catch(() => ({}))) as Partial<Problem>;
    if (answer.status === 401 || (answer.status === 423 && problem.code !== "owner_locked")) this.refused(answer.status);
    throw new Failure(answer.status, problem.code ?? "", problem.detail ?? t("error.unknown"));
  }
}

function queryOf(values: Values | undefined): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values ?? {})) if (value !== undefined && value !== "") q.set(name, String(value));
  return q.size > 0 ? `?${q}` : "";
}

/** web is the transport of a page that the server gave. */
export const web: Transport = {
  request: (path, init) => fetch(path, { ...init, credentials: "same-origin", redirect: "error" }),
  follow: (heard) => new Follower(heard),
};

/** messageOf says what went wrong. */
export function messageOf(error: unknown): string {
  return error instanceof Failure ? error.message : t("error.unknown");
}

/** newID makes an id for a message, also where the page has no secure context. */
export function newID(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
