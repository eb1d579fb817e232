import { en, type Key } from "./en";

export type Word = Key;

/** The languages of the app. Each but English is loaded only where it is chosen. */
export const languages = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof languages;

/** What a language has in place of the English texts, by the names of the catalogs. */
export type Translation = Record<string, Record<string, string>>;

let translation: Translation = {};
let language: Language = "en";

/** chosen is the language that this browser was told to use; "" is the one of the browser. */
export function chosen(): Language | "" {
  try {
    const is = localStorage.getItem("language") ?? "";
    return Object.hasOwn(languages, is) ? (is as Language) : "";
  } catch {
    return "";
  }
}

/** choose has this browser use a language, "" that of the browser, in the pages of the server, too: those read a cookie. */
export function choose(language: string): void {
  try {
    if (language) localStorage.setItem("language", language);
    else localStorage.removeItem("language");
  } catch {
    // It is full, or not allowed.
  }
  document.cookie = `language=${language}; path=/; samesite=lax; max-age=${language ? 31_536_000 : 0}`;
}

/** speak loads the language that was chosen, or the first one of the browser's that there is. Nothing is shown before. */
export async function speak(): Promise<void> {
  const wanted = [chosen(), ...navigator.languages.map((l) => l.toLowerCase().split("-")[0]!)].find((l) => Object.hasOwn(languages, l)) ?? "en";
  document.documentElement.lang = wanted;
  if ("caches" in window) void caches.open("language").then((c) => c.put("/language", new Response(wanted))).catch(() => {}); // for notifications
  if (wanted !== "de") return;
  try {
    translation = (await import("./de")).de;
    language = wanted;
  } catch {
    document.documentElement.lang = "en"; // it can't be loaded now: English is there
  }
}

/** mod is what the key for commands is called on this keyboard. */
export const mod = (): string => (/Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : language === "de" ? "Strg" : "Ctrl");

/** locale is in what dates and numbers are written: the browser's where it has the language of the app. */
export const locale = (): string => navigator.languages.find((l) => l.toLowerCase().split("-")[0] === language) ?? language;

/** fill puts values in place of {names}. */
export function fill(text: string, values?: Record<string, string | number>): string {
  return values ? text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : text;
}

/** texts gives what fills the texts of a catalog, in the language of the app. Pages that come later have catalogs of their own. */
export function texts<K extends string>(name: string, catalog: Record<K, string>): (key: K, values?: Record<string, string | number>) => string {
  return (key, values) => fill(translation[name]?.[key] ?? catalog[key], values);
}

/** t gives a text. */
export const t = texts<Key>("app", en);
