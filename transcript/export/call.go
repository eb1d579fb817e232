package export

import (
	"encoding/json"
	"strconv"
	"strings"

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

// call appends the card of the tool call that is block k of its answer. results go
// inside; the script puts those of other branches into the same place.
func (h *page) call(k int, c llm.ToolCall, results []int) {
	fields, ok := arguments(c)
	h.put(`<details class="card"`)
	for _, r := range results {
		if h.opens(r) {
			h.put(" open")
			break
		}
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
	for _, r := range results {
		h.result(r, h.nodes[r].entry.Message)
	}
	h.put("</div></details>")
}

// opens says whether a result is worth seeing at once: a failure, a change, a picture.
func (h *page) opens(r int) bool {
	m := h.nodes[r].entry.Message
	if m.IsError || diffOf(m) != "" {
		return true
	}
	for _, b := range m.Content {
		if _, ok := b.(llm.Image); ok {
			return true
		}
	}
	return false
}

// fields appends the arguments by name. A pair of old and new text is shown as
// what is taken away and what is put in its place.
func (h *page) fields(fields []field) {
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

// diffOf is the diff that a tool reported beside its answer.
func diffOf(m *llm.Message) string {
	if len(m.Details) == 0 {
		return ""
	}
	var d struct {
		Diff string `json:"diff"`
	}
	if json.Unmarshal(m.Details, &d) != nil { // details are any JSON
		return ""
	}
	return d.Diff
}

// result appends a tool result. It stands alone if its call is not known.
func (h *page) result(i int, m *llm.Message) {
	class := "res"
	if m.IsError {
		class += " err"
	}
	if h.nodes[i].caller < 0 {
		class += " alone"
	}
	diff := diffOf(m)
	if diff != "" {
		class += " diff"
	}
	if h.opens(i) {
		class += " show"
	}
	h.open("div", class, i)
	h.put("<p><b>")
	switch {
	case m.IsError:
		h.put("Error")
	case h.nodes[i].caller < 0:
		h.put("Result of ")
		h.text(visible(m.ToolName))
	default:
		h.put("Result")
	}
	h.put("</b>")
	h.label(i)
	h.put("</p>")
	if diff != "" {
		h.fold(diff, func(part string) { h.buf = markup.AppendDiff(h.buf, part) })
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			switch {
			case strings.TrimSpace(b.Text) == "":
			case diff != "":
				h.put(`<details class="fold"><summary>What the model was told</summary>`)
				h.output(b.Text)
				h.put("</details>")
			case markup.LooksLikeDiff(b.Text):
				h.fold(b.Text, func(part string) { h.buf = markup.AppendDiff(h.buf, part) })
			default:
				h.output(b.Text)
			}
		default:
			h.block(b, false)
		}
	}
	h.put("</div>")
}

// output appends what a program printed.
func (h *page) output(s string) {
	var term markup.Terminal
	h.fold(s, func(part string) { h.buf = term.Append(h.buf, part) })
}

// fold appends preformatted text, its head at once and the rest on demand.
func (h *page) fold(s string, part func(string)) {
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
