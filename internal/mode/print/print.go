// Package print is the face for scripts and pipes: one prompt in, the answer on
// standard output, as text or as JSON lines.
//
// In text mode standard output gets the answer and nothing else: the text of the
// turn that ends the run. What the model says on its way, and the calls it makes,
// are steps; they are shown where a person looks on. In JSON mode each event of
// the session is a line (see [session.Event]).
package print

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
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

// Session is what is printed.
type Session interface {
	Prompt(ctx context.Context, m llm.Message) agent.Outcome
}

// Options of a printer.
type Options struct {
	Mode Mode
	Out  io.Writer
	// Live writes text as it comes, also that of turns that are not the last.
	Live bool
	// Steps shows the calls and what came of them; nil shows none. It may be Out.
	Steps io.Writer
	Color bool // of Steps
	// Terminal says that Out is shown on a terminal: what would steer it is left out of
	// text. Elsewhere an answer is written as the model wrote it.
	Terminal bool
	// Result prints the result that the model hands over by the session's schema,
	// a line of JSON, instead of its last words.
	Result bool
}

// Printer writes what a session does. Its Event is the session's Emit.
type Printer struct {
	o      Options
	buf    *bufio.Writer
	steps  *steps
	result string          // handed over
	held   strings.Builder // text of the turn that may be the last
	last   byte            // last byte written to Out
	err    error           // the first failure of Out; nothing is written after it
	stop   context.CancelFunc
}

// New makes a printer.
func New(o Options) *Printer {
	p := &Printer{o: o, buf: bufio.NewWriter(o.Out), last: '\n'}
	if o.Steps != nil && o.Mode == Text {
		p.steps = &steps{out: o.Steps, color: o.Color}
	}
	return p
}

// Run prompts the session, whose events go to p, and writes what comes. The
// outcome's error is returned unless writing failed, which ends the run.
func (p *Printer) Run(ctx context.Context, s Session, m llm.Message) (agent.Outcome, error) {
	ctx, p.stop = context.WithCancel(ctx)
	defer p.stop()
	outcome := s.Prompt(ctx, m)
	if p.o.Mode == Text {
		if p.o.Result {
			p.held.Reset()
			p.held.WriteString(p.result)
		}
		p.flushHeld()
		p.endLine()
	}
	if p.err != nil {
		return outcome, fmt.Errorf("write the answer: %w", p.err)
	}
	return outcome, outcome.Err
}

// Event writes an event.
func (p *Printer) Event(e session.Event) {
	if p.o.Mode == JSON {
		p.line(e)
		return
	}
	if e.Type == agent.ToolEnd && e.Call.Name == session.ResultTool && e.Result != nil && !e.Result.IsError {
		p.result = compact(e.Call.Arguments)
	}
	switch {
	case e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventTextDelta:
		if p.o.Live && !p.o.Result {
			p.text(e.Stream.Delta)
		} else {
			p.held.WriteString(e.Stream.Delta)
		}
	case e.Type == agent.MessageEnd && e.Message.Role == llm.RoleAssistant:
		p.messageEnd(e.Message)
	case e.Type == agent.ToolStart && p.steps != nil:
		p.endLine()
		p.steps.start(e.Event)
	case e.Type == agent.ToolEnd && p.steps != nil:
		p.steps.end(e.Event)
	case p.steps != nil:
		p.steps.policy(e)
	}
}

// messageEnd settles where the text of a message goes: to the steps if calls
// follow, else it stays held as the answer.
func (p *Printer) messageEnd(m *llm.Message) {
	if p.o.Live {
		p.endLine() // whatever follows, in this run or the next, is no part of it
	}
	if len(m.ToolCalls()) == 0 {
		return
	}
	if p.steps != nil {
		p.steps.say(p.held.String())
	}
	p.held.Reset()
}

// compact is JSON on one line.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw) // it has been validated, so this does not happen
	}
	return b.String()
}

func (p *Printer) flushHeld() {
	p.text(p.held.String())
	p.held.Reset()
}

func (p *Printer) text(s string) {
	if p.o.Terminal {
		s = shown(s)
	}
	if s == "" {
		return
	}
	p.write(s)
	p.last = s[len(s)-1]
	p.flush()
}

func (p *Printer) endLine() {
	if p.last != '\n' {
		p.text("\n")
	}
}

func (p *Printer) line(e session.Event) {
	if p.err != nil {
		return
	}
	enc := json.NewEncoder(p.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		p.fail(err)
	}
	p.flush()
}

func (p *Printer) write(s string) {
	if _, err := p.buf.WriteString(s); err != nil {
		p.fail(err)
	}
}

func (p *Printer) flush() {
	if err := p.buf.Flush(); err != nil {
		p.fail(err)
	}
}

// fail ends the run: when nobody reads any more, nobody wants to pay for more.
func (p *Printer) fail(err error) {
	if p.err == nil {
		p.err = err
		if p.stop != nil {
			p.stop()
		}
	}
}
