import { describe, expect, test } from "vitest";
import { fit, gigabytes, told, type GPU, type LocalModel } from "./webllm";

const gpu: GPU = { memory: 2 * 1024 ** 3, buffer: 1024 ** 3, features: new Set(["timestamp-query"]) };
const model = (more: Partial<LocalModel>): LocalModel => ({ id: "m", vramRequired: 0, lowResource: false, features: [], bufferRequired: 0, contextWindow: 4096, ...more });
const share = (of: number) => model({ vramRequired: Math.floor(gpu.memory * of) });

describe("a model in the browser", () => {
  test.each([
    [share(0.8), true, ""],
    [share(0.81), true, "May be tight on VRAM (estimated ~2.1 GB available)"],
    [share(1.2), true, "May be tight on VRAM (estimated ~2.1 GB available)"],
    [share(1.21), false, "Requires ~2.6 GB VRAM (estimated ~2.1 GB available)"],
    [model({ features: ["timestamp-query", "shader-f16"] }), false, "Requires shader-f16, which this GPU doesn't have here"],
    [model({ bufferRequired: gpu.buffer + 1 }), false, "Requires larger buffers than this GPU has here"],
  ])("fits or not %#", (m, fits, note) => expect(fit(m, gpu)).toEqual({ fits, note }));

  test("has a size", () => expect([gigabytes(377_162_301), gigabytes(1_183_654_871)]).toEqual(["377 MB", "1.2 GB"]));

  test("says how far it is", () => {
    expect(told({ model: "m", progress: 0, text: "Start to fetch params" })).toBe("Loading m …");
    expect(told({ model: "m", progress: 0.25, text: "Fetching param cache[3/22]: 123MB fetched. 25% completed, 5 secs elapsed. It can take a while." })).toBe("Downloading m: 129 MB, 25 %");
    expect(told({ model: "m", progress: 2, text: "Loading model from cache[3/22]: 123MB loaded. 200% completed, 5 secs elapsed." })).toBe("Loading m into the GPU: 100 %");
  });
});
