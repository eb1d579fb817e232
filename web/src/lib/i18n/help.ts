import { texts } from ".";

/** The words around the handbook. */
export const helpEn = {
  "title": "Help",
  "about": "The handbook of burin {version}.",
  "english": "The pages are in English.",
  "find": "Search the handbook",
  "none": "No page has all of these words.",
  "offline": "Without a connection only titles are searched.",
  "back": "All topics",
  "on": "On this page",
  "keys": "Keyboard",
  "missing": "This page can't be read without a connection: it wasn't read before.",
  "group.chats": "Chats",
  "group.coding": "Coding sessions",
  "group.models": "Models",
  "group.server": "The server",
} as const;

export const h = texts<keyof typeof helpEn>("help", helpEn);
