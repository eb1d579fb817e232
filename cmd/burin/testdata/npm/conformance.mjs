// Lets the conformance suite start with a Node that has no fs.globSync (before 22), which only a
// command that the tests don't run needs.
import { register } from "node:module";

register("data:text/javascript," + encodeURIComponent(`
export async function resolve(name, context, next) {
  if (name === "fs" && context.parentURL?.includes("/conformance/")) {
    return { url: 'data:text/javascript,export * from "node:fs"; export const globSync = () => [];', shortCircuit: true };
  }
  return next(name, context);
}`));
