import { texts } from ".";

/** The words of the pages that manage what a person has, and what a server has. */
export const managersEn = {
  "attached.none": "You have attached no files yet.",
  "attached.sum": "{n} files, {size}.",
  "attached.sum.one": "1 file, {size}.",
  "attached.unused": "{n} files ({size}) are in no message. They are removed a day after they were attached.",
  "attached.unused.one": "1 file ({size}) is in no message. It is removed a day after it was attached.",
  "attached.trash": "Files of chats in the trash are not listed.",
  "attached.temporary": "Temporary chat",
  "attached.lost": "A chat that can't be opened",
  "attached.used": "in a message",
  "attached.spare": "in no message",
  "attached.today": "today",
  "attached.yesterday": "1 day ago",
  "attached.days": "{n} days ago",
  "attached.nameless": "A file whose name can't be opened",
  "attached.unreadable": "can't be opened",
  "attached.open": "Open {name}",
  "attached.download": "Download {name}",
  "attached.remove": "Remove {name}",
  "attached.remove.ask": "Remove {name}? This can't be undone.",
  "attached.remove.all": "Remove all that are in no message",
  "attached.remove.all.ask": "Remove {n} files that are in no message? A file that waits in a draft is one of them. This can't be undone.",
  "attached.remove.all.ask.one": "Remove the file that is in no message? It may wait in a draft. This can't be undone.",
  "attached.removed": "{n} files removed.",
  "attached.removed.one": "1 file removed.",
  "attached.more": "Show more",
  "fill": "{used} of {limit} used ({n}%)",
  "fill.over": "Almost full. Remove files with their old versions, or ask an admin for more.",
} as const;

export const m = texts<keyof typeof managersEn>("managers", managersEn);

/** some is the text of a number: that of 1 has a key of its own. */
export const some = (key: "attached.sum" | "attached.unused" | "attached.removed" | "attached.remove.all.ask", n: number, values: Record<string, string | number> = {}): string => m(n === 1 ? `${key}.one` : key, { n, ...values });
