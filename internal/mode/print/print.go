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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/prose"
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

// Options of a printer.
type Options struct {
	Mode Mode
	Out  io.Writer
	// Live writes text as it comes, also that of turns that are not the last.
	Live bool
	// Steps shows the calls and what came of them; nil shows none. It may be Out.
	Steps io.Writer
	Color bool // of Steps
	// Warn is told once that a failed request is repeated, and why, where there are no Steps and
	// the wait is long enough to be noticed. nil: nobody is.
	Warn func(string)
	// Terminal says that Out is shown on a terminal: what would steer it is left out of
	// text. Elsewhere an answer is written as the model wrote it.
	Terminal bool
	// Result prints the result that the model hands over by the session's schema,
	// a line of JSON, instead of its last words.
	Result bool
	// Own does what burin's own commands ask for.
	Own slash.Own
	// Terminal where a person answers questions; nil: nobody does here.
	Asker *Terminal
}

// Printer writes what a session does. Its Event is the session's Emit.
type Printer struct {
	o      Options
	buf    *bufio.Writer
	steps  *steps
	result string          // handed over
	plan   string          // handed over in plan mode: the answer, unless the model goes on
	rested bool            // a plan was the last thing that came
	held   strings.Builder // text of the turn that may be the last
	from   int             // where the message that comes begins in held
	said   bool            // it has begun to say something
	apart  bool            // and has done something else since
	last   byte            // last byte written to Out
	err    error           // the first failure of Out; nothing is written after it
	stop   context.CancelFunc
	waited time.Duration // to repeat requests, until Warn was told
	head   sync.Once     // of JSON: the first line has been written

	mu    sync.Mutex
	desk  session.Questions             // where answers go
	asked map[string]context.CancelFunc // questions that are being asked
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
func (p *Printer) Run(ctx context.Context, h session.Handle, m llm.Message) (agent.Outcome, error) {
	p.mu.Lock()
	p.desk = h.Questions()
	p.mu.Unlock()
	return p.Print(ctx, func(ctx context.Context) agent.Outcome {
		if c, arg, ok := slash.Find(m, p.o.Own); ok {
			return p.command(ctx, h, c, arg)
		}
		return converse(ctx, h.Conversation(), m)
	})
}

// Join is Run for a session that others use, too, and whose events do not go to p: it
// writes what comes of the message and nothing else. While others are served first it
// waits. The end of ctx stops only what the message has led to.
func (p *Printer) Join(ctx context.Context, h session.Handle, m llm.Message) (agent.Outcome, error) {
	p.mu.Lock()
	p.desk = h.Questions()
	p.mu.Unlock()
	return p.Print(ctx, func(ctx context.Context) agent.Outcome {
		if c, arg, ok := slash.Find(m, p.o.Own); ok {
			return p.command(ctx, h, c, arg)
		}
		return p.share(ctx, h, m)
	})
}

func (p *Printer) share(ctx context.Context, h session.Handle, m llm.Message) agent.Outcome {
	failed := func(err error) agent.Outcome { return agent.Outcome{Reason: agent.ReasonError, Err: err} }
	feed := h.Events(session.Cursor{})
	r, err := h.Conversation().Submit(ctx, session.Input{Message: m, When: session.After})
	if err != nil {
		return failed(err)
	}
	for ours, over := r.Started, false; !over; {
		e, err := feed.Next(ctx)
		switch {
		case err != nil && ctx.Err() != nil && (ours || begun(context.WithoutCancel(ctx), h, r.ID)):
			if err := h.Conversation().Abort(context.WithoutCancel(ctx)); err != nil {
				return failed(err)
			}
			over = true
		case err != nil:
			return failed(err)
		case e.Type == agent.AgentStart && e.Turn == r.ID:
			ours = true
		case e.Type == agent.MessageEnd && e.Message.Role == llm.RoleUser && e.Turn != "":
			ours = e.Turn == r.ID
		case e.Type == session.AgentSettled:
			t, _ := e.Data.(*session.SettledTurn)
			over = t != nil && slices.Contains(t.IDs, r.ID)
		}
		if err == nil && (ours || over) {
			p.Event(e)
		}
	}
	out, err := h.Conversation().Wait(context.WithoutCancel(ctx), r.ID)
	if err != nil {
		return failed(err)
	}
	return out
}

// begun reports whether the work on a message has begun, although the event that says so has
// not been read.
func begun(ctx context.Context, h session.Handle, id string) bool {
	q, err := h.Queue().Waiting(ctx)
	is := func(w session.Waiting) bool { return w.ID == id }
	return err == nil && !slices.ContainsFunc(q.Steering, is) && !slices.ContainsFunc(q.FollowUps, is)
}

// Print writes the events that come while run does. The outcome's error is returned
// unless writing failed, which ends the run.
func (p *Printer) Print(ctx context.Context, run func(context.Context) agent.Outcome) (agent.Outcome, error) {
	ctx, p.stop = context.WithCancel(ctx)
	defer p.stop()
	outcome := run(ctx)
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

// converse submits a message and waits for the end of all that it leads to. The end of
// ctx stops that.
func converse(ctx context.Context, c session.Conversation, m llm.Message) agent.Outcome {
	failed := func(err error) agent.Outcome { return agent.Outcome{Reason: agent.ReasonError, Err: err} }
	if err := ctx.Err(); err != nil {
		return agent.Outcome{Reason: agent.ReasonAborted, Err: &llm.Error{Kind: llm.ErrAborted, Message: session.ErrUnsent.Error(), Err: session.ErrUnsent}}
	}
	r, err := c.Submit(ctx, session.Input{Message: m})
	if err != nil {
		return failed(err)
	}
	return outcome(ctx, c, r.ID)
}

// outcome waits for what comes of a message. The end of ctx stops it.
func outcome(ctx context.Context, c session.Conversation, id string) agent.Outcome {
	failed := func(err error) agent.Outcome { return agent.Outcome{Reason: agent.ReasonError, Err: err} }
	out, err := c.Wait(ctx, id)
	if err == nil {
		return out
	}
	if ctx.Err() == nil {
		return failed(err)
	}
	ctx = context.WithoutCancel(ctx)
	if err := c.Abort(ctx); err != nil {
		return failed(err)
	}
	if out, err = c.Wait(ctx, id); err != nil {
		return failed(err)
	}
	return out
}

// command runs one of burin's own commands. What it has to say is the answer; beside JSON it
// goes to the person.
func (p *Printer) command(ctx context.Context, h session.Handle, c slash.Command, arg string) agent.Outcome {
	text, err := c.Run(ctx, h, arg)
	switch {
	case err != nil && ctx.Err() != nil:
		return agent.Outcome{Reason: agent.ReasonAborted, Err: &llm.Error{Kind: llm.ErrAborted, Message: ctx.Err().Error(), Err: ctx.Err()}}
	case err != nil:
		return agent.Outcome{Reason: agent.ReasonError, Err: fmt.Errorf("/%s: %w", c.Name, err)}
	case c.Answers != nil && c.Answers(arg):
		return outcome(ctx, h.Conversation(), text)
	case p.o.Mode == Text && p.o.Live:
		p.text(text)
		p.endLine()
	case p.o.Mode == Text:
		p.held.WriteString(text)
	case p.o.Warn != nil:
		p.o.Warn(text)
	}
	return agent.Outcome{Reason: agent.ReasonDone}
}

// question asks the person, until the question is settled.
func (p *Printer) question(e session.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch d := e.Data.(type) {
	case *session.Question:
		if p.o.Asker == nil || p.desk == nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		if p.asked == nil {
			p.asked = map[string]context.CancelFunc{}
		}
		p.asked[d.ID] = cancel
		desk := p.desk
		go func() {
			r, err := p.o.Asker.Answer(ctx, d)
			if err != nil {
				r = session.Reply{Dismissed: true}
			}
			if ctx.Err() == nil {
				_ = desk.Answer(ctx, d.ID, r) // somebody else was quicker
			}
		}()
	case *session.Settled:
		if cancel := p.asked[d.ID]; cancel != nil {
			cancel()
			delete(p.asked, d.ID)
		}
	}
}

// noticed is from which wait on a person at a pipe is told of it.
const noticed = time.Second

// repeats tells once that burin is waiting to repeat a request.
func (p *Printer) repeats(e session.Event) {
	r, ok := e.Data.(*session.RetryInfo)
	if e.Type != session.RetryStart || !ok || p.o.Warn == nil || p.steps != nil || p.waited >= noticed {
		return
	}
	if p.waited += r.Delay; p.waited >= noticed {
		p.o.Warn(fmt.Sprintf("%s; trying again, up to %s", prose.Row(r.Error, 200), prose.Count(r.Max, "time")))
	}
}

// advised tells a remark of the advisor's, which the model answers.
func (p *Printer) advised(e session.Event) {
	if e.Type != session.AdvisorSpoke || e.Text == "" {
		return
	}
	switch { // the answer to it is a paragraph of its own
	case p.o.Result || !p.said:
	case p.o.Live:
		p.text("\n\n")
	default:
		p.held.WriteString("\n\n")
	}
	if p.o.Warn != nil {
		p.o.Warn("advisor: " + prose.Row(e.Text, 400))
	}
}

// Event writes an event.
func (p *Printer) Event(e session.Event) {
	p.question(e)
	if p.o.Mode == JSON {
		p.line(e)
		return
	}
	p.repeats(e)
	p.advised(e)
	if e.Type == agent.ToolEnd && e.Call.Name == session.ResultTool && e.Result != nil && !e.Result.IsError {
		p.result = compact(e.Call.Arguments)
	}
	if plan, ok := e.Data.(*session.Plan); ok && plan.State == session.PlanProposed {
		p.plan = plan.Text
	}
	switch {
	case e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventOpaque:
		p.apart = p.said
	case e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventTextDelta:
		p.said = true
		if p.apart { // what was said before a search is a paragraph of its own
			e.Stream.Delta, p.apart = "\n\n"+e.Stream.Delta, false
		}
		if p.o.Live && !p.o.Result {
			p.text(e.Stream.Delta)
		} else {
			p.held.WriteString(e.Stream.Delta)
		}
	case e.Type == agent.MessageStart && e.Message.Role == llm.RoleAssistant:
		if p.rested {
			p.held.Reset()
			p.rested = false
		}
		p.from, p.said, p.apart = p.held.Len(), false, false
	case e.Type == agent.MessageEnd && e.Message.Role == llm.RoleAssistant:
		p.complete(e.Message)
		p.messageEnd(e.Message)
	case e.Type == agent.ToolEnd && e.Call.Name == session.PlanTool && e.Result != nil && !e.Result.IsError:
		p.planned()
	case e.Type == agent.ToolStart && p.steps != nil:
		p.endLine()
		p.steps.start(e.Event)
	case e.Type == agent.ToolEnd && p.steps != nil:
		p.steps.end(e.Event)
	default:
		if d, ok := e.Data.(*session.Triggered); ok && d.Stopped {
			p.unsay()
		}
		if p.steps != nil {
			p.steps.policy(e)
		}
	}
}

// planned makes a plan the answer. A person who was asked about it has seen it.
func (p *Printer) planned() {
	switch {
	case !p.o.Live:
		p.held.Reset()
		p.held.WriteString(p.plan)
		p.rested = true
	case p.o.Asker == nil:
		p.text(p.plan)
		p.endLine()
	}
}

// unsay drops the text of an answer that was stopped: the model answers again.
func (p *Printer) unsay() {
	if before := p.held.String(); p.from < len(before) {
		p.held.Reset()
		p.held.WriteString(before[:p.from])
	}
}

// complete puts what a message says into the place of its pieces, of which a reader in
// another process may have missed some.
func (p *Printer) complete(m *llm.Message) {
	if p.o.Live || p.o.Result || p.from > p.held.Len() {
		return
	}
	if held, whole := p.held.String(), spoken(m); len(whole) > len(held)-p.from {
		p.held.Reset()
		p.held.WriteString(held[:p.from])
		p.held.WriteString(whole)
	}
}

// messageEnd settles where the text of a message goes: to the steps if calls
// follow, else it stays held as the answer.
func (p *Printer) messageEnd(m *llm.Message) {
	if sources := sourcesOf(m); sources != "" && !p.o.Result && len(m.ToolCalls()) == 0 {
		if p.o.Live {
			p.text(sources)
		} else {
			p.held.WriteString(sources)
		}
	}
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

// spoken is the text of a message. What was said before and after a search are paragraphs.
func spoken(m *llm.Message) string {
	var b strings.Builder
	apart := false
	for _, block := range llm.Paragraphs(m.Content) {
		switch block := block.(type) {
		case llm.Opaque:
			apart = b.Len() > 0
		case llm.Text:
			if apart && block.Text != "" {
				b.WriteString("\n\n")
				apart = false
			}
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// maxSource is how much of the title of a source is shown, in characters.
const maxSource = 200

// sourcesOf is what stands below an answer that cites: its sources, a line each.
func sourcesOf(m *llm.Message) string {
	var b strings.Builder
	for _, c := range m.Sources() {
		if b.Len() == 0 {
			b.WriteString("\n\nSources:\n")
		}
		b.WriteString("- ")
		if title := prose.Plain(c.Title, maxSource); title != "" {
			b.WriteString(title + ": ")
		}
		b.WriteString(prose.Inline(c.URL) + "\n")
	}
	return b.String()
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
		s = strings.Map(shown, s)
	}
	if s == "" {
		return
	}
	p.write(s)
	p.last = s[len(s)-1]
	p.flush()
}

// shown drops what a terminal would obey. Unlike [prose.Clean] it takes a text in pieces,
// as it is streamed, and leaves tabs to the terminal.
func shown(r rune) rune {
	if r != '\n' && r != '\t' && prose.Steers(r) {
		return -1
	}
	return r
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
	p.head.Do(func() { p.write(string(session.EventHead()) + "\n") })
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
