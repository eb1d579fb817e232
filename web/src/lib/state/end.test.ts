import { expect, it } from "vitest";
import { End } from "./end";

const box = (scrollHeight: number, scrollTop: number, clientHeight: number) => ({ scrollHeight, scrollTop, clientHeight });

it.each([
  ["nothing happens", box(1000, 400, 600), true],
  ["it grows", box(1300, 400, 600), true],
  ["it shrinks, and the browser moves it", box(900, 300, 600), true],
  ["the field below it grows", box(1000, 400, 440), true],
  ["the field becomes small, and the browser moves it", box(1000, 340, 660), true],
  ["the field becomes small while it grows", box(1300, 340, 660), true],
  ["somebody scrolls up", box(1000, 380, 600), false],
  ["somebody scrolls up while it grows", box(1300, 380, 600), false],
  ["somebody scrolls up while the field becomes small", box(1000, 300, 660), false],
])("knows who is at the end: %s", (_, now, stays) => {
  const end = new End();
  end.see(box(1000, 400, 600));
  expect(end.stays(now)).toBe(stays);
});
