// What a program finds in its global scope besides ECMAScript, and what runs it. The host's
// functions are taken from the global scope before the program can see them.
(() => {
  "use strict";
  const { __print: hostPrint, __file: hostFile, __text: hostText, __halt: hostHalt } = globalThis;
  for (const name of ["__print", "__file", "__text", "__halt"]) delete globalThis[name];
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const now = Date.now;
  const began = now();
  const fromBase64 = Uint8Array.fromBase64;
  const toBase64 = Uint8Array.prototype.toBase64;
  const then = Promise.prototype.then;
  const base64 = (bytes) => apply(toBase64, bytes, []);
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

  // shown is a value as the model reads it.
  const shown = (v) => {
    switch (typeof v) {
      case "string": return v;
      case "function": return "[Function]";
      case "object": break;
      case "bigint": return `${v}n`;
      default: return String(v);
    }
    if (v === null) return "null";
    if (v instanceof Error) return told(v);
    const above = [];
    return stringify(v, function (key, value) {
      while (above.length > 0 && above[above.length - 1] !== this) above.pop();
      if (typeof value === "bigint") return `${value}n`;
      if (typeof value === "function") return "[Function]";
      if (typeof value !== "object" || value === null) return value;
      if (above.includes(value)) return "[Circular]";
      above.push(value);
      if (value instanceof Error) return told(value);
      if (value instanceof Map || value instanceof Set) return [...value];
      if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
      if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return [...value];
      return value;
    }, 2) ?? String(v);
  };
  // told is an error as the model reads it: its name, message and where it was thrown.
  const told = (e) => {
    if (e === null) return "InternalError: out of memory (or null was thrown)";
    if (!(e instanceof Error)) return shown(e);
    const head = `${e.name}: ${e.message}`;
    const stack = String(e.stack ?? "").trimEnd();
    return stack === "" ? head : `${head}\n${stack.length > 2000 ? stack.slice(0, 2000) + " …" : stack}`;
  };

  const print = (level) => (...args) => hostPrint(level, args.map(shown).join(" "));
  define("console", { log: print("LOG"), warn: print("WARN"), error: print("ERROR"), info: print("INFO"), debug: print("DEBUG") });
  define("self", globalThis);
  define("halt", (message) => {
    hostPrint("ERROR", shown(message));
    hostHalt();
  });
  define("queueMicrotask", (f) => void apply(then, Promise.resolve(), [() => f()]));
  define("performance", { now: () => now() - began });

  // Timers run in the order of their times; the host waits until the next one.
  const timers = new Map();
  let last = 0;
  const timer = (every) => (f, delay = 0, ...args) => {
    if (typeof f !== "function") throw new TypeError("a timer needs a function");
    const wait = Math.max(every ? 1 : 0, Number(delay) || 0);
    timers.set(++last, { id: last, f, args, at: now() + wait, wait: every ? wait : -1 });
    return last;
  };
  const clear = (id) => void timers.delete(id);
  define("setTimeout", timer(false));
  define("setInterval", timer(true));
  define("clearTimeout", clear);
  define("clearInterval", clear);
  const next = () => {
    let first;
    for (const t of timers.values()) if (first === undefined || t.at < first.at) first = t;
    return first;
  };

  define("TextEncoder", class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return fromBase64(hostText("encode", String(text))); }
  });
  define("TextDecoder", class TextDecoder {
    #fatal;
    #keep;
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(String(label).trim().toLowerCase())) {
        throw new RangeError(`the encoding ${label} isn't known: there is utf-8`);
      }
      this.#fatal = Boolean(fatal);
      this.#keep = Boolean(ignoreBOM);
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keep; }
    decode(data) {
      const text = hostText(this.#fatal ? "decodeFatal" : "decode", data === undefined ? "" : base64(bytesOf(data)));
      if (text === null) throw new TypeError("the bytes aren't UTF-8");
      return !this.#keep && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
  });
  define("btoa", (text) => {
    const units = String(text);
    const bytes = new Uint8Array(units.length);
    for (let i = 0; i < units.length; i++) {
      const unit = units.charCodeAt(i);
      if (unit > 255) throw new Error("InvalidCharacterError: btoa takes characters up to U+00FF");
      bytes[i] = unit;
    }
    return base64(bytes);
  });
  define("atob", (text) => {
    let bytes;
    try {
      bytes = fromBase64(String(text));
    } catch {
      throw new Error("InvalidCharacterError: the text isn't base64");
    }
    let said = "";
    for (let i = 0; i < bytes.length; i += 8192) said += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return said;
  });

  const bytesOf = (data) => {
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    throw new TypeError("want an ArrayBuffer, a typed array or a DataView");
  };
  // file has the host do something with a file, and throws what went wrong as programs for Node know it.
  const file = (op, path, more = {}) => {
    if (typeof path !== "string") throw new TypeError("the path must be a string");
    const answer = parse(hostFile(stringify({ op, path, ...more })));
    if (answer.code === undefined) return answer;
    const e = new Error(answer.error);
    e.code = answer.code;
    e.path = path;
    throw e;
  };
  define("fs", {
    async readFile(path, options) {
      const encoding = typeof options === "object" ? options?.encoding : options;
      const bytes = fromBase64(file("read", path).data ?? "");
      return encoding === undefined || encoding === null ? bytes.buffer : new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
    },
    async writeFile(path, data) {
      if (typeof data === "string") return void file("write", path, { text: data });
      let bytes;
      try {
        bytes = bytesOf(data);
      } catch {
        const e = new Error(`EINVAL: invalid argument, data must be string or buffer, '${path}'`);
        e.code = "EINVAL";
        throw e;
      }
      file("write", path, { data: base64(bytes) });
    },
    async exists(path) { return file("exists", path).exists ?? false; },
    async mkdir(path) { file("mkdir", path); },
    async readdir(path) { return file("readdir", path).names ?? []; },
    async unlink(path) { file("unlink", path); },
    async rmdir(path) { file("rmdir", path); },
    async rename(from, to) {
      if (typeof to !== "string") throw new TypeError("the path must be a string");
      file("rename", from, { to });
    },
    async stat(path) {
      const s = file("stat", path).stat;
      return { isFile: !s.dir, isDirectory: s.dir ?? false, size: s.size ?? 0, readonly: s.readOnly ?? false, mtime: s.modified ?? 0, isBinary: s.binary ?? false, mime: s.mime ?? "" };
    },
  });

  // What the host drives the program with.
  let state = "running";
  let outcome = "";
  return (op, arg) => {
    switch (op) {
      case "start":
        apply(then, arg(), [
          (v) => { outcome = shown(v); state = "done"; },
          (e) => { outcome = told(e); state = "failed"; },
        ]);
        return null;
      case "due": { // runs the timers that are due, and says in how many milliseconds the next one is; -1: none
        const t = next();
        if (t !== undefined && t.at <= now()) { // one at a time: promises come before the next
          if (t.wait < 0) timers.delete(t.id);
          else t.at = now() + t.wait;
          try {
            t.f(...t.args);
          } catch (e) {
            hostPrint("ERROR", `Uncaught ${told(e)}`);
          }
        }
        const first = next();
        return first === undefined ? -1 : Math.max(0, first.at - now());
      }
      case "state": return state;
      default: return outcome;
    }
  };
})()
