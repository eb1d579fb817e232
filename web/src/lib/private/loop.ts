/**
 * The loop of private projects runs in a worker of the page (docs/private.md), and takes the same requests as the server.
 * What is about the person, not about the project, goes to the server.
 */

import { web, type Transport } from "../api/client";
import type { Attachment, Problem, Usable } from "../api/schema";
import type { Message } from "../api/source";
import { trusted, type Following, type Follows } from "../api/stream";
import { t } from "../i18n";
import type { Loading } from "./webllm";

export interface Model {
  id: string;
  name?: string;
  contextWindow?: number;
}
export interface Provider {
  id: string;
  api: string;
  url?: string;
  key?: string;
  models?: Model[] | null;
}
export interface Settings {
  name?: string;
  icon?: string;
  instructions?: string;
  model?: string;
  thinking?: string;
  providers?: Provider[] | null;
}
export interface PrivateProject extends Settings {
  id: string;
  created: string;
  modified: string;
  revision: number;
  locked: boolean;
  connect: string[] | null;
}
export interface Made {
  project: PrivateProject;
  recovery: string;
}

interface Told {
  id?: number;
  status?: number;
  body?: unknown;
  event?: { id?: string; data: Message };
  ready?: true;
  ended?: string;
  loading?: Loading | null;
}
interface Waiting {
  done(status: number, body: unknown): void;
  heard?(m: Message, place: string): void;
}

export class Loop implements Transport {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private readonly files = new Map<string, { data: string; mimeType: string }>();
  private last = 0;
  private ended = "";
  /** Hears how far a model is that comes into the browser; null: it is there, or won't be. */
  loading: (l: Loading | null) => void = () => {};

  /** The worker of a project may reach its providers; without one it may reach the server only. */
  constructor(readonly project = "") {
    this.worker = new Worker(trusted(`/private/worker.js${project && `?project=${encodeURIComponent(project)}`}`));
    this.worker.onmessage = ({ data }: MessageEvent<Told>) => this.take(data);
    this.worker.onerror = () => this.end(t("private.missing"));
  }

  close() {
    this.end(t("private.closed"));
    this.worker.terminate();
  }

  private end(why: string) {
    this.ended ||= why;
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const w of all) w.done(503, this.problem());
  }

  private problem(): Problem {
    return { title: "", status: 503, detail: this.ended, code: "ended" };
  }

  private take(m: Told) {
    if (m.ended !== undefined) this.end(m.ended);
    if (m.loading !== undefined) this.loading(m.loading);
    const w = m.id === undefined ? undefined : this.waiting.get(m.id);
    if (!w || m.id === undefined) return;
    if (m.event) w.heard?.(m.event.data, m.event.id ?? "");
    if (m.status === undefined) return;
    this.waiting.delete(m.id);
    w.done(m.status, m.body);
  }

  private post(method: string, path: string, body: unknown, w: Waiting): () => void {
    if (this.ended) {
      w.done(503, this.problem());
      return () => {};
    }
    const id = ++this.last;
    this.waiting.set(id, w);
    this.worker.postMessage({ id, method, path, ...(body === undefined ? {} : { body }) });
    return () => this.worker.postMessage({ id, stop: true });
  }

  /** ask does one request of the loop. An error has the problem as its cause. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      this.post(method, path, body, {
        done: (status, is) => (status < 400 ? resolve(is as T) : reject(new Error((is as Problem).detail, { cause: is }))),
      });
    });
  }

  async request(path: string, init: RequestInit): Promise<Response> {
    const method = init.method ?? "GET";
    if (path === "/v1/me" || path === "/v1/signout") return web.request(path, init);
    if (path === "/v1/preferences") return method === "GET" ? Response.json({ revision: 0 }) : web.request(path, init);
    if (path.startsWith("/v1/search")) return Response.json({ total: 0, hits: [] }); // the server doesn't know the words
    if (path.startsWith("/v1/models")) return Response.json(await this.models());
    if (init.body instanceof Blob) return Response.json(await this.attach(path, init.body));
    if (method === "GET" && path === "/v1/projects") return Response.json([await this.ask("GET", `/v1/projects/${this.project}`)]);
    let to = path;
    let body = typeof init.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : undefined;
    if (method === "GET" && path.startsWith("/v1/chats?")) to = `/v1/chats?project=${this.project}`;
    if (method === "POST" && path === "/v1/chats") body = { ...body, project: this.project };
    if (body) this.inline(body);
    return new Promise((resolve, reject) => {
      const stop = this.post(method, to, body, {
        done: (status, is) => {
          if (status < 400 && method === "GET" && to.startsWith("/v1/chats?")) is = ((is ?? []) as { archived?: boolean }[]).filter((c) => !c.archived);
          resolve(Response.json(is ?? null, { status }));
        },
      });
      init.signal?.addEventListener("abort", () => {
        stop();
        reject(new DOMException("", "AbortError"));
      });
    });
  }

  private async models(): Promise<Usable[]> {
    const p = await this.ask<PrivateProject>("GET", `/v1/projects/${this.project}`);
    return (p.providers ?? []).flatMap((from) => (from.models ?? []).map((m) => ({ id: `${from.id}/${m.id}`, ...(m.name ? { name: m.name } : {}), images: true })));
  }

  /** attach keeps a file until its message is sent, which then has it in itself. */
  private async attach(path: string, file: Blob): Promise<Attachment> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let data = "";
    for (let i = 0; i < bytes.length; i += 0x8000) data += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    const id = `here-${++this.last}`;
    const type = file.type || "text/plain";
    this.files.set(id, { data: btoa(data), mimeType: type });
    return { id, name: new URLSearchParams(path.split("?")[1]).get("name") ?? "", type, size: file.size, added: new Date().toISOString(), used: false };
  }

  /** inline puts files into the message that refers to them. */
  private inline(body: Record<string, unknown>) {
    const input = (body["message"] && typeof body["message"] === "object" && "message" in body["message"] ? body["message"] : body) as { message?: { content?: { url?: string }[] } };
    for (const part of input.message?.content ?? []) {
      const id = part.url?.replace(/^attachment:/, "") ?? "";
      const file = this.files.get(id);
      if (!file) continue;
      delete part.url;
      Object.assign(part, file);
      this.files.delete(id);
    }
  }

  follow(heard: Following): Follows {
    const stops = new Map<string, () => void>();
    const leave = (id: string) => {
      stops.get(id)?.();
      stops.delete(id);
    };
    return {
      leave,
      follow: (id, place) => {
        if (stops.has(id)) return;
        let ended = false;
        const stop = this.post("GET", `/v1/events?answers=true&name=browser&session=${encodeURIComponent(place)}`, undefined, {
          heard: (m) => heard.heard(m),
          done: () => {
            ended = true;
            stops.delete(id);
          },
        });
        if (!ended) stops.set(id, stop);
      },
    };
  }
}

/** problemOf is the problem that an error of {@link Loop.ask} stands for. */
export function problemOf(error: unknown): Problem {
  return error instanceof Error && error.cause && typeof error.cause === "object" ? (error.cause as Problem) : { title: "", status: 0, detail: t("error.unknown") };
}
