/** Models that run in the browser (docs/private.md): which there are, and which of them fit. */

import { Failure } from "../api/client";
import { t } from "../i18n";
import { w } from "../i18n/webllm";

export interface LocalModel {
  id: string;
  /** Bytes. */
  vramRequired: number;
  /** It is for small devices. */
  lowResource: boolean;
  features: string[];
  bufferRequired: number;
  contextWindow: number;
}

/** GPU is what the browser says of the one that it would use. */
export interface GPU {
  /** Bytes that a model may have, estimated: no browser tells how much memory there is. */
  memory: number;
  buffer: number;
  features: ReadonlySet<string>;
}

interface Adapter {
  limits: { maxBufferSize: number; maxStorageBufferBindingSize: number };
  features: ReadonlySet<string>;
}

/** findGPU gives the GPU, or says why there is none. */
export async function findGPU(): Promise<GPU | string> {
  if (!isSecureContext) return w("insecure");
  const { gpu } = navigator as { gpu?: { requestAdapter(): Promise<Adapter | null> } };
  if (!gpu) return w("no.gpu");
  const adapter = await gpu.requestAdapter().catch(() => null);
  if (!adapter) return w("no.adapter");
  return { memory: adapter.limits.maxBufferSize * 2, buffer: adapter.limits.maxStorageBufferBindingSize, features: adapter.features };
}

/** gigabytes writes bytes. */
export const gigabytes = (n: number): string => (n >= 1e9 ? `${(n / 1e9).toFixed(1)} GB` : `${Math.round(n / 1e6)} MB`);

/** fit says whether a model can run, and what speaks against it. */
export function fit(m: LocalModel, gpu: GPU): { fits: boolean; note: string } {
  const missing = m.features.find((f) => !gpu.features.has(f));
  if (missing) return { fits: false, note: w("feature", { feature: missing }) };
  if (m.bufferRequired > gpu.buffer) return { fits: false, note: w("buffer") };
  const sizes = { needs: gigabytes(m.vramRequired), has: gigabytes(gpu.memory) };
  if (m.vramRequired > gpu.memory * 1.2) return { fits: false, note: w("large", sizes) };
  return { fits: true, note: m.vramRequired > gpu.memory * 0.8 ? w("tight", sizes) : "" };
}

/** listed are the models of the library, which a burin may have come without. */
export async function listed(): Promise<LocalModel[]> {
  const r = await fetch("/private/webllm.json").catch(() => {
    throw new Failure(0, "", t("error.network"));
  });
  const body: unknown = await r.json();
  if (!r.ok) throw new Failure(r.status, "", (body as { detail?: string }).detail ?? t("error.unknown"));
  return body as LocalModel[];
}

/** Loading is how far a model is that comes into the browser. */
export interface Loading {
  model: string;
  /** From 0 to 1. */
  progress: number;
  /** In the words of the library. */
  text: string;
}

/** told says how far a model is. */
export function told({ model, progress, text }: Loading): string {
  const percent = Math.round(Math.min(1, Math.max(0, progress)) * 100);
  const size = /\]: (\d+)MB fetched/.exec(text)?.[1];
  if (size) return w("fetching", { model, size: gigabytes(Number(size) * 1024 ** 2), percent });
  return /MB loaded/.test(text) ? w("placing", { model, percent }) : w("loading", { model });
}
