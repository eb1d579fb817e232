/** The texts of chats side by side. */

import { texts } from "./index";

export const besideEn = {
  title: "Several models side by side",
  all: "To all {n}",
  open: "Continue with {name} alone",
  keep: "Keep only {name}",
  kept: "{n} moved to the trash.",
  alone: "Open this chat alone to see it: the arrow above its column.",
} as const;

export const s = texts<keyof typeof besideEn>("beside", besideEn);
