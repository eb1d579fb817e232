import { mount } from "svelte";
import "./app.css";
import { App } from "./lib/state/app.svelte";
import Shell from "./lib/ui/Shell.svelte";

const target = document.getElementById("app")!;
if (location.pathname.split("/")[1] === "private") {
  void import("./lib/private/Private.svelte").then(({ default: Private }) => mount(Private, { target }));
} else {
  mount(Shell, { target, props: { app: new App() } });
}
