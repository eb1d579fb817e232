package export

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// entries writes the entries of a tree.
type entries struct {
	*tree
	content
}

// entry appends entry i. results are the tool results to show inside its calls.
func (h entries) entry(i int, results map[int][]int) {
	e := h.nodes[i].entry
	kind := kindOf(e)
	switch {
	case e.Execution != nil:
		h.execution(i, e.Execution)
	case e.Type == transcript.TypeMessage && e.Message != nil:
		h.message(i, kind, results)
	case e.Type == transcript.TypeCustomMessage:
		h.custom(i, kind)
	case kind == kindDivider, kind == kindBranch:
		h.summary(i, kind)
	default:
		h.line(i, kind)
	}
}

// open begins an element for entry i with its id and label.
func (h entries) open(tag, class string, i int) {
	h.put("<", tag, ` class="`, class, `" id="e`, strconv.Itoa(i), `" tabindex="-1">`)
}

// by is the head of a message: who, how labeled, when.
func (h entries) by(i int, who string) {
	h.put("<header><b>")
	h.text(who)
	h.put("</b>")
	h.label(i)
	if at := timeOf(h.nodes[i].entry); !at.IsZero() {
		h.put(`<a href="#e`, strconv.Itoa(i), `">`)
		h.time(at, "Jan 2, 15:04")
		h.put("</a>")
	}
	h.put("</header>")
}

func (h entries) label(i int) {
	if l := h.nodes[i].label; l != "" {
		h.put(`<span class="label">`)
		h.text(visible(l))
		h.put("</span>")
	}
}

func (h entries) message(i int, kind byte, results map[int][]int) {
	m := h.nodes[i].entry.Message
	switch {
	case m.Role == llm.RoleUser:
		h.open("article", "msg user", i)
		h.by(i, "You")
		h.blocks(m.Content, true)
		h.put("</article>")
	case m.Role == llm.RoleAssistant:
		h.answer(i, m, results)
	case m.Role == llm.RoleToolResult:
		h.result(i, m)
	case kind == kindQuiet:
		h.open("article", "msg note quiet", i)
		h.by(i, "Program, hidden: "+m.CustomType)
		h.blocks(m.Content, false)
		h.put("</article>")
	default:
		who := "System"
		if m.Role == llm.RoleCustom {
			who = "Program: " + m.CustomType
		} else if m.Role != llm.RoleSystem {
			who = string(m.Role)
		}
		h.open("article", "msg note", i)
		h.by(i, who)
		h.blocks(m.Content, false)
		h.put("</article>")
	}
}

// execution is a command of the user's own.
func (h entries) execution(i int, x *transcript.Execution) {
	h.open("article", "msg note", i)
	h.by(i, executionWords(x))
	h.output(x.Command)
	if strings.TrimSpace(x.Output) != "" {
		h.output(x.Output)
	}
	if end := x.Ending(); end != "" {
		h.put(`<p class="warn">`, end, `</p>`)
	}
	h.put("</article>")
}

func (h entries) answer(i int, m *llm.Message, results map[int][]int) {
	h.open("article", "msg bot", i)
	h.by(i, "Assistant")
	for k, b := range llm.AllParagraphs(m.Content) {
		if c, ok := b.(llm.ToolCall); ok {
			h.call(k, c, results[k])
			continue
		}
		h.block(b, false)
	}
	switch m.StopReason {
	case llm.StopLength:
		h.put(`<p class="warn">The answer was cut at the token limit.</p>`)
	case llm.StopAborted:
		h.put(`<p class="warn">The answer was stopped.</p>`)
	case llm.StopError:
		h.put(`<p class="warn err" role="note">`)
		if m.Error != nil {
			h.limited(m.Error.Error())
		} else {
			h.put("The answer failed.")
		}
		h.put("</p>")
	}
	words := usageWords(m)
	if model := modelOf(m); model != "" {
		words = append([]string{model}, words...)
	}
	if len(words) > 0 {
		h.put(`<footer><span>`)
		for k, w := range words {
			if k > 0 {
				h.put("</span><span>")
			}
			h.text(w)
		}
		h.put("</span></footer>")
	}
	h.put("</article>")
}

func (h entries) custom(i int, kind byte) {
	e := h.nodes[i].entry
	class, who := "msg note", "Program: "
	if kind == kindQuiet {
		class, who = "msg note quiet", "Program, hidden: "
	}
	h.open("article", class, i)
	h.by(i, who+e.CustomType)
	blocks, err := e.Words()
	if err != nil {
		h.put(`<pre class="out">`)
		h.limited(string(e.Content))
		h.put("</pre>")
	}
	h.blocks(blocks, false)
	h.put("</article>")
}

// summary is a compaction, across the page, or what was left of a branch.
func (h entries) summary(i int, kind byte) {
	e := h.nodes[i].entry
	words := "Summary of a branch that was left"
	class := "cut branch"
	if kind == kindDivider {
		words, class = "Earlier messages were compacted", "cut"
		if e.TokensBefore > 0 {
			words += " from " + prose.Tokens(e.TokensBefore) + " tokens"
		}
	}
	h.open("section", class, i)
	h.put(`<details class="fold"><summary><span>`, words, "</span>")
	h.label(i)
	h.put("</summary>")
	h.markdown(e.Summary, false)
	h.put("</details></section>")
}

func (h entries) line(i int, kind byte) {
	e := h.nodes[i].entry
	class := "line"
	if kind == kindQuiet {
		class = "line quiet"
	}
	h.open("div", class, i)
	h.text(visible(changeWords(e)))
	h.label(i)
	data := e.Data
	if kind == kindQuiet && data == nil {
		data = rawOf(e)
	}
	if kind == kindQuiet && len(data) > 0 {
		h.put(`<details class="fold"><summary>record</summary><pre class="out">`)
		h.limited(string(data))
		h.put("</pre></details>")
	}
	h.put("</div>")
}

// rawOf is the record of an entry, as stored if that is known.
func rawOf(e *transcript.Entry) json.RawMessage {
	if raw := bytes.TrimSpace(e.Raw); json.Valid(raw) && bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil { // a RawMessage in it is not JSON
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
