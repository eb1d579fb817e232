/**
 * Diagrams are drawn in one frame of the page that nobody sees, which has an origin of its own and
 * reaches nothing. What comes of it is shown in frames where no script runs.
 */

export type Drawn = { svg: string } | { error: string };

interface Painter {
  frame: HTMLIFrameElement;
  waiting: Map<number, (d: Drawn) => void>;
}

const LONGEST = 10_000; // milliseconds for one diagram; then the frame is given up
const START = 30_000; // milliseconds until the frame has loaded what draws
const KEPT = 100; // drawings
const done = new Map<string, Drawn>();
let painter: Promise<Painter> | undefined;
let turn: Promise<unknown> = Promise.resolve();
let count = 0;

/** Absent is why nothing can be drawn: what draws isn't there. The server says how to get it. */
export class Absent extends Error {}

function start(): Promise<Painter> {
  return (painter ??= load().catch((e: unknown) => {
    if (!(e instanceof Absent)) painter = undefined; // the next diagram tries again
    throw e;
  }));
}

async function load(): Promise<Painter> {
  const frame = document.createElement("iframe");
  frame.className = "painter";
  frame.tabIndex = -1;
  frame.title = "";
  frame.setAttribute("aria-hidden", "true");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.src = "/frame/diagram";
  const p: Painter = { frame, waiting: new Map() };
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      frame.remove();
      reject(new Error("timeout"));
    }, START);
    addEventListener("message", (m: MessageEvent) => {
      if (m.source !== frame.contentWindow || !frame.contentWindow) return;
      const { ready, absent, id, svg, error } = (m.data ?? {}) as { ready?: unknown; absent?: unknown; id?: unknown; svg?: unknown; error?: unknown };
      if (typeof absent === "string") {
        clearTimeout(late);
        frame.remove();
        reject(new Absent(absent));
      } else if (ready === true) {
        clearTimeout(late);
        resolve(p);
      } else if (typeof id === "number") p.waiting.get(id)?.(typeof svg === "string" ? { svg } : { error: String(error).slice(0, 300) });
    });
    document.body.append(frame);
  });
}

/** draw draws a diagram as SVG, one after the other. It fails with Absent, or if it takes too long. */
export function draw(text: string, dark: boolean): Promise<Drawn> {
  const key = `${dark ? "d" : "l"}${text}`;
  const is = done.get(key);
  if (is) return Promise.resolve(is);
  const result = turn.then(async () => {
    const p = await start();
    const id = ++count;
    const drawn = await new Promise<Drawn>((resolve, reject) => {
      const late = setTimeout(() => {
        p.frame.remove();
        painter = undefined;
        reject(new Error("timeout"));
      }, LONGEST);
      p.waiting.set(id, (d) => {
        clearTimeout(late);
        p.waiting.delete(id);
        resolve(d);
      });
      p.frame.contentWindow?.postMessage({ id, text, dark }, "*"); // it has an origin that has no name
    });
    if (done.size >= KEPT) done.delete(done.keys().next().value!);
    done.set(key, drawn);
    return drawn;
  });
  turn = result.catch(() => {});
  return result;
}

/** isDark tells whether the page is dark now. */
export function isDark(): boolean {
  const theme = document.documentElement.dataset["theme"];
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}
