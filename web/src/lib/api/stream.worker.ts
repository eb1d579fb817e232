/** The worker that all pages of a browser share, so that the server has one stream for them. */

import { Source, type Message, type State } from "./source";
import type { ToPage, ToWorker } from "./stream";

const scope = globalThis as unknown as { onconnect: (e: MessageEvent) => void };
const pages = new Map<MessagePort, Map<string, string>>();
const seen = new Map<MessagePort, number>(); // when a page last said that it is there
const hidden = new Set<MessagePort>(); // pages in the background
let state: State = "online";

const tell = (port: MessagePort, m: ToPage) => port.postMessage(m);
const source = new Source(
  (m: Message) => {
    for (const [port, wanted] of pages) if (!m.session || wanted.has(m.session)) tell(port, { heard: m });
    if (m.session && m.ended !== undefined) for (const wanted of pages.values()) wanted.delete(m.session);
  },
  (s) => {
    state = s;
    for (const port of pages.keys()) tell(port, { state: s });
  },
);

/** watched says whether anybody looks at a page. */
function watched() {
  source.watch([...pages.keys()].some((port) => !hidden.has(port)));
}

function refresh(again: [id: string, place: string][] = []) {
  const all = new Map<string, string>();
  for (const wanted of pages.values()) for (const [id, place] of wanted) if (!all.has(id)) all.set(id, place);
  for (const [id, place] of again) all.set(id, place);
  if (pages.size === 0) return source.stop();
  source.follow(
    all,
    again.map(([id]) => id),
  );
}

scope.onconnect = (e) => {
  const port = e.ports[0]!;
  pages.set(port, new Map());
  seen.set(port, Date.now());
  tell(port, { state });
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    seen.set(port, Date.now());
    if (data.follow) {
      const had = pages.get(port) ?? new Map<string, string>();
      const fresh = new Map(data.follow);
      pages.set(port, fresh);
      // What others follow already is heard again from where this page wants it; they know what they had.
      refresh([...fresh].filter(([id, place]) => !had.has(id) && place.includes("@") && [...pages].some(([p, w]) => p !== port && w.has(id))));
    }
    if (data.visible !== undefined) {
      if (data.visible) hidden.delete(port);
      else hidden.add(port);
      watched();
    }
    if (data.online) source.connect();
    if (data.leave) {
      pages.delete(port);
      seen.delete(port);
      hidden.delete(port);
      watched();
      refresh();
    }
  };
};

// A page that was killed says nothing.
setInterval(() => {
  const late = Date.now() - 90_000;
  let gone = false;
  for (const [port, at] of seen) {
    if (at > late) continue;
    pages.delete(port);
    seen.delete(port);
    hidden.delete(port);
    gone = true;
  }
  if (gone) {
    watched();
    refresh();
  }
}, 30_000);
