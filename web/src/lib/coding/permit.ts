/** The words of answers to questions, as the terminal has them (tool/permit). */
import type { Offer, Permit_Answer, Request, Rule } from "../api/schema";
import { c } from "../i18n/coding";

const DAY = 86_400_000;
export type Scope = "session" | "project" | "user";
const lasts = (s: string) => s === "project" || s === "user";
const expiry = (o: Offer) => (o.expires ? Date.parse(o.expires) : 0);

/** scopesOf are the scopes to choose from; for this call only is what Yes is. */
export function scopesOf(o: Offer): Scope[] {
  return (o.scopes ?? []).filter((s): s is Scope => s === "session" || lasts(s));
}

/** whereOf says where and how long a grant holds. */
export function whereOf(o: Offer, s: Scope, now: number): string {
  const where = c(s === "session" ? "inSession" : s === "project" ? "inProject" : "inUser");
  const until = expiry(o);
  if (!lasts(s) || until <= 0) return where;
  const days = Math.max(1, Math.floor((until - now + DAY / 2) / DAY));
  return days > 999 ? c("years", { where }) : days === 1 ? c("day", { where }) : c("days", { where, n: days });
}

/** labelOf is the answer that gives a grant. */
export function labelOf(o: Offer, s: Scope, now: number): string {
  return c(lasts(s) && expiry(o) <= 0 ? "always" : "allow", { what: o.words, where: whereOf(o, s, now) });
}

/** grantOf is the answer that allows the call, and those that the offer covers in a scope. */
export function grantOf(o: Offer, s: Scope): Permit_Answer {
  const grant: Rule[] = (o.rules ?? []).map((r) => ({ ...r, scope: s, ...(lasts(s) && o.expires ? { expires: o.expires } : {}) }));
  return { allow: true, grant };
}

/** titleOf asks in a few words. */
export function titleOf(r: Request): string {
  const all = r.access ?? [];
  const kinds = new Set(all.map((a) => a.kind));
  if (kinds.size !== 1) return c("askTool");
  const many = all.length > 1;
  switch (all[0]!.kind) {
    case "execute":
      return c(many ? "askCommands" : "askCommand");
    case "write":
      return c(many ? "askWrites" : "askWrite");
    case "read":
      return c(many ? "askReads" : "askRead");
    case "network":
      return c(many ? "askOpens" : "askOpen");
  }
  return c("askTool");
}
