package snap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// SerializeOptions bound what of a conversation is printed. Sizes are in printed
// characters; 0 is the default, less is without a limit. What is longer keeps its
// beginning and its end, and says how much is missing.
type SerializeOptions struct {
	ToolResultMax int     // of a result; 2,000
	ToolArgMax    int     // of the value of an argument; 500
	ToolCallMax   int     // of a call; 2,000
	HeadRatio     float64 // how much of what stays is the beginning, up to 1; 0.6
	PlainResults  bool    // results are as black as the rest
}

func (o SerializeOptions) filled() SerializeOptions {
	for p, n := range map[*int]int{&o.ToolResultMax: 2000, &o.ToolArgMax: 500, &o.ToolCallMax: 2000} {
		if *p == 0 {
			*p = n
		}
	}
	if !(o.HeadRatio > 0 && o.HeadRatio <= 1) {
		o.HeadRatio = 0.6
	}
	return o
}

// Serialize writes entries as the text that [Render] prints: a part for each thing
// said, behind the role of who said it. It is one line: █ stands for line ends, and
// U+000E and U+000F begin and end what is printed in grey. None of these comes from
// what was said, and a "[" directly behind █ is always the program's. Entries that no
// model reads are left out; of messages that were pruned the short form is written.
func Serialize(entries []transcript.Entry, o SerializeOptions) string {
	w := newWriter(o)
	w.note(entries)
	w.entries(entries)
	return textOf(w.dst)
}

// writer collects the parts of a conversation as codes.
type writer struct {
	dst   []byte
	o     SerializeOptions
	short map[string][]transcript.Short
	clean cleaner
	buf   []byte // one cleaned text
}

func newWriter(o SerializeOptions) *writer {
	return &writer{o: o.filled(), short: map[string][]transcript.Short{}}
}

// note takes up the prunes among entries.
func (w *writer) note(entries []transcript.Entry) {
	for i := range entries {
		e := &entries[i]
		var p transcript.Prune
		if e.Type != transcript.TypeCustom || e.CustomType != transcript.CustomPrune || json.Unmarshal(e.Data, &p) != nil {
			continue
		}
		for _, s := range p.Entries {
			w.short[s.EntryID] = append(w.short[s.EntryID], s)
		}
	}
}

func (w *writer) entries(entries []transcript.Entry) {
	for i := range entries {
		w.entry(&entries[i])
	}
}

func (w *writer) entry(e *transcript.Entry) {
	switch e.Type {
	case transcript.TypeBranchSummary:
		w.part("Summary of another branch", e.Summary)
	case transcript.TypeCustomMessage:
		if words, err := e.Words(); err == nil { // what cannot be read is not sent either
			w.part("Program", compact.PlainText(w.shortened(e.ID, words)))
		}
	case transcript.TypeMessage:
		if e.Message != nil && e.Message.CustomType != transcript.CustomExcluded {
			w.message(e.Message, w.shortened(e.ID, e.Message.Content))
		}
	}
}

func (w *writer) message(m *llm.Message, blocks []llm.Block) {
	switch m.Role {
	case llm.RoleAssistant:
		w.answer(blocks)
	case llm.RoleToolResult:
		tag := "Tool result"
		if m.IsError {
			tag = "Tool error"
		}
		w.result(tag, compact.PlainText(blocks))
	case llm.RoleUser:
		w.part("User", compact.PlainText(blocks))
	default:
		w.part("Program", compact.PlainText(blocks))
	}
}

// shortened returns blocks as prunes left them; the last word on a block wins.
func (w *writer) shortened(id string, blocks []llm.Block) []llm.Block {
	for _, s := range w.short[id] {
		switch {
		case s.Block == nil:
			blocks = []llm.Block{llm.Text{Text: s.Text}}
		case *s.Block >= 0 && *s.Block < len(blocks):
			blocks = slices.Clone(blocks)
			blocks[*s.Block] = llm.Text{Text: s.Text}
		}
	}
	return blocks
}

// answer writes what a model thought, said and called, in this order.
func (w *writer) answer(blocks []llm.Block) {
	var thinking, text bytes.Buffer
	var calls []byte
	for _, block := range blocks {
		switch block := block.(type) {
		case llm.Thinking:
			thinking.WriteString(block.Text)
		case llm.Text:
			text.WriteString(block.Text)
		case llm.ToolCall:
			if len(calls) > 0 {
				calls = append(calls, "; "...)
			}
			calls = w.call(calls, block)
		}
	}
	w.part("Assistant thinking", thinking.String())
	w.part("Assistant", text.String())
	if len(calls) > 0 {
		w.tag("Assistant tool calls")
		w.dst = append(w.dst, calls...)
	}
}

// call writes a call as name(key=json, …). Arguments that are no object are written as
// they are.
func (w *writer) call(dst []byte, c llm.ToolCall) []byte {
	all := w.clean.append(nil, c.Name, content)
	all = append(all, '(')
	object, _, err := c.Object()
	n := len(all)
	if err == nil {
		all, err = w.args(all, object)
	}
	if err != nil {
		all = w.clean.append(all[:n], c.Arguments, content)
	}
	dst, _ = elide(dst, all, w.o.ToolCallMax, w.o.HeadRatio)
	return append(dst, ')')
}

// args writes the members of an object in their order.
func (w *writer) args(dst []byte, object json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return dst, err
	}
	for first := true; dec.More(); first = false {
		key, err := dec.Token()
		if err != nil {
			return dst, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return dst, err
		}
		if !first {
			dst = append(dst, ", "...)
		}
		dst = w.clean.append(dst, fmt.Sprint(key), content)
		dst = append(dst, '=')
		w.buf = w.clean.append(w.buf[:0], string(value), content)
		dst, _ = elide(dst, w.buf, w.o.ToolArgMax, w.o.HeadRatio)
	}
	return dst, nil
}

// tag begins a part.
func (w *writer) tag(name string) {
	if len(w.dst) > 0 {
		w.dst = append(w.dst, codeBreak)
	}
	w.dst = append(w.dst, '[')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, "]: "...)
}

func (w *writer) part(tag, text string) {
	if w.buf = w.clean.append(w.buf[:0], text, content); len(w.buf) > 0 {
		w.tag(tag)
		w.dst = append(w.dst, w.buf...)
	}
}

// result is a part in grey, and bounded.
func (w *writer) result(tag, text string) {
	if w.buf = w.clean.append(w.buf[:0], text, content); len(w.buf) == 0 {
		return
	}
	w.tag(tag)
	if !w.o.PlainResults {
		w.dst = append(w.dst, codeDimOn)
	}
	w.dst, _ = elide(w.dst, w.buf, w.o.ToolResultMax, w.o.HeadRatio)
	if !w.o.PlainResults {
		w.dst = append(w.dst, codeDimOff)
	}
}

func elided(n int) string { return fmt.Sprintf("[... %d chars elided ...]", n) }
