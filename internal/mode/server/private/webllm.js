// Models in the browser: answers what the loop asks of https://webllm.invalid with WebLLM, which is loaded with the
// first model. There is one engine, which has one model at a time and gives one answer after the other.
'use strict';
(() => {
  const here = 'https://webllm.invalid/', library = '/private/webllm.js', home = 'https://huggingface.co';
  const libraries = 'https://raw.githubusercontent.com/mlc-ai/binary-mlc-llm-libs/main/'; // Hugging Face has the weights only
  const real = self.fetch.bind(self);
  let engine, loaded = '', last = Promise.resolve();

  /** Refusal is an error in words for a person. Its code has the loop not try again. */
  class Refusal extends Error {
    constructor(message, code = 'invalid_request_error') {
      super(message);
      this.event = `data: ${JSON.stringify({ error: { message, code } })}\n\n`;
    }
  }
  const events = (body) => new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  const tell = (loading) => postMessage({ loading });

  self.fetch = (input, init = {}) => (typeof input === 'string' && input.startsWith(here) ? answer(init) : real(input, init));

  async function answer({ body, signal = new AbortController().signal }) {
    const asked = await new Response(body).json();
    const before = last;
    let done;
    last = new Promise((r) => (done = r));
    await before;
    try {
      signal.throwIfAborted();
      await load(asked.model, asked.weights, signal);
      return events(await stream(asked, signal, done));
    } catch (e) {
      done();
      signal.throwIfAborted();
      return events((e instanceof Refusal ? e : new Refusal(`${asked.model} failed in the browser: ${textOf(e)}`)).event);
    }
  }
  const textOf = (e) => String(e?.message ?? e).replace(/\s+/g, ' ').slice(0, 500);

  async function load(model, weights, signal) {
    const key = `${weights} ${model}`;
    if (engine && loaded === key) return;
    loaded = '';
    tell({ model, progress: 0, text: '' });
    let record;
    const stop = () => void engine.unload().catch(() => {});
    try {
      await hasGPU();
      await hasLibrary();
      record = self.webllm.prebuiltAppConfig.model_list.find((m) => m.model_id === model);
      if (!record) throw new Refusal(`WebLLM has no model ${model}: choose another one in the settings of the project`);
      record = placed(record, weights);
      engine ??= new self.webllm.MLCEngine({ logLevel: 'ERROR' });
      engine.setInitProgressCallback(({ progress, text }) => signal.aborted || tell({ model, progress, text }));
      engine.setAppConfig({ model_list: [record] });
      signal.throwIfAborted();
      signal.addEventListener('abort', stop);
      await engine.reload(model);
      signal.throwIfAborted();
      loaded = key;
    } catch (e) {
      signal.removeEventListener('abort', stop);
      await engine?.unload().catch(() => {});
      signal.throwIfAborted();
      throw e instanceof Refusal ? e : await why(e, record);
    } finally {
      signal.removeEventListener('abort', stop);
      tell(null);
    }
  }

  async function hasGPU() {
    if (!self.isSecureContext) throw new Refusal('WebGPU is for pages with https:// or on localhost only: open burin at such an address');
    if (!navigator.gpu) throw new Refusal('WebGPU API not available in this browser: use Chrome or Edge 113 or newer, or Safari 18 or newer');
    if (!(await navigator.gpu.requestAdapter())) throw new Refusal('WebGPU finds no GPU here that this browser may use: use Chrome or Edge 113 or newer, or Safari 18 or newer');
  }

  async function hasLibrary() {
    if (self.webllm) return;
    try {
      importScripts(library);
    } catch (e) {
      const r = await real(library, { credentials: 'same-origin' });
      throw new Refusal(r.ok ? `WebLLM can't start: ${textOf(e)}` : ((await r.json().catch(() => null))?.detail ?? `WebLLM isn't there: ${library} answered ${r.status}`));
    }
  }

  /** placed is the record of a model with its files at an address, which has the layout of Hugging Face. */
  function placed(record, weights) {
    const at = weights.replace(/\/+$/, ''), path = (address) => new URL(address).pathname.slice(1);
    return {
      ...record,
      model: `${at}/${path(record.model)}/resolve/main/`,
      model_lib: (at === home ? libraries : `${at}/`) + path(record.model_lib).replace(/^.*(?=web-llm-models\/)/, ''),
    };
  }

  /** why says why a model can't be loaded. */
  async function why(e, record) {
    const text = textOf(e), name = record?.model_id, mb = Math.ceil(record?.vram_required_MB ?? 0);
    if (e?.name === 'ShaderF16SupportError' || /shader-f16/.test(text)) return new Refusal(`${name} needs shader-f16, which this GPU doesn't have in this browser: choose a model with f32 in its name`);
    if (e?.name === 'DeviceLostError' || /out of memory|device (was|is) lost|createBuffer|allocat/i.test(text)) return new Refusal(`the memory of the GPU isn't enough for ${name}, which needs about ${mb} MB: choose a smaller model, or close what else uses the GPU`);
    if (e?.name === 'QuotaExceededError' || /quota/i.test(text)) return new Refusal(`the browser has no room to keep ${name}: free space on this machine, or remove the data of other sites`);
    return (record && (await missing(record))) ?? new Refusal(`WebLLM can't load ${name}: ${text}`);
  }

  /** missing finds the first file of a model that can't be had; the library doesn't say which one it was. */
  async function missing({ model, model_lib, model_id }) {
    const lacks = async (url, method) => {
      let r;
      try {
        r = await real(url, { method });
      } catch {
        return new Refusal(`${model_id} can't be loaded: ${url} doesn't answer, or its server doesn't allow this page (Access-Control-Allow-Origin)`);
      }
      if (r.ok && url.endsWith('tensor-cache.json')) for (const { dataPath } of (await r.json().catch(() => ({}))).records ?? []) pieces.push(model + dataPath);
      else void r.body?.cancel();
      if (!r.ok) return new Refusal(`the files of ${model_id} aren't at the address: ${url} answered ${`${r.status} ${r.statusText}`.trim()}`);
    };
    const pieces = [];
    for (const url of [`${model}mlc-chat-config.json`, `${model}tensor-cache.json`]) {
      const is = await lacks(url, 'GET');
      if (is) return is;
    }
    for (const url of [model_lib, ...pieces.slice(0, 500), `${model}tokenizer.json`]) {
      const is = await lacks(url, 'HEAD');
      if (is) return is;
    }
  }

  /** stream gives an answer as server-sent events, from its first piece on. */
  async function stream(asked, signal, done) {
    const messages = asked.messages.map(({ role, content }) => ({
      role: role === 'developer' ? 'system' : role,
      content: typeof content === 'string' ? content : (content ?? []).map((p) => p.text ?? '').filter(Boolean).join('\n\n'),
    }));
    const wanted = { messages, stream: true, stream_options: { include_usage: true } };
    for (const field of ['temperature', 'top_p', 'max_tokens', 'stop', 'presence_penalty', 'frequency_penalty']) if (asked[field] != null) wanted[field] = asked[field];
    if (asked.max_completion_tokens != null) wanted.max_tokens ??= asked.max_completion_tokens;
    const stop = () => engine.interruptGenerate();
    const end = () => {
      signal.removeEventListener('abort', stop);
      done();
    };
    signal.addEventListener('abort', stop);
    let pieces, first;
    try {
      pieces = (await engine.chat.completions.create(wanted))[Symbol.asyncIterator]();
      first = await pieces.next();
    } catch (e) {
      end();
      throw await broken(e, asked.model);
    }
    const text = new TextEncoder();
    let left = false;
    return new ReadableStream({
      async start(to) {
        const say = (event) => left || to.enqueue(text.encode(event));
        try {
          // Also when nobody listens any more: until its end the engine can't do anything else.
          for (let p = first; !p.done; p = await pieces.next()) say(`data: ${JSON.stringify(p.value)}\n\n`);
          say('data: [DONE]\n\n');
        } catch (e) {
          say((await broken(e, asked.model)).event);
        }
        end();
        if (!left) to.close();
      },
      cancel() {
        left = true;
        stop();
      },
    });
  }

  /** broken is the error of an answer. The next one loads the model again, unless it was only too long. */
  async function broken(e, model) {
    if (e?.name === 'ContextWindowSizeExceededError') return new Refusal(textOf(e), 'context_length_exceeded');
    loaded = '';
    await engine.unload().catch(() => {});
    return new Refusal(`${model} failed in the browser: ${textOf(e)}`);
  }
})();
