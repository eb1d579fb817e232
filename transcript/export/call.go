package export

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

// call appends the card of the tool call that is block k of its answer. results go
// inside; the script puts those of other branches into the same place.
func (h entries) call(k int, c llm.ToolCall, results []int) {
	h.card(k, c, slices.ContainsFunc(results, h.opens), func() {
		for _, r := range results {
			h.result(r, h.nodes[r].entry.Message)
		}
	})
}

// opens reports whether a result is worth seeing at once: a failure, a change, a picture.
func (h entries) opens(r int) bool {
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

// diffOf returns the diff that a tool reported besides its output.
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
func (h entries) result(i int, m *llm.Message) {
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
