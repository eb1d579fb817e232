package bedrock

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// decoder reads one ConverseStream answer.
type decoder struct {
	blocks  []streamBlock
	reason  string // stop reason, once messageStop came
	stopped bool
	delta   blockDelta // reused
	buf     []byte     // of the last string with escapes, reused
}

type blockKind uint8

const (
	unknownBlock blockKind = iota
	textKind
	thinkingKind
	callKind
	serverCall   // a tool call that runs at the provider
	serverResult // and its result
)

// streamBlock is a content block on its way.
type streamBlock struct {
	wireIndex int
	kind      blockKind
	index     int      // in the message, of the first three kinds
	redacted  []string // pieces of encrypted reasoning, base64
	server    start    // of server blocks
	input     []byte   // of a server call
	results   []block
}

// openItem is about what a block costs the decoder that has begun, in bytes.
const openItem = 1 << 10

var _ wire.Decoder = (*decoder)(nil)

// Decode reads one message of the stream. Usage comes in the metadata after
// messageStop, so the answer ends there; an answer without metadata ends with
// the connection.
func (d *decoder) Decode(f wire.Frame, b *llm.Builder) error {
	if f.Exception {
		return exceptionError(f)
	}
	switch string(f.Event) {
	case "contentBlockDelta":
		return d.decodeDelta(f.Data, b)
	case "messageStart":
		b.Start()
	case "contentBlockStart":
		var s blockStart
		if err := unmarshal(f, &s); err != nil {
			return err
		}
		d.startBlock(s, b)
	case "contentBlockStop":
		var s blockStop
		if err := unmarshal(f, &s); err != nil {
			return err
		}
		d.stopBlock(s.ContentBlockIndex, b)
	case "messageStop":
		var s messageStop
		if err := unmarshal(f, &s); err != nil {
			return err
		}
		d.reason, d.stopped = s.StopReason, true
	case "metadata":
		var m metadata
		if err := unmarshal(f, &m); err != nil {
			return err
		}
		*b.Usage() = m.Usage.usage()
		if d.stopped {
			d.finish(b)
		}
	}
	return nil
}

func unmarshal(f wire.Frame, v any) error {
	if err := json.Unmarshal(f.Data, v); err != nil {
		return fmt.Errorf("read %s event: %w", f.Event, err)
	}
	return nil
}

// End finishes an answer whose metadata did not come.
func (d *decoder) End(b *llm.Builder) {
	if d.stopped {
		d.finish(b)
	}
}

func (d *decoder) block(wireIndex int) *streamBlock {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if d.blocks[i].wireIndex == wireIndex {
			return &d.blocks[i]
		}
	}
	return nil
}

func (d *decoder) startBlock(s blockStart, b *llm.Builder) {
	n := streamBlock{wireIndex: s.ContentBlockIndex, server: s.Start}
	switch u := s.Start.ToolUse; {
	case u != nil && u.Type != "":
		n.kind = serverCall
	case u != nil:
		n.kind, n.index = callKind, b.OpenToolCall(u.ToolUseID, u.Name)
	case s.Start.ToolResult != nil:
		n.kind = serverResult
	default:
		return // text and reasoning begin with their first delta
	}
	d.stopBlock(s.ContentBlockIndex, b) // a number used again ends what had it
	b.Hold(openItem)
	d.blocks = append(d.blocks, n)
}

// open is the block of kind with that number. Text and reasoning have no start
// event, and some models change from one to the other within a block: the kind
// of the delta decides.
func (d *decoder) open(wireIndex int, kind blockKind, b *llm.Builder) *streamBlock {
	if s := d.block(wireIndex); s != nil {
		if s.kind == kind {
			return s
		}
		if s.kind == callKind {
			b.Spoil(s.index, llm.DefectCorrupt) // what follows of its input has no place
		}
		d.stopBlock(wireIndex, b)
	}
	n := streamBlock{wireIndex: wireIndex, kind: kind}
	if kind == textKind {
		n.index = b.OpenText()
	} else {
		n.index = b.OpenThinking()
	}
	d.blocks = append(d.blocks, n)
	return &d.blocks[len(d.blocks)-1]
}

func (d *decoder) decodeDelta(data []byte, b *llm.Builder) error {
	if p, ok := plainDelta(data, &d.buf); ok {
		switch s := string(p.text); p.kind {
		case callKind:
			d.addInput(p.index, s, b)
		default:
			b.Delta(d.open(p.index, p.kind, b).index, s)
		}
		return nil
	}
	d.delta = blockDelta{}
	if err := json.Unmarshal(data, &d.delta); err != nil {
		return fmt.Errorf("read contentBlockDelta event: %w", err)
	}
	i, x := d.delta.ContentBlockIndex, &d.delta.Delta
	switch {
	case x.Text != nil:
		b.Delta(d.open(i, textKind, b).index, *x.Text)
	case x.ToolUse != nil:
		d.addInput(i, x.ToolUse.Input, b)
	case x.ReasoningContent != nil:
		d.addReasoning(d.open(i, thinkingKind, b), x.ReasoningContent, b)
	case x.Citation != nil:
		return d.addCitation(d.open(i, textKind, b).index, x.Citation, b)
	case x.ToolResult != nil:
		if s := d.block(i); s != nil && s.kind == serverResult {
			if b.Hold(len(data)) {
				s.results = append(s.results, x.ToolResult...)
			}
		}
	}
	return nil
}

