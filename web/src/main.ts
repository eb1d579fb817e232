import { mount, type Component } from "svelte";
import "./app.css";
import { App } from "./lib/state/app.svelte";
import { speak } from "./lib/i18n";
import Shell from "./lib/ui/Shell.svelte";

/** show puts the page in the place of the mark that was there before any script. */
function show<P extends Record<string, unknown>>(page: Component<P>, props: P) {
  const target = document.getElementById("app")!;
  target.replaceChildren();
  mount(page, { target, props });
}
void speak().then(() => {
  // Who opens a link to a copy of a chat need not be signed in: nothing but the copy is asked for.
  if (location.pathname.startsWith("/share/")) void import("./lib/ui/shared/Shared.svelte").then(({ default: Shared }) => show(Shared, {}));
  else if (location.pathname.split("/")[1] === "private") void import("./lib/private/Private.svelte").then(({ default: Private }) => show(Private, {}));
  else show(Shell, { app: new App() });
});
