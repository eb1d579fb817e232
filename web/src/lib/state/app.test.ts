import { expect, it } from "vitest";
import { first } from "./app.svelte";

it("lists what was made once, also if the stream has told of it before the answer", () => {
  const [a, b] = [{ id: "a" }, { id: "b" }];
  expect(first(a, [b])).toEqual([a, b]);
  expect(first(a, [b, { id: "a" }])).toEqual([a, b]);
});
