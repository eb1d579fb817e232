// Package print is the face for scripts and pipes: one prompt in, the answer on
// standard output, as text or as JSON lines.
//
// In text mode only the answer's text is written, as it arrives, and a final
// line end. In JSON mode each event is a line: agent_start, message_start and
// message_end with a whole message (the user's, then the model's),
// message_update with the stream's event in assistantMessageEvent, and at the
// end agent_end with all new messages. Updates carry the delta alone, not the
// message so far, so that the output does not grow with the square of the
// answer.
package print

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/burin-dev/burin/llm"
)

// Mode is the shape of the output.
type Mode string

const (
	Text Mode = "text"
	JSON Mode = "json"
)

// ParseMode reads a mode by name.
func ParseMode(s string) (Mode, error) {
	if m := Mode(s); m == Text || m == JSON {
		return m, nil
	}
	return "", fmt.Errorf("unknown mode %q (want text or json)", s)
}

// maxPauses is how often a turn that the vendor paused is continued. A vendor
// that pauses more often than this is not getting anywhere: the answer so far
// is then final.
const maxPauses = 16

// Run sends req and writes the answer to out. The messages it returns are the
// model's, also when err is not nil; what had arrived has then been written.
// The price of the request's model is recorded in each message's usage.
func Run(ctx context.Context, client llm.Client, req *llm.Request, mode Mode, out io.Writer) ([]llm.Message, error) {
	w := newWriter(mode, out)
	w.begin(req)
	var said []llm.Message
	turn := *req
	for pauses := 0; ; pauses++ {
		m, err := w.answer(client.Stream(ctx, &turn))
		if m.Usage != nil {
			cost := req.Model.Price.Cost(*m.Usage)
			m.Usage.Cost = &cost
		}
		said = append(said, *m)
		w.messageEnd(m)
		if err != nil || m.StopReason != llm.StopPause || pauses == maxPauses {
			w.end(said)
			if err == nil {
				err = w.err
			}
			return said, err
		}
		turn.Messages = append(turn.Messages[:len(turn.Messages):len(turn.Messages)], *m)
	}
}

type writer struct {
	mode Mode
	buf  *bufio.Writer
	err  error // the first failure of out; nothing is written after it
	last byte  // last byte of text written
}

func newWriter(mode Mode, out io.Writer) *writer {
	return &writer{mode: mode, buf: bufio.NewWriter(out), last: '\n'}
}

// answer reads one answer to its end, writing as it comes.
func (w *writer) answer(s llm.Stream) (*llm.Message, error) {
	for ev := range llm.Events(s) {
		switch {
		case ev.Type == llm.EventDone:
			return ev.Message, nil
		case ev.Type == llm.EventError:
			return ev.Message, ev.Message.Error
		case w.mode == JSON:
			w.update(ev)
		case ev.Type == llm.EventTextDelta:
			w.text(ev.Delta)
		}
		if w.err != nil {
			break
		}
	}
	return &llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopAborted}, fmt.Errorf("write the answer: %w", w.err)
}

func (w *writer) text(s string) {
	w.write(s)
	w.last = s[len(s)-1]
	w.flush()
}

type line struct {
	Type     string        `json:"type"`
	Message  *llm.Message  `json:"message,omitempty"`
	Event    *update       `json:"assistantMessageEvent,omitempty"`
	Messages []llm.Message `json:"messages,omitempty"`
}

type update struct {
	Type         llm.EventType `json:"type"`
	ContentIndex int           `json:"contentIndex"`
	Delta        string        `json:"delta,omitempty"`
	Content      string        `json:"content,omitempty"`  // of text_end and thinking_end
	ToolCall     *toolCall     `json:"toolCall,omitempty"` // of toolcall_start and toolcall_end
}

type toolCall struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments,omitempty"` // as the model wrote them
	Defect    llm.Defect `json:"defect,omitempty"`
}

func (w *writer) begin(req *llm.Request) {
	if w.mode != JSON {
		return
	}
	w.line(line{Type: "agent_start"})
	if n := len(req.Messages); n > 0 {
		w.line(line{Type: "message_start", Message: &req.Messages[n-1]})
		w.line(line{Type: "message_end", Message: &req.Messages[n-1]})
	}
}

func (w *writer) update(ev llm.Event) {
	if ev.Type == llm.EventStart {
		w.line(line{Type: "message_start", Message: ev.Message})
		return
	}
	u := update{Type: ev.Type, ContentIndex: ev.Index, Delta: ev.Delta}
	switch b := ev.Block.(type) {
	case llm.Text:
		u.Content = b.Text
	case llm.Thinking:
		u.Content = b.Text
	case llm.ToolCall:
		u.ToolCall = &toolCall{ID: b.ID, Name: b.Name, Arguments: b.Arguments, Defect: b.Defect}
	}
	w.line(line{Type: "message_update", Event: &u})
}

func (w *writer) messageEnd(m *llm.Message) {
	if w.mode == JSON {
		w.line(line{Type: "message_end", Message: m})
	}
}

// end writes what closes the output.
func (w *writer) end(said []llm.Message) {
	if w.mode == JSON {
		w.line(line{Type: "agent_end", Messages: said})
		return
	}
	if w.last != '\n' {
		w.write("\n")
	}
	w.flush()
}

func (w *writer) line(l line) {
	enc := json.NewEncoder(w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil && w.err == nil {
		w.err = err
	}
	w.flush()
}

func (w *writer) write(s string) {
	if _, err := w.buf.WriteString(s); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *writer) flush() {
	if err := w.buf.Flush(); err != nil && w.err == nil {
		w.err = err
	}
}
