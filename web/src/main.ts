import { mount } from "svelte";
import "./app.css";
import { App } from "./lib/state/app.svelte";
import { speak } from "./lib/i18n";
import Shell from "./lib/ui/Shell.svelte";

const target = document.getElementById("app")!;
void speak().then(() => {
  // Who opens a link to a copy of a chat need not be signed in: nothing but the copy is asked for.
  if (location.pathname.startsWith("/share/")) void import("./lib/ui/shared/Shared.svelte").then(({ default: Shared }) => mount(Shared, { target }));
  else if (location.pathname.split("/")[1] === "private") void import("./lib/private/Private.svelte").then(({ default: Private }) => mount(Private, { target }));
  else mount(Shell, { target, props: { app: new App() } });
});
