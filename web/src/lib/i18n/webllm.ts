/** The texts about models that run in the browser. */

import { texts } from "./index";

export const webllmEn = {
  name: "In this browser (WebLLM)",
  about: "The models run on the GPU of this device: a chat doesn't leave the browser and costs nothing. They take and give text only, without tools.",
  weights: "Address of the models' files",
  "weights.note": "The browser loads the files of a model with its first answer, and keeps them.",
  models: "Models",
  find: "Find a model",
  none: "No model has this in its name.",
  needs: "{size} of memory, {window} tokens",
  "needs.size": "{size} of memory",
  choose: "Choose a model that this browser can run.",
  insecure: "WebGPU is for pages with https:// or on localhost only: open burin at such an address.",
  "no.gpu": "WebGPU API not available in this browser. Chrome and Edge have it from version 113 on, Safari from 18 on.",
  "no.adapter": "WebGPU finds no GPU here that this browser may use.",
  large: "Requires ~{needs} VRAM (estimated ~{has} available)",
  tight: "May be tight on VRAM (estimated ~{has} available)",
  feature: "Requires {feature}, which this GPU doesn't have here",
  buffer: "Requires larger buffers than this GPU has here",
  loading: "Loading {model} …",
  fetching: "Downloading {model}: {size}, {percent} %",
  placing: "Loading {model} into the GPU: {percent} %",
} as const;

export const w = texts<keyof typeof webllmEn>("webllm", webllmEn);
