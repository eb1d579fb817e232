/** The pages that few visits need: their code comes when they are opened. */

import type { Component } from "svelte";
import type { App } from "../state/app.svelte";

export type PageName = "project" | "chats" | "settings" | "files" | "beside" | "help";
type Page = Component<{ app: App; id: string }>;

export const pages: Record<PageName, () => Promise<{ default: Page }>> = {
  project: () => import("./settings/ProjectSettings.svelte"),
  chats: () => import("./library/Library.svelte"),
  settings: () => import("./settings/Settings.svelte"),
  files: () => import("./Files.svelte"),
  beside: () => import("./Beside.svelte"),
  help: () => import("./Help.svelte"),
};
