import { en, type Key } from "./en";

export type Word = Key;

/** texts gives what fills the texts of a catalog, with values in place of {names}. Pages that come later have catalogs of their own. */
export function texts<K extends string>(catalog: Record<K, string>): (key: K, values?: Record<string, string | number>) => string {
  return (key, values) => {
    const text = catalog[key];
    return values ? text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : text;
  };
}

/** t gives a text. */
export const t = texts<Key>(en);
