/** What answers took and cost, as the page writes it. */

import { locale } from "../i18n";
import type { Usage } from "./messages";

/** Used is what an answer used, of all its requests. */
export interface Used {
  requests: number;
  context: number; // tokens of the last request and its answer: so much of the window is full
  input: number; // tokens that no cache had
  cached: number;
  written: number; // to the cache
  output: number;
  reasoning: number; // of output
  cost: number;
  unknown: boolean; // a price is: the true cost is higher
  guessed: boolean; // a price is that of something similar
  took: number; // milliseconds of requests and calls, without pauses between them
}

export const nothing = (): Used => ({ requests: 0, context: 0, input: 0, cached: 0, written: 0, output: 0, reasoning: 0, cost: 0, unknown: false, guessed: false, took: 0 });

/** plus adds what a request used. */
export function plus(u: Used, is: Usage): void {
  u.requests++;
  u.context = is.input + is.cacheRead + is.cacheWrite + is.output || u.context;
  u.input += is.input;
  u.cached += is.cacheRead;
  u.written += is.cacheWrite;
  u.output += is.output;
  u.reasoning += is.reasoning ?? 0;
  u.cost += is.cost?.total ?? 0;
  u.unknown ||= is.cost === undefined || is.cost.unknown === true;
  u.guessed ||= is.cost?.unreliable === true;
}

/** dollars writes what something cost: with ≈ where a price was guessed, and + where one is unknown. */
export function dollars(usd: number, unknown = false, guessed = false): string {
  const sum = usd === 0 ? "$0" : usd < 0.00005 ? "<$0.0001" : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
  return `${guessed ? "≈" : ""}${sum}${unknown ? "+" : ""}`;
}

const made = new Map<string, unknown>();

/** format makes a format of a language once: to make one takes more than to draw a message. */
function format<T>(what: string, make: (language: string) => T): T {
  const key = `${what} ${locale()}`;
  if (!made.has(key)) made.set(key, make(locale()));
  return made.get(key) as T;
}

/** clock writes when something was said: the time of today, and the day before today. */
export function clock(at: string, now = new Date()): string {
  const is = new Date(at);
  if (Number.isNaN(is.getTime())) return "";
  const day = is.toDateString() === now.toDateString() ? {} : { day: "numeric", month: "short", ...(is.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }) } as const;
  return format(Object.keys(day).join(), (l) => new Intl.DateTimeFormat(l, { ...day, hour: "numeric", minute: "2-digit" })).format(is);
}

/** short writes a number of tokens in few letters. */
export const short = (n: number): string => format("short", (l) => new Intl.NumberFormat(l, { notation: "compact", maximumFractionDigits: 1 })).format(n);

/** span writes how long something took. */
export function span(ms: number): string {
  const s = ms / 1000;
  if (s < 0.05) return "<0.1 s";
  if (s < 10) return `${format("span", (l) => new Intl.NumberFormat(l, { maximumFractionDigits: 1 })).format(s)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const minutes = Math.floor(Math.round(s) / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(s) % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Cached is what the provider keeps of a chat, as far as the newest answer tells. */
export interface Cached {
  provider: string;
  until: number; // when it ends, in milliseconds
  tokens: number; // that the next message sends again
}

/** How long providers keep a prompt, at least. */
const SHORT = 5 * 60_000;
const LONG = 60 * 60_000;

/** cachedBy says what a provider keeps after an answer; undefined: it keeps nothing, or doesn't tell. */
export function cachedBy(provider: string, usage: Usage, at: number): Cached | undefined {
  if (usage.cacheRead + usage.cacheWrite === 0) return undefined;
  return { provider, until: at + (usage.cacheWriteLong ? LONG : SHORT), tokens: usage.input + usage.cacheRead + usage.cacheWrite + usage.output };
}

/** Prices are dollars of a million tokens, and missing where they aren't known. */
export interface Prices {
  input?: unknown;
  cacheRead?: unknown;
  cacheWrite?: unknown;
}

/** uncached is what tokens cost that are sent without a cache; undefined: the price isn't known. */
export function uncached(tokens: number, price: Prices | undefined): number | undefined {
  const rate = [price?.cacheWrite, price?.input].find((r) => typeof r === "number");
  return rate === undefined ? undefined : (tokens * rate) / 1e6;
}
