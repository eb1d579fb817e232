import { expect, test } from "vitest";
import { folderOf, freely, hashOf, join, nameOf, versionOf } from "./files.svelte";

test("paths are taken apart and put together", () => {
  expect([nameOf("/a/b.md"), folderOf("/a/b.md"), folderOf("/b.md"), join("/", "b.md"), join("/a", "b.md")]).toEqual(["b.md", "/a", "/", "/b.md", "/a/b.md"]);
});

test("the address of a file gives its path back", () => {
  for (const path of ["/a b/ü#?.md", "/100%/x&y=z.txt", "/a/…/'\".md"]) {
    const at = new URL(`http://localhost/p/1/files${hashOf(path)}`);
    expect(at.search).toBe("");
    expect(decodeURIComponent(at.hash.slice(1))).toBe(path);
  }
});

test("a name that isn't taken keeps its ending", () => {
  const taken = new Set(["/a/x (2).txt"]);
  expect(freely("/a/x.txt", (p) => taken.has(p))).toBe("/a/x (3).txt");
  expect(freely("/x", () => false)).toBe("/x (2)");
  expect(freely("/.env", () => false)).toBe("/.env (2)");
});

test("a tag has the version", () => {
  expect([versionOf('"12.7"'), versionOf('W/"1.30"'), versionOf("")]).toEqual([7, 30, 0]);
});
