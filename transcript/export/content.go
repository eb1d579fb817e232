package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // sizes of pictures
	_ "image/png"  // sizes of pictures
	"net/http"
	"strconv"
	"strings"

	_ "golang.org/x/image/webp" // sizes of pictures

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

// Folding of outputs: an output of more than foldLines lines or foldBytes bytes
// shows headLines lines, at most headBytes bytes, and the rest on demand.
const (
	foldLines, headLines = 30, 16
	foldBytes, headBytes = 12_000, 6_000
)

// content writes what entries say, wherever they stand in the tree.
type content struct{ *writer }

func (h content) blocks(blocks []llm.Block, breaks bool) {
	for _, b := range blocks {
		h.block(b, breaks)
	}
}

// block appends a piece of content that is not a tool call.
func (h content) block(b llm.Block, breaks bool) {
	switch b := b.(type) {
	case llm.Text:
		if strings.TrimSpace(b.Text) != "" {
			h.markdown(b.Text, breaks)
		}
		h.citations(b.Citations)
	case llm.Thinking:
		h.thinking(b)
	case llm.ToolCall: // outside an answer, where no result belongs to it
		h.card(0, b, false, func() {})
	case llm.Image:
		h.image(b)
	case llm.Document:
		h.document(b)
	case llm.Opaque:
		h.put(`<details class="fold"><summary>Vendor's own record <span class="soft">`)
		h.text(visible(b.Kind))
		h.put(`</span></summary><pre class="out">`)
		h.limited(string(b.Raw))
		h.put("</pre></details>")
	}
}

func (h content) markdown(s string, breaks bool) {
	shown := prose.Head(s, maxText)
	h.put(`<div class="md">`)
	h.buf = markup.AppendMarkdown(h.buf, shown, breaks)
	h.put("</div>")
	h.left(len(s) - len(shown))
}

func (h content) thinking(b llm.Thinking) {
	switch {
	case b.Redacted:
		h.put(`<p class="line">Thinking that the vendor encrypted</p>`)
	case strings.TrimSpace(b.Text) != "":
		h.put(`<details class="fold think"><summary>Thinking <span class="soft">`)
		h.text(visible(b.Text))
		h.put("</span></summary>")
		h.markdown(b.Text, true)
		h.put("</details>")
	}
}

func (h content) citations(sources []llm.Citation) {
	if len(sources) == 0 {
		return
	}
	h.put(`<ul class="cites">`)
	for _, c := range sources {
		h.put("<li>")
		words := visible(c.Title)
		if words == "" {
			words = c.URL
		}
		if link, ok := markup.SafeURL(c.URL); ok {
			h.buf = link.Append(h.buf, words)
		} else {
			h.text(words)
		}
		h.put("</li>")
	}
	h.put("</ul>")
}

// picture is the type of data by its own bytes, if a page may show it. What the
// session says about the type is not asked.
func picture(data []byte) (mime string, ok bool) {
	switch mime = http.DetectContentType(data); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime, true
	}
	return "", false
}

func (h content) image(b llm.Image) {
	mime, ok := picture(b.Data)
	switch {
	case len(b.Data) == 0 && b.URL != "":
		h.put(`<p class="line">Picture: `)
		h.address(b.URL)
		h.put("</p>")
	case !ok:
		h.put(`<p class="line">A picture that this page cannot show: `)
		h.text(b.MIME)
		h.put(", ", bytesWords(len(b.Data)), "</p>")
	case len(b.Data) > maxImage:
		h.put(`<p class="line">A picture too large for this page: `, bytesWords(len(b.Data)), "</p>")
	default:
		h.put(`<img alt="Picture, `, mime[len("image/"):], ", ", bytesWords(len(b.Data)), `"`)
		if c, _, err := image.DecodeConfig(bytes.NewReader(b.Data)); err == nil { // room before it is decoded
			h.put(` width="`, strconv.Itoa(c.Width), `" height="`, strconv.Itoa(c.Height), `"`)
		}
		h.put(` loading="lazy" decoding="async" src="data:`, mime, ";base64,")
		h.buf = base64.StdEncoding.AppendEncode(h.buf, b.Data)
		h.put(`">`)
	}
}

