package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// bound is how many bytes of a part are shown: its beginning and its end.
type bound struct{ head, tail int }

// Bounds of the parts of a conversation, in bytes. Results are the bulk of it and
// say most in their first and last lines; words of people are what it is about.
var (
	boundUser     = bound{12_000, 4_000}
	boundProgram  = bound{3_000, 1_000} // words that the program or an extension said to the model
	boundAnswer   = bound{6_000, 2_000}
	boundThinking = bound{1_200, 800}
	boundResult   = bound{1_400, 600}
	boundSummary  = bound{24_000, 8_000} // of an earlier summary
	boundValue    = bound{350, 150}      // of an argument
	boundCall     = bound{1_600, 400}    // of a call
	boundCalls    = bound{16_000, 4_000} // of all calls of an answer
	boundContext  = bound{6_000, 2_000}  // of each of at most maxContext lines of context
)

const maxContext = 20

func (p bound) quote(b *strings.Builder, s string) {
	begin, end, gone := clip(s, p.head, p.tail)
	quote(b, begin)
	if gone > 0 {
		fmt.Fprintf(b, " [… %d bytes left out …] ", gone)
		quote(b, end)
	}
}

// conversation writes entries as quoted text of at most budget estimated tokens. The
// oldest parts give way, which is then said at the beginning.
func conversation(entries []transcript.Entry, short shortened, budget int) string {
	const margin = 64 // tokens for the wrapping and the note of what is missing
	var parts []string
	left := budget - margin
	missing := 0
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if kindOf(e) == aside {
			continue
		}
		text := entryText(e, short)
		if text == "" {
			continue
		}
		if left -= textTokens(text); left < 0 {
			missing = count(entries[:i+1])
			break
		}
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	var b strings.Builder
	b.WriteString("<conversation>\n")
	if missing > 0 {
		fmt.Fprintf(&b, "[%d earlier messages are left out: they did not fit]\n\n", missing)
	}
	b.WriteString(strings.Join(parts, "\n\n"))
	b.WriteString("\n</conversation>")
	return b.String()
}

// count is how many entries the model reads.
func count(entries []transcript.Entry) int {
	n := 0
	for i := range entries {
		if kindOf(&entries[i]) != aside {
			n++
		}
	}
	return n
}

// entryText is one entry as text.
func entryText(e *transcript.Entry, short shortened) string {
	var b strings.Builder
	blocks := short.blocks(e)
	switch k := kindOf(e); {
	case e.Type == transcript.TypeBranchSummary:
		part(&b, "Summary of another branch", boundSummary, e.Summary)
	case k == answer:
		answerText(&b, blocks)
	case k == result:
		tag := "Tool result"
		if e.Message.IsError {
			tag = "Tool error"
		}
		part(&b, tag, boundResult, PlainText(blocks))
	case e.Type == transcript.TypeMessage && e.Message.Role == llm.RoleUser:
		part(&b, "User", boundUser, PlainText(blocks))
	default:
		part(&b, "Program", boundProgram, PlainText(blocks))
	}
	return b.String()
}

func part(b *strings.Builder, tag string, p bound, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString("[" + tag + "]: ")
	p.quote(b, text)
}

// PlainText is the text of blocks; what is no text is named.
func PlainText(blocks []llm.Block) string {
	if len(blocks) == 1 {
		if t, ok := blocks[0].(llm.Text); ok {
			return t.Text
		}
	}
	var b strings.Builder
	for i, block := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch block := block.(type) {
		case llm.Text:
			b.WriteString(block.Text)
		case llm.Image:
			fmt.Fprintf(&b, "(an image, %s)", block.MIME)
		case llm.Document:
			fmt.Fprintf(&b, "(a document, %s)\n%s", block.Name, block.Text)
		}
	}
	return b.String()
}

func answerText(b *strings.Builder, blocks []llm.Block) {
	var thinking, text, calls strings.Builder
	for _, block := range blocks {
		switch block := block.(type) {
		case llm.Thinking:
			thinking.WriteString(block.Text)
		case llm.Text:
			text.WriteString(block.Text)
		case llm.ToolCall:
			if calls.Len() > 0 {
				calls.WriteString("; ")
			}
			calls.WriteString(callText(block))
		}
	}
	part(b, "Assistant thinking", boundThinking, thinking.String())
	part(b, "Assistant", boundAnswer, text.String())
	part(b, "Assistant tool calls", boundCalls, calls.String())
}

// callText writes a call as name(key=json, …). Arguments that are no object are shown
// as they are.
func callText(c llm.ToolCall) string {
	var b strings.Builder
	b.WriteString(c.Name + "(")
	object, _, err := c.Object()
	if err != nil || !writeArgs(&b, object) {
		b.Reset()
		b.WriteString(c.Name + "(" + clipped(c.Arguments, boundCall))
	}
	return clipped(b.String(), boundCall) + ")"
}

// writeArgs writes the members of an object in their order.
func writeArgs(b *strings.Builder, object json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for first := true; dec.More(); first = false {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return false
		}
		if !first {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s=%s", key, clipped(string(value), boundValue))
	}
	return true
}

func clipped(s string, p bound) string {
	begin, end, gone := clip(s, p.head, p.tail)
	if gone == 0 {
		return s
	}
	return fmt.Sprintf("%s[… %d bytes …]%s", begin, gone, end)
}
