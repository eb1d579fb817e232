package export

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's style and script
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// HTML writes the session as one page that needs no other file and asks no server
// for anything; its content security policy forbids both. It holds every branch
// and opens at the active one.
func HTML(w io.Writer, p Page) error {
	t, err := newTree(&p)
	if err != nil {
		return err
	}
	out := &writer{out: bufio.NewWriterSize(w, 1<<16)}
	h := page{tree: t, writer: out, entries: entries{t, content{out}}}
	h.head()
	h.top()
	h.main()
	h.others()
	h.shape()
	h.put("<script>", pageJS, "</script></body></html>\n")
	h.flush()
	if err := h.out.Flush(); err != nil {
		return fmt.Errorf("export session %s: %w", p.Header.ID, err)
	}
	return nil
}

// startJS runs before anything is drawn: what needs the script gets its room, and
// the chosen light its color.
const startJS = `document.documentElement.classList.add('js');` +
	`try{const t=localStorage.getItem('burin-theme');if(t==='light'||t==='dark')document.documentElement.dataset.theme=t}catch{}`

// page is the frame around the entries: head, search, totals and the tree for the script.
type page struct {
	*tree
	*writer
	entries entries
}

// digest names an inline style or script for the content security policy.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (h *page) name() string {
	if h.title != "" {
		return h.title
	}
	for _, i := range h.path {
		if e := h.nodes[i].entry; kindOf(e) == kindUser {
			return excerpt(e)
		}
	}
	return "Session " + h.page.Header.ID
}

