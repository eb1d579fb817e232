import { mount } from "svelte";
import "./app.css";
import Shell from "./lib/ui/Shell.svelte";
import { App } from "./lib/state/app.svelte";

mount(Shell, { target: document.getElementById("app")!, props: { app: new App() } });
