/** Finds formulas between dollars. What a formula is, KaTeX decides: it must read it without a complaint. */

/** Tex reports whether something is a formula. */
export type Tex = (v: string, display: boolean) => boolean;

const MAX_FORMULA = 2_000; // characters
const MAX_TRIES = 40; // ends that are tried for one beginning
const indicator = /[\\{}^_+*/=()[\]&%#~<>]|-[ \d.]/;
const letter = /^\p{L}$/u;

/** escaped reports whether a character has a backslash before it that isn't escaped itself. */
function escaped(s: string, i: number): boolean {
  let n = 0;
  while (s[i - 1 - n] === "\\") n++;
  return n % 2 === 1;
}

function likely(v: string): boolean {
  return (letter.test(v) || indicator.test(v)) && !v.includes("<a href=");
}

/** formulaAt reads a formula that begins at a dollar and ends at another one in the same line. */
export function formulaAt(s: string, from: number, tex: Tex): { v: string; end: number } | undefined {
  for (let i = from + 1, tries = 0; i < s.length && i - from <= MAX_FORMULA && tries < MAX_TRIES; i++) {
    const c = s[i];
    if (c === "\n" || c === "`") return undefined;
    if (c !== "$" || escaped(s, i) || /\d/.test(s[i + 1] ?? "")) continue; // $5 (or $6) is money
    if (s[i + 1] === "$") {
      while (s[i + 1] === "$") i++;
      continue;
    }
    tries++;
    const v = s.slice(from + 1, i).trim();
    if (likely(v) && tex(v, false)) return { v, end: i + 1 };
  }
  return undefined;
}

/** displayAt reads a formula that begins at two dollars and ends at two others, perhaps lines later. */
export function displayAt(s: string, from: number, tex: Tex): { v: string; end: number } | undefined {
  for (let i = from + 2, tries = 0; (i = s.indexOf("$$", i)) >= 0 && i - from <= MAX_FORMULA && tries < MAX_TRIES; ) {
    let n = 2;
    while (s[i + n] === "$") n++;
    if (n > 2 || escaped(s, i)) {
      i += n;
      continue;
    }
    tries++;
    const v = s.slice(from + 2, i).trim();
    if (v !== "" && tex(v, true)) return { v, end: i + 2 };
    i += 2;
  }
  return undefined;
}

/** pending reports whether what begins at dollars at the end of a text may become a formula. */
export function pending(s: string, from: number, display: boolean): boolean {
  const rest = s.slice(from + (display ? 2 : 1));
  if (display) return rest.length < MAX_FORMULA && !rest.includes("$$");
  return rest.length < 300 && !/[$\n`]/.test(rest) && /[\\^_{]/.test(rest);
}
