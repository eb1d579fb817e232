import { en, type Key } from "./en";

export type Word = Key;

/** fill puts values in place of {names}. */
export function fill(text: string, values?: Record<string, string | number>): string {
  return values ? text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : text;
}

/** texts gives what fills the texts of a catalog. Pages that come later have catalogs of their own. */
export function texts<K extends string>(catalog: Record<K, string>): (key: K, values?: Record<string, string | number>) => string {
  return (key, values) => fill(catalog[key], values);
}

/** t gives a text. */
export const t = texts<Key>(en);
