import { expect, it } from "vitest";
import { seen } from "./keyboard";

it("a keyboard takes a part of the page, bars of the browser and a zoom don't", () => {
  expect(seen(844, { height: 508.5, scale: 1 })).toBe(508);
  expect(seen(844, { height: 844, scale: 1 })).toBe(0);
  expect(seen(844, { height: 760, scale: 1 })).toBe(0);
  expect(seen(844, { height: 422, scale: 2 })).toBe(0);
});
