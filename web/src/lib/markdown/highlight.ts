/**
 * Colors code, well enough to read it: comments, strings, numbers, words of the language, and
 * what is called. It knows families of languages, not their grammars.
 */

export interface Token {
  kind: "" | "k" | "s" | "n" | "c" | "f";
  text: string;
}

const words = new Set(
  (
    "abstract as assert async await begin break case catch class const continue def default defer del do elif else elsif end enum esac except export extends extern " +
    "fi final finally fn for foreach from func function global go goto if impl implements import in include inline interface is lambda let loop macro match mod module mut " +
    "namespace new nil none None not null of operator or override package pass private proc protected pub public raise range readonly ref require return rescue select self static struct " +
    "super switch template then this throw throws trait true True False false try type typedef typeof undefined union unless unsafe until use using val var virtual void volatile when where " +
    "while with yield and int string bool boolean float double char byte long short number any " +
    "SELECT FROM WHERE INSERT UPDATE DELETE INTO VALUES JOIN LEFT RIGHT INNER OUTER ON GROUP ORDER BY LIMIT AND OR NOT NULL CREATE TABLE AS SET PRIMARY KEY"
  ).split(" "),
);

const plain = new Set(["", "text", "txt", "plain", "plaintext", "output", "log", "md", "markdown"]);
const hash = new Set(["python", "py", "sh", "bash", "shell", "zsh", "fish", "console", "ruby", "rb", "yaml", "yml", "toml", "r", "perl", "make", "makefile", "dockerfile", "elixir", "nix", "ini", "conf"]);
const dashes = new Set(["sql", "lua", "haskell", "hs", "ada", "elm"]);
const tags = new Set(["html", "xml", "svg", "svelte", "vue"]);
const MAX = 100_000; // characters; more stays plain

/** highlight splits code into tokens. */
export function highlight(code: string, lang: string): Token[] {
  lang = lang.toLowerCase();
  if (plain.has(lang) || code.length > MAX) return [{ kind: "", text: code }];
  if (lang === "diff" || lang === "patch") return diff(code);
  const comment = hash.has(lang) ? "#.*" : dashes.has(lang) ? "--.*" : tags.has(lang) ? "<!--[\\s\\S]*?(?:-->|$)" : lang === "css" ? "/\\*[\\s\\S]*?(?:\\*/|$)" : "//.*|/\\*[\\s\\S]*?(?:\\*/|$)";
  const token = new RegExp(
    `(?<c>${comment})|(?<s>"""[\\s\\S]*?(?:"""|$)|"(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\[\\s\\S])*\`?)` +
      `|(?<n>\\b(?:0[xXbBoO][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b)|(?<w>[A-Za-z_$][\\w$]*)(?<call>(?=\\s*\\())?`,
    "g",
  );
  const out: Token[] = [];
  let end = 0;
  const put = (kind: Token["kind"], text: string) => {
    const last = out[out.length - 1];
    if (text === "") return;
    if (last?.kind === kind) last.text += text;
    else out.push({ kind, text });
  };
  for (const m of code.matchAll(token)) {
    const g = m.groups!;
    put("", code.slice(end, m.index));
    const tag = tags.has(lang) && /<\/?$/.test(code.slice(Math.max(0, m.index - 2), m.index));
    put(g["c"] !== undefined ? "c" : g["s"] !== undefined ? "s" : g["n"] !== undefined ? "n" : tag || words.has(m[0]) ? "k" : g["call"] !== undefined ? "f" : "", m[0]);
    end = m.index + m[0].length;
  }
  put("", code.slice(end));
  return out;
}

function diff(code: string): Token[] {
  return code.split(/(?<=\n)/).map((line) => ({ kind: line.startsWith("+") ? "s" : line.startsWith("-") ? "k" : line.startsWith("@@") ? "f" : "", text: line }));
}