func (d *decoder) addInput(wireIndex int, input string, b *llm.Builder) {
	switch s := d.block(wireIndex); {
	case s == nil:
	case s.kind == callKind:
		b.Delta(s.index, input)
	case s.kind == serverCall && b.Hold(len(input)):
		s.input = append(s.input, input...)
	}
}

func (d *decoder) addReasoning(s *streamBlock, r *reasoningDelta, b *llm.Builder) {
	b.Delta(s.index, r.Text)
	b.AddSignature(s.index, r.Signature)
	if r.RedactedContent == "" {
		return
	}
	if len(s.redacted) == 0 {
		b.Redact(s.index, r.RedactedContent)
	}
	if b.Hold(len(r.RedactedContent)) {
		s.redacted = append(s.redacted, r.RedactedContent)
	}
}

// seal gives a block its encrypted reasoning where that came in several pieces.
func (s *streamBlock) seal(b *llm.Builder) {
	if len(s.redacted) > 1 {
		b.Redact(s.index, joinBase64(s.redacted))
	}
	s.redacted = nil
}

// joinBase64 joins pieces that were encoded one by one, so that their texts cannot
// simply stand behind each other.
func joinBase64(pieces []string) string {
	var data []byte
	for _, p := range pieces {
		var err error
		if data, err = base64.StdEncoding.AppendDecode(data, []byte(p)); err != nil {
			return strings.Join(pieces, "")
		}
	}
	return base64.StdEncoding.EncodeToString(data)
}

func (d *decoder) addCitation(index int, raw json.RawMessage, b *llm.Builder) error {
	var c citation
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("read citation: %w", err)
	}
	b.Cite(index, c.neutral(raw))
	return nil
}

func (c *citation) neutral(raw json.RawMessage) llm.Citation {
	n := llm.Citation{Title: c.Title, Raw: slices.Clone(raw)}
	if c.Location.Web != nil {
		n.URL = c.Location.Web.URL
	} else if strings.HasPrefix(c.Source, "http") {
		n.URL = c.Source
	}
	var words []string
	for _, s := range c.SourceContent {
		words = append(words, s.Text)
	}
	n.Text = strings.Join(words, " ")
	return n
}

func (d *decoder) stopBlock(wireIndex int, b *llm.Builder) {
	s := d.block(wireIndex)
	if s == nil {
		return
	}
	switch s.kind {
	case serverCall:
		u := *s.server.ToolUse
		if u.Input = json.RawMessage(emptyObject); json.Valid(s.input) {
			u.Input = s.input
		}
		d.opaque("toolUse", block{ToolUse: &u}, b)
	case serverResult:
		r := s.server.ToolResult
		d.opaque("toolResult", block{ToolResult: &toolResult{ToolUseID: r.ToolUseID, Status: r.Status, Type: r.Type, Content: s.results}}, b)
	default:
		s.seal(b)
		b.CloseBlock(s.index)
	}
	i := slices.IndexFunc(d.blocks, func(x streamBlock) bool { return x.wireIndex == wireIndex })
	d.blocks = slices.Delete(d.blocks, i, i+1)
}

const emptyObject = "{}"

func (d *decoder) opaque(kind string, content block, b *llm.Builder) {
	if raw, err := wire.Marshal(content); err == nil {
		b.Opaque(kind, raw)
	}
}

// finish ends the answer by the provider's stop reason.
func (d *decoder) finish(b *llm.Builder) {
	for i := range d.blocks {
		d.blocks[i].seal(b)
	}
	switch d.reason {
	case "tool_use":
		b.Done(llm.StopToolUse)
	case "max_tokens", "model_context_window_exceeded":
		b.Done(llm.StopLength)
	case "guardrail_intervened":
		b.Fail(&llm.Error{Kind: llm.ErrContentFilter, Code: d.reason, Message: "a guardrail of the account blocked the answer"})
	case "content_filtered", "refusal":
		b.Fail(&llm.Error{Kind: llm.ErrContentFilter, Code: d.reason, Message: "the answer was stopped by the content filter"})
	case "malformed_model_output", "malformed_tool_use":
		for i := range b.Len() {
			b.Spoil(i, llm.DefectCorrupt) // it is not said which call is the broken one
		}
		b.Fail(&llm.Error{Kind: llm.ErrOverload, Code: d.reason, Message: "the model wrote something that is not a valid answer; asking again may help"})
	default: // end_turn, stop_sequence and what may be added to them
		b.Done(llm.StopEnd)
	}
}

func (u *usage) usage() llm.Usage {
	n := llm.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheWriteInputTokens}
	for _, d := range u.CacheDetails {
		if d.TTL == "1h" {
			n.CacheWriteLong += d.InputTokens
		}
	}
	n.CacheWriteLong = min(n.CacheWriteLong, n.CacheWrite)
	return n
}
