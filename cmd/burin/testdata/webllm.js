// A script in the place of WebLLM, of the same form: it loads two files of a model and keeps them, and gives answers that
// are written here. What happens is told to the test.
self.webllm = (() => {
  const says = (text) => fetch('/test/says', { method: 'POST', body: text });
  const record = (id) => ({
    model: `https://huggingface.co/mlc-ai/${id}`,
    model_id: id,
    model_lib: `https://raw.githubusercontent.com/mlc-ai/binary-mlc-llm-libs/main/web-llm-models/v9/base/${id.replace('-MLC', '')}-webgpu.wasm`,
    vram_required_MB: 600,
    overrides: { context_window_size: 4096 },
  });
  class MLCEngine {
    model = '';
    interrupted = false;
    chat = { completions: { create: async (request) => this.answer(request) } };
    constructor() {
      void says('engine');
    }
    setInitProgressCallback(f) {
      this.progress = f;
    }
    setAppConfig(c) {
      this.config = c;
    }
    async reload(id) {
      await this.unload();
      const r = this.config.model_list.find((m) => m.model_id === id);
      await says(`load ${id} ${r.model} ${r.model_lib}`);
      this.controller = new AbortController();
      const { signal } = this.controller;
      const cache = await caches.open('webllm/model');
      await cache.add(new Request(`${r.model}mlc-chat-config.json`, { signal }));
      this.progress({ progress: 0, timeElapsed: 0, text: 'Start to fetch params' });
      this.progress({ progress: 0.25, timeElapsed: 1, text: 'Fetching param cache[1/4]: 123MB fetched. 25% completed, 1 secs elapsed. It can take a while.' });
      await cache.add(new Request(`${r.model}tensor-cache.json`, { signal }));
      await fetch(r.model_lib, { signal });
      this.model = id;
    }
    async unload() {
      if (this.model) await says(`unload ${this.model}`);
      this.model = '';
      this.controller?.abort('unloaded');
      this.controller = undefined;
    }
    interruptGenerate() {
      this.interrupted = true;
    }
    async *answer(request) {
      this.interrupted = false;
      await says(JSON.stringify(request));
      const asked = request.messages.at(-1).content;
      const piece = (content) => ({ id: 'x', object: 'chat.completion.chunk', created: 1, model: this.model, choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] });
      if (asked.endsWith('hello again')) {
        yield piece('Hello ');
        await fetch('/test/waits?first');
        yield piece('from the browser');
      } else if (asked === 'long') {
        for (; !this.interrupted; await new Promise((r) => setTimeout(r, 5))) yield piece('On and on. ');
        await says('interrupted');
      } else {
        yield piece(`${this.model} has read it.`);
      }
      yield { id: 'x', object: 'chat.completion.chunk', created: 1, model: this.model, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      yield { id: 'x', object: 'chat.completion.chunk', created: 1, model: this.model, choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, extra: { e2e_latency_s: 1 } } };
    }
  }
  return { MLCEngine, prebuiltAppConfig: { model_list: ['Small-q4f16_1-MLC', 'Small-q4f32_1-MLC', 'Other-q4f32_1-MLC', 'Large-q4f32_1-MLC'].map(record) } };
})();
