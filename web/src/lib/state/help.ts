/** What the help makes of the pages of the handbook: Markdown whose links stay in the app. */

const source = "https://github.com/burin-dev/burin/blob/main/";

/** slug is the end of the address of a heading, as the pages name it. */
export const slug = (title: string): string => title.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");

/** address is where a link of a page leads: pages are read in the app at origin, other files where burin's source is. */
export function address(to: string, page: string, origin: string): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(to)) return to;
  const at = new URL(to, `https://pages/docs/${page}.md`);
  const name = /^\/docs\/(.+)\.md$/.exec(at.pathname)?.[1];
  return name === undefined ? source + at.pathname.slice(1) + at.hash : `${origin}/help/${name}${at.hash}`;
}

/** What a page says: its title, its text with links to the app, and its sections. */
export interface Read {
  title: string;
  text: string;
  sections: string[];
}

/** readable takes a page apart. Code stays as it is; pictures, and comments, which are for burin's tests, are left out. */
export function readable(page: string, text: string, origin: string): Read {
  const sections: string[] = [];
  let title = "";
  const out = text.replace(/^\|[ |]*\n\|[-| ]+\n(?:\|.*!\[.*\n)+/gm, "").replace(/^(```+)[^\n]*\n[\s\S]*?^\1[ \t]*$|`[^`\n]*`|!\[[^\]]*\]\([^)]*\)|<!--[\s\S]*?-->|^(#{1,2}) (.+)$|\]\(([^()\s]+)\)/gm, (all, _fence, marks?: string, heading?: string, to?: string) => {
    if (to !== undefined) return `](${address(to, page, origin)})`;
    if (heading === undefined) return all.startsWith("<!--") || all.startsWith("![") ? "" : all;
    const plain = heading.replace(/`|\*\*/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    if (marks === "##") sections.push(plain);
    else if (!title) {
      title = plain;
      return "";
    }
    return all;
  });
  return { title, text: out, sections };
}
