/** What the parts of a transcript can have shown next to it or over it. */

import { getContext, setContext } from "svelte";

export interface Viewer {
  artifact(text: string): void;
  picture(src: string, alt: string): void;
  /** The chats of the agents that worked for this one; missing: it has none. */
  agent?: { at(id: string): string; open(id: string): void };
}
const key = "viewer";
export const setViewer = (v: Viewer) => setContext(key, v);
export const getViewer = () => getContext<Viewer | undefined>(key);
