/** What the parts of a transcript can have shown next to it or over it. */

import { getContext, setContext } from "svelte";

export interface Viewer {
  artifact(text: string): void;
  picture(src: string, alt: string): void;
}
const key = "viewer";
export const setViewer = (v: Viewer) => setContext(key, v);
export const getViewer = () => getContext<Viewer | undefined>(key);
