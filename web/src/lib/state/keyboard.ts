/** A keyboard on the screen covers the page where the browser doesn't make the page smaller by itself, as on iOS. */

const LEAST = 120; // pixels that a keyboard takes; bars of the browser take fewer

/** seen is how many pixels of the page a keyboard leaves; 0: there is none, or the page is zoomed. */
export function seen(page: number, visual: { height: number; scale: number }): number {
  return visual.scale < 1.05 && page - visual.height > LEAST ? Math.floor(visual.height) : 0;
}

/** followKeyboard has the app be as high as what a keyboard leaves of it. */
export function followKeyboard() {
  const visual = globalThis.visualViewport;
  const root = document.documentElement;
  visual?.addEventListener("resize", () => {
    const left = seen(root.clientHeight, visual);
    root.classList.toggle("keyboard", left > 0);
    root.style.setProperty("--seen", `${left}px`);
    if (left > 0) scrollTo(0, 0); // the browser has moved the page to where the field was
  });
}
