import { expect, test } from "vitest";
import { adminEn } from "./admin";
import { besideEn } from "./beside";
import { codingEn } from "./coding";
import { de } from "./de";
import { en } from "./en";
import { filesEn } from "./files";
import { helpEn } from "./help";
import { managersEn } from "./managers";
import { notificationsEn } from "./notifications";
import { pagesEn } from "./pages";
import { webllmEn } from "./webllm";

const english: Record<string, Record<string, string>> = { app: en, pages: pagesEn, admin: adminEn, coding: codingEn, notifications: notificationsEn, files: filesEn, managers: managersEn, webllm: webllmEn, beside: besideEn, help: helpEn };
const values = (text: string) => [...text.matchAll(/\{+[#/]?\w+\}+/g)].map((m) => m[0]).sort();

test("German has every text, with the same values in it", () => {
  expect(Object.keys(de).sort()).toEqual(Object.keys(english).sort());
  for (const [name, catalog] of Object.entries(english)) {
    const german = de[name as keyof typeof de] as Record<string, string>;
    expect(Object.keys(german).sort(), name).toEqual(Object.keys(catalog).sort());
    for (const [key, text] of Object.entries(catalog)) {
      expect(german[key], `${name} ${key}`).toBeTruthy();
      expect(values(german[key]!), `${name} ${key}`).toEqual(values(text));
    }
  }
});

test("every catalog of English is one that is translated", () => {
  const files = import.meta.glob<string>(["./*.ts", "!./*.test.ts"], { query: "?raw", import: "default", eager: true });
  const made = Object.values(files).flatMap((text) => [...text.matchAll(/= texts<[^(]*>\("(\w+)",/g)].map((m) => m[1]!));
  expect(made.sort()).toEqual(Object.keys(english).sort());
});
