/** How the page hears of an import while it runs. */

import { Failure, type Client } from "../../api/client";
import type { Imported, Problem } from "../../api/schema";
import { t } from "../../i18n";

export interface Progress {
  done: number;
  total: number;
}

/** events gives the events of an answer as they come, with their data. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<{ name: string; data: unknown }> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const lines = text.slice(0, end).split("\n");
      const of = (field: string) => lines.filter((l) => l.startsWith(`${field}: `)).map((l) => l.slice(field.length + 2)).join("\n");
      if (of("data") !== "") yield { name: of("event"), data: JSON.parse(of("data")) };
    }
    if (done) return;
  }
}

/** told uploads a file with chats, and gives what became of it. */
export async function told(client: Client, file: File, project: string, progress: (at: Progress) => void, signal: AbortSignal): Promise<Imported> {
  const answer = await client.bring("/v1/chats/import", { project }, file, signal);
  for await (const e of events(answer.body!)) {
    if (e.name === "progress") progress(e.data as Progress);
    if (e.name === "result") return e.data as Imported;
    if (e.name === "problem") {
      const is = e.data as Problem;
      throw new Failure(is.status, is.code ?? "", is.detail);
    }
  }
  throw new Failure(0, "network", t("error.network"));
}