// address appends a link, or the words of an address that must not be one.
func (h content) address(s string) {
	if link, ok := markup.SafeURL(s); ok {
		h.buf = link.Append(h.buf, prose.Head(s, 200))
		return
	}
	h.text(prose.Head(s, 200))
}

func (h content) document(b llm.Document) {
	h.put(`<details class="fold"><summary>`)
	name := b.Name
	if name == "" {
		name = "Document"
	}
	h.text(visible(name))
	h.put(` <span class="soft">`)
	h.text(b.MIME)
	if n := len(b.Data); n > 0 {
		h.put(", ", bytesWords(n))
	}
	h.put("</span></summary>")
	if b.URL != "" {
		h.put("<p>")
		h.address(b.URL)
		h.put("</p>")
	}
	if b.Text != "" {
		h.output(b.Text)
	} else {
		h.put(`<p class="line">Its text is not in the session.</p>`)
	}
	h.put("</details>")
}

// card appends the tool call that is block k of its answer, with room inside for results.
func (h content) card(k int, c llm.ToolCall, open bool, results func()) {
	fields, ok := arguments(c)
	h.put(`<details class="card"`)
	if open {
		h.put(" open")
	}
	h.put("><summary><b>")
	h.text(visible(c.Name))
	h.put("</b> <code>")
	if ok {
		h.text(telling(fields))
	} else {
		h.text(visible(c.Arguments))
	}
	h.put("</code></summary>")
	switch {
	case c.Defect != "":
		h.put(`<p class="warn err">The call did not run: its arguments are `)
		h.text(string(c.Defect))
		h.put(".</p>")
		fallthrough
	case !ok:
		h.output(c.Arguments)
	default:
		h.fields(fields)
	}
	h.put(`<div class="slot" data-k="`, strconv.Itoa(k), `">`)
	results()
	h.put("</div></details>")
}

// fields appends the arguments by name. A pair of old and new text is shown as
// what is taken away and what is put in its place.
func (h content) fields(fields []field) {
	if len(fields) == 0 {
		return
	}
	h.put(`<dl class="args">`)
	for _, f := range fields {
		h.put("<dt>")
		h.text(visible(f.name))
		h.put("</dt><dd>")
		tag := ""
		switch f.name {
		case "oldText", "old_text", "old_string", "old", "search":
			tag = "del"
		case "newText", "new_text", "new_string", "new", "replace":
			tag = "ins"
		}
		switch {
		case tag != "" && f.isStr:
			h.put("<pre class=\"out\"><", tag, ">")
			h.limited(f.text)
			h.put("</", tag, "></pre>")
		case !f.isStr && len(f.text) > 80:
			h.output(pretty(json.RawMessage(f.text)))
		case strings.IndexByte(f.text, '\n') < 0 && len(f.text) < 200:
			h.put("<code>")
			h.text(f.text)
			h.put("</code>")
		default:
			h.output(f.text)
		}
		h.put("</dd>")
	}
	h.put("</dl>")
}

// output appends what a program printed.
func (h content) output(s string) {
	var term markup.Terminal
	h.fold(s, func(part string) { h.buf = term.Append(h.buf, part) })
}

// fold appends preformatted text, its head at once and the rest on demand.
func (h content) fold(s string, part func(string)) {
	s = strings.TrimRight(s, "\n")
	shown := prose.Head(s, maxText)
	lines := strings.Count(shown, "\n") + 1
	head := len(shown)
	if lines > foldLines || len(shown) > foldBytes {
		head = headOf(shown)
	}
	h.put(`<pre class="out">`)
	part(shown[:head])
	h.put("</pre>")
	if head < len(shown) {
		h.put(`<details class="more"><summary>show all `, prose.Count(lines, "line"), `</summary><pre class="out">`)
		part(shown[head:])
		h.put("</pre></details>")
	}
	h.left(len(s) - len(shown))
}

// headOf is the length of the first lines of s.
func headOf(s string) int {
	at := 0
	for range headLines {
		n := strings.IndexByte(s[at:], '\n')
		if n < 0 {
			at = len(s)
			break
		}
		at += n + 1
	}
	if at > headBytes {
		at = len(prose.Head(s, headBytes))
	}
	return at
}
