/** The providers that answer browsers, as docs/private.md lists them. */

export interface Known {
  id: string;
  name: string;
  api: string;
  url?: string;
  /** Anybody can have one of this kind at an address of their own. */
  own?: true;
}

/** Models in the browser itself: the address is that of their files. */
export const local = { id: "webllm", name: "WebLLM", api: "webllm", url: "https://huggingface.co" } satisfies Known;

export const known: Known[] = [
  { id: "anthropic", name: "Anthropic", api: "anthropic-messages" },
  { id: "google", name: "Google Gemini", api: "google-generative-ai" },
  { id: "openrouter", name: "OpenRouter", api: "openai-completions", url: "https://openrouter.ai/api/v1" },
  { id: "openai", name: "OpenAI", api: "openai-responses" },
  { id: "own", name: "Ollama, llama.cpp, vLLM …", api: "openai-completions", url: "http://localhost:11434/v1", own: true },
  local,
];
