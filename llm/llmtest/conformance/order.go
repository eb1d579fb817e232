package conformance

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// CheckEvents fails the test if events, all of one stream, break what a stream
// promises: start first, triplets that open and close, deltas that are whole
// characters and add up to their block, and exactly one terminal event, the
// last, that carries the whole message. A stream that failed before anything
// came holds only its error.
func CheckEvents(t testing.TB, events []llm.Event) {
	t.Helper()
	if err := checkOrder(events); err != nil {
		t.Errorf("order of events: %v\n%s", err, list(events))
	}
}

func checkOrder(events []llm.Event) error {
	if len(events) == 0 {
		return fmt.Errorf("there are none")
	}
	c := orderChecker{}
	for i, ev := range events {
		if err := c.take(ev, i == 0, i == len(events)-1); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, ev.Type, err)
		}
	}
	return nil
}

// orderChecker follows the blocks of one stream.
type orderChecker struct {
	blocks []orderBlock
}

type orderBlock struct {
	kind   string // text, thinking, toolcall or opaque
	text   []byte
	closed bool
	whole  llm.Block
}

func (c *orderChecker) take(ev llm.Event, first, last bool) error {
	if ev.Type.Terminal() != last {
		return fmt.Errorf("the terminal event is the last one and only that")
	}
	switch ev.Type {
	case llm.EventStart:
		if !first {
			return fmt.Errorf("a start in the middle")
		}
		if ev.Message == nil || ev.Message.Role != llm.RoleAssistant {
			return fmt.Errorf("start does not say who answers")
		}
		return nil
	case llm.EventError:
		return c.failed(ev)
	}
	if first {
		return fmt.Errorf("the first event is not start")
	}
	switch ev.Type {
	case llm.EventDone:
		return c.done(ev)
	case llm.EventOpaque:
		if _, ok := ev.Block.(llm.Opaque); !ok {
			return fmt.Errorf("no opaque block")
		}
		return c.open(ev, "opaque", true)
	}
	kind, step, _ := strings.Cut(string(ev.Type), "_")
	if step == "start" {
		return c.open(ev, kind, false)
	}
	if ev.Index < 0 || ev.Index >= len(c.blocks) {
		return fmt.Errorf("block %d has not begun", ev.Index)
	}
	b := &c.blocks[ev.Index]
	if b.closed {
		return fmt.Errorf("block %d has ended", ev.Index)
	}
	if b.kind != kind {
		return fmt.Errorf("block %d is %s", ev.Index, b.kind)
	}
	if step == "delta" {
		if ev.Delta == "" || !utf8.ValidString(ev.Delta) {
			return fmt.Errorf("delta %q is empty or not whole characters", ev.Delta)
		}
		b.text = append(b.text, ev.Delta...)
		return nil
	}
	b.closed, b.whole = true, ev.Block
	return b.matches(ev.Block)
}

func (c *orderChecker) open(ev llm.Event, kind string, whole bool) error {
	if ev.Index != len(c.blocks) {
		return fmt.Errorf("begins block %d, expected %d", ev.Index, len(c.blocks))
	}
	if kindOf(ev.Block) != kind {
		return fmt.Errorf("carries a block of %s", kindOf(ev.Block))
	}
	c.blocks = append(c.blocks, orderBlock{kind: kind, closed: whole, whole: ev.Block})
	return nil
}

// matches reports whether a whole block holds what its deltas told.
func (b *orderBlock) matches(whole llm.Block) error {
	if kindOf(whole) != b.kind {
		return fmt.Errorf("a block of %s ends as %s", b.kind, kindOf(whole))
	}
	text := string(b.text)
	switch w := whole.(type) {
	case llm.Text:
		if w.Text != text {
			return fmt.Errorf("the deltas say %q, the block %q", clip(text), clip(w.Text))
		}
	case llm.Thinking:
		if w.Text != text && !w.Redacted {
			return fmt.Errorf("the deltas say %q, the block %q", clip(text), clip(w.Text))
		}
	case llm.ToolCall:
		// A provider may restate the arguments at the end, and the final text wins.
		if text == "" && w.Arguments != "" {
			return fmt.Errorf("arguments %q without a delta", clip(w.Arguments))
		}
	}
	return nil
}

func (c *orderChecker) done(ev llm.Event) error {
	if err := c.whole(ev.Message); err != nil {
		return err
	}
	if ev.Message.Error != nil {
		return fmt.Errorf("done with an error: %w", ev.Message.Error)
	}
	switch ev.Message.StopReason {
	case llm.StopEnd, llm.StopLength, llm.StopToolUse, llm.StopPause:
	default:
		return fmt.Errorf("done with stop reason %q", ev.Message.StopReason)
	}
	for i := range c.blocks {
		if !c.blocks[i].closed {
			return fmt.Errorf("block %d has not ended", i)
		}
	}
	return nil
}

func (c *orderChecker) failed(ev llm.Event) error {
	if err := c.whole(ev.Message); err != nil {
		return err
	}
	m := ev.Message
	if m.Error == nil || m.Error.Kind == "" {
		return fmt.Errorf("error without an error")
	}
	want := llm.StopError
	if m.Error.Kind == llm.ErrAborted {
		want = llm.StopAborted
	}
	if m.StopReason != want {
		return fmt.Errorf("stop reason %q with an error of kind %s", m.StopReason, m.Error.Kind)
	}
	for i, block := range m.Content {
		call, ok := block.(llm.ToolCall)
		if ok && !c.blocks[i].closed && call.Defect == "" {
			return fmt.Errorf("call %d was cut and has no defect", i)
		}
	}
	return nil
}

// whole reports whether the message of the terminal event holds all that was told.
func (c *orderChecker) whole(m *llm.Message) error {
	if m == nil {
		return fmt.Errorf("no message")
	}
	if m.Role != llm.RoleAssistant {
		return fmt.Errorf("the message's role is %q", m.Role)
	}
	if len(m.Content) != len(c.blocks) {
		return fmt.Errorf("the message has %d blocks, %d were told", len(m.Content), len(c.blocks))
	}
	for i := range c.blocks {
		if err := c.blocks[i].matches(m.Content[i]); err != nil {
			return fmt.Errorf("block %d of the message: %w", i, err)
		}
	}
	return nil
}

func kindOf(b llm.Block) string {
	switch b.(type) {
	case llm.Text:
		return "text"
	case llm.Thinking:
		return "thinking"
	case llm.ToolCall:
		return "toolcall"
	case llm.Opaque:
		return "opaque"
	case nil:
		return "nothing"
	}
	return fmt.Sprintf("%T", b)
}

// list shows events, one a line.
func list(events []llm.Event) string {
	var out strings.Builder
	for i, ev := range events {
		if i == 60 {
			fmt.Fprintf(&out, "  … %d more\n", len(events)-i)
			break
		}
		fmt.Fprintf(&out, "  %3d %-15s %d %q\n", i, ev.Type, ev.Index, clip(ev.Delta))
	}
	return out.String()
}

// clip makes a long text fit a message.
func clip(s string) string {
	if len(s) > 120 {
		return s[:60] + "…" + s[len(s)-50:]
	}
	return s
}
