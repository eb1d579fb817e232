import { en, type Catalog, type Key } from "./en";

export type Word = Key;

const catalog: Catalog = en;

/** fill puts values in place of {names}. */
export function fill(text: string, values?: Record<string, string | number>): string {
  return values ? text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : text;
}

/** t gives a text, with values in place of {names}. */
export function t(key: Key, values?: Record<string, string | number>): string {
  return fill(catalog[key], values);
}