func (h *page) head() {
	h.put(`<!doctype html><html lang="en"><head><meta charset="utf-8">`,
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src `, digest(pageCSS),
		`; script-src `, digest(startJS), " ", digest(pageJS), `; base-uri 'none'; form-action 'none'">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">`,
		`<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>`)
	h.text(h.name())
	h.put("</title><style>", pageCSS, "</style><script>", startJS, "</script></head><body>",
		`<a class="skip" href="#talk">Skip to the conversation</a>`)
}

// top is the bar with the search, which only the script makes useful, and the tree's place.
func (h *page) top() {
	h.put(`<header class="bar"><button id="menu" class="js" type="button" aria-controls="side" title="Tree (t)">`,
		`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2.5v11M4 8h4a4 4 0 0 0 4-4V2.5"/><circle cx="4" cy="2.5" r="1.5"/><circle cx="4" cy="13.5" r="1.5"/><circle cx="12" cy="2.5" r="1.5"/></svg><span>Tree</span></button><p class="name">`)
	h.text(h.name())
	h.put(`</p><form id="find" class="js" role="search"><input type="search" placeholder="Search everything" aria-label="Search everything" title="Search (/)" autocomplete="off" spellcheck="false">`,
		`<output aria-live="polite"></output><button type="button" id="prev" aria-label="Previous match" title="Previous match (N)">↑</button>`,
		`<button type="button" id="next" aria-label="Next match" title="Next match (n)">↓</button></form>`,
		`<button id="theme" class="js" type="button" aria-label="Switch between light and dark" title="Light or dark">◐</button>`,
		`<button id="help" class="js" type="button" aria-label="Keys" title="Keys (?)">?</button></header>`,
		`<div class="body"><nav id="side" class="js" aria-label="Tree of the session"><div class="filter"><label for="filter">Show</label><select id="filter">`,
		`<option value="default">conversation and tools</option><option value="no-tools">without tools</option><option value="user-only">prompts only</option>`,
		`<option value="labeled">labeled only</option><option value="all">everything</option></select></div>`,
		`<div id="tree" role="tree" aria-label="Entries" tabindex="0"></div></nav>`)
	h.flush()
}

func (h *page) main() {
	h.put(`<main id="talk" tabindex="-1">`)
	h.intro()
	h.put(`<div id="log">`)
	for place, i := range h.path {
		if h.nodes[i].caller >= 0 && h.nodes[h.nodes[i].caller].active {
			continue // inside its call
		}
		h.entries.entry(i, h.results(i, place))
		h.flush()
	}
	if len(h.path) == 0 {
		h.put(`<p class="line">Nothing was said in this session.</p>`)
	}
	h.put("</div>")
	h.footer()
	h.put("</main></div>", helpDialog)
	h.flush()
}

const helpDialog = `<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2><dl>` +
	`<dt><kbd>/</kbd></dt><dd>search in all branches</dd><dt><kbd>n</kbd> <kbd>N</kbd></dt><dd>next, previous match</dd>` +
	`<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous message</dd><dt><kbd>e</kbd></dt><dd>open or close all tool calls</dd>` +
	`<dt><kbd>t</kbd></dt><dd>tree; there: arrows, <kbd>Enter</kbd> opens, <kbd>←</kbd> <kbd>→</kbd> fold</dd>` +
	`<dt><kbd>?</kbd></dt><dd>these keys</dd></dl><form method="dialog"><button>Close</button></form></dialog>` +
	`<dialog id="zoom" aria-label="Picture"><form method="dialog"><button aria-label="Close">×</button></form></dialog>`

// others writes the entries outside the active branch, where the script finds them.
func (h *page) others() {
	h.put(`<template id="rest">`)
	for i := range h.nodes {
		if !h.nodes[i].active {
			h.entries.entry(i, nil)
			h.flush()
		}
	}
	h.put("</template>")
}

// shape is the tree for the script: for each entry its parent, its kind, its line
// and, where there are any, its label, and the answer and call it belongs to.
func (h *page) shape() {
	h.put(`<script type="application/json" id="shape">{"leaf":`)
	leaf := -1
	if len(h.path) > 0 {
		leaf = h.path[len(h.path)-1]
	}
	h.buf = fmt.Appendf(h.buf, `%d,"nodes":[`, leaf)
	for i := range h.nodes {
		n := &h.nodes[i]
		if i > 0 {
			h.put(",")
		}
		h.buf = fmt.Appendf(h.buf, `[%d,"%c",`, n.parent, kindOf(n.entry))
		h.json(h.row(i))
		if n.label != "" || n.caller >= 0 {
			h.put(",")
			h.json(visible(n.label))
		}
		if n.caller >= 0 {
			h.buf = fmt.Appendf(h.buf, ",%d,%d", n.caller, n.block)
		}
		h.put("]")
		h.flush()
	}
	h.put("]}</script>")
}

// row is the line of entry i in the tree, without the commonest marks of Markdown.
// A tool result is known by its call.
func (h *page) row(i int) string {
	n := &h.nodes[i]
	if n.caller >= 0 {
		if c, ok := h.nodes[n.caller].entry.Message.Content[n.block].(llm.ToolCall); ok {
			return visible(c.Name + " " + headline(c))
		}
	}
	return strings.TrimLeft(strings.NewReplacer("**", "", "`", "").Replace(excerpt(n.entry)), "#> ")
}

func (h *page) intro() {
	p := h.page
	h.put(`<header class="intro"><h1>`)
	h.text(h.name())
	h.put(`</h1><p class="facts">`)
	if at := headerTime(p.Header.Timestamp); !at.IsZero() {
		h.put("<span>")
		h.time(at, "January 2, 2006, 15:04")
		h.put(" UTC</span>")
	}
	if p.Header.CWD != "" {
		h.put("<span><code>")
		h.text(p.Header.CWD)
		h.put("</code></span>")
	}
	if p.Header.ParentSession != "" {
		h.put("<span>forked from <code>")
		h.text(p.Header.ParentSession)
		h.put("</code></span>")
	}
	h.put("</p>")
	h.totals()
	if n := len(h.sides()); n > 0 {
		h.put(`<noscript><p class="line">Not shown without JavaScript: `, prose.Count(n, "other branch"), `.</p></noscript>`)
	}
	if p.System != "" {
		h.put(`<details class="fold"><summary>System prompt <span class="soft">`, bytesWords(len(p.System)), `</span></summary><pre class="out">`)
		h.limited(p.System)
		h.put("</pre></details>")
	}
	h.tools(p.Tools)
	h.put("</header>")
	h.flush()
}

func headerTime(stamp string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

func (h *page) totals() {
	a := h.all
	h.put(`<dl class="totals">`)
	row := func(name, value, more string) {
		h.put("<div><dt>", name, "</dt><dd>", value)
		if more != "" {
			h.put(` <span class="soft">`, more, "</span>")
		}
		h.put("</dd></div>")
	}
	row("Prompts", fmt.Sprint(a.Prompts), "")
	row("Answers", fmt.Sprint(a.Answers), "")
	failed := ""
	if a.ToolErrors > 0 {
		failed = fmt.Sprint(a.ToolErrors) + " failed"
	}
	row("Tool calls", fmt.Sprint(a.ToolCalls), failed)
	cached := ""
	if a.Usage.CacheRead > 0 {
		cached = prose.Tokens(a.Usage.CacheRead) + " cached"
	}
	row("Tokens in", prose.Tokens(a.Usage.Prompt()), cached)
	row("Tokens out", prose.Tokens(a.Usage.Output), "")
	unknown := ""
	if a.Unpriced > 0 && a.Answers > 0 {
		unknown = prose.Count(a.Unpriced, "answer") + " of unknown price"
	}
	row("Cost", costWords(a.Usage.Cost, a.Unpriced), unknown)
	h.put("</dl>")
}

func (h *page) tools(tools []llm.Tool) {
	if len(tools) == 0 {
		return
	}
	h.put(`<details class="fold"><summary>Tools <span class="soft">`, fmt.Sprint(len(tools)), `</span></summary>`)
	for _, tool := range tools {
		h.put(`<details class="fold"><summary><code>`)
		h.text(tool.Name)
		h.put(`</code></summary><div class="md">`)
		h.buf = markup.AppendMarkdown(h.buf, prose.Head(tool.Description, maxText), false)
		h.put(`</div>`)
		if len(tool.Schema) > 0 {
			h.put(`<pre class="out"><code data-lang="json">`)
			h.limited(pretty(tool.Schema))
			h.put("</code></pre>")
		}
		h.put("</details>")
	}
	h.put("</details>")
}

// pretty is JSON with indentation, or as it is if it is not JSON.
func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

func (h *page) footer() {
	h.put(`<footer class="end">`)
	if v := h.page.Version; v != "" {
		h.put("burin ")
		h.text(v)
		h.put(" · ")
	}
	h.put("session <code>")
	h.text(h.page.Header.ID)
	h.put("</code>")
	if at := h.page.Generated; !at.IsZero() {
		h.put(" · exported ")
		h.time(at.UTC(), "January 2, 2006, 15:04")
		h.put(" UTC")
	}
	h.put("</footer>")
}
