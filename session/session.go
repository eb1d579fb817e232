// Package session is a live conversation: the loop of package agent, the file
// that keeps it, and the policies around it. Every face holds a [Session] and
// sees the same events.
package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Options of a session.
type Options struct {
	Client  llm.Client
	Request llm.Request // what every request has beside messages and tools
	Tools   []*tool.Tool
	Preface []llm.Message // put in front of the first prompt

	File *transcript.File // keeps the conversation; nil keeps nothing. Closed with the session.
	Mode string           // of permission, for the record

	// Authorize decides whether a call may run. Its error is what the model reads.
	Authorize func(ctx context.Context, t *tool.Tool, c tool.Call) error
	// BeginTurn opens a turn of the undo journal for a prompt.
	BeginTurn func(id, label string) error

	MaxTurns int     // requests per prompt; 0 is no limit
	MaxCost  llm.USD // of the whole session; 0 is no limit
	Emit     func(agent.Event)
	Warn     func(string) // what a person should know; nil drops it
	Close    func() error // ends what the tools stand on
}

// Session is a live conversation. Prompt is called from one goroutine at a time,
// everything else from any.
type Session struct {
	o     Options
	agent *agent.Agent

	mu      sync.Mutex
	spent   llm.USD
	unknown bool // some request had no known price
	usage   llm.Usage
	started bool
	turn    int
}

// ResultTool is the name of the tool with which the model hands over a result of
// a schema. A session that has it does not end without it.
const ResultTool = "result"

// ErrNoResult is that the model did not hand over a result of the schema.
var ErrNoResult = errors.New("the model gave no result of the schema")

// ErrBudget is that the session has spent what it may.
var ErrBudget = errors.New("the session has reached its cost limit")

// New starts a session. A limit of cost needs a model whose price is known.
func New(o Options) (*Session, error) {
	if o.MaxCost > 0 && !o.Request.Model.Price.Known() {
		return nil, fmt.Errorf("the price of %s is not known, so a cost limit cannot be kept: set its price in models.yml", o.Request.Model.Ref())
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &Session{o: o}
	s.agent = agent.New(agent.Options{
		Client: o.Client, Request: o.Request, Tools: o.Tools, MaxTurns: o.MaxTurns,
		Emit: s.event, BeforeRequest: s.beforeRequest, BeforeTool: o.Authorize,
	})
	return s, nil
}

// Prompt sends a person's message and runs until the model is done.
func (s *Session) Prompt(ctx context.Context, m llm.Message) agent.Outcome {
	s.turn++
	if s.o.BeginTurn != nil {
		if err := s.o.BeginTurn(fmt.Sprint(s.turn), label(m.Text())); err != nil {
			s.o.Warn("changes of this turn cannot be undone: " + err.Error())
		}
	}
	messages := []llm.Message{m}
	if !s.started {
		s.started = true
		s.record(func(f *transcript.File) error { return f.AppendModel(s.o.Request.Model) })
		if s.o.Mode != "" {
			s.record(func(f *transcript.File) error { return f.AppendMode(s.o.Mode) })
		}
		messages = append(s.o.Preface[:len(s.o.Preface):len(s.o.Preface)], m)
	}
	out := s.agent.Run(ctx, messages...)
	if slices.ContainsFunc(s.o.Tools, func(t *tool.Tool) bool { return t.Name == ResultTool }) {
		return s.insist(ctx, out)
	}
	return out
}

// insist asks for the result, twice, if the model ended without it.
func (s *Session) insist(ctx context.Context, out agent.Outcome) agent.Outcome {
	for range 2 {
		if out.Reason != agent.ReasonDone || handedOver(out.Messages) {
			return out
		}
		s.agent.Update(func(o *agent.Options) {
			o.Request.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: ResultTool}
		})
		before := out
		out = s.agent.Run(ctx, llm.Message{
			Role: llm.RoleCustom, CustomType: "result", Time: time.Now(),
			Content: []llm.Block{llm.Text{Text: "Hand over the result now, with the tool " + ResultTool + "."}},
		})
		out.Messages = append(before.Messages[:len(before.Messages):len(before.Messages)], out.Messages...)
		out.Turns += before.Turns
		out.Usage = out.Usage.Add(before.Usage)
		s.agent.Update(func(o *agent.Options) { o.Request.ToolChoice = s.o.Request.ToolChoice })
	}
	if out.Reason == agent.ReasonDone && !handedOver(out.Messages) {
		out.Reason, out.Err = agent.ReasonError, ErrNoResult
	}
	return out
}

func handedOver(messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return m.Role == llm.RoleToolResult && m.ToolName == ResultTool && !m.IsError
	})
}

// label is the first line of a prompt, for lists.
func label(text string) string {
	for i, r := range text {
		if r == '\n' || i > 100 {
			return text[:i]
		}
	}
	return text
}

// Steer tells the model something while it works.
func (s *Session) Steer(m llm.Message) { s.agent.Steer(m) }

// FollowUp queues a message for when the model is done.
func (s *Session) FollowUp(m llm.Message) { s.agent.FollowUp(m) }

// Messages is the conversation, for reading.
func (s *Session) Messages() []llm.Message { return s.agent.Messages() }

// Spent is what the session has cost so far; known is false if a request had no
// known price, and the sum then lacks it.
func (s *Session) Spent() (cost llm.USD, usage llm.Usage, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent, s.usage, !s.unknown
}

// Path is where the conversation is kept; ok is false if there is no file (yet).
func (s *Session) Path() (path string, ok bool) {
	if s.o.File == nil || !s.o.File.Written() {
		return "", false
	}
	return s.o.File.Path(), true
}

// Close ends the session: its file, and what its tools stand on.
func (s *Session) Close() error {
	var err error
	if s.o.Close != nil {
		err = s.o.Close()
	}
	if s.o.File != nil {
		err = errors.Join(err, s.o.File.Close())
	}
	return err
}

// beforeRequest holds the budget: no request is sent once the limit is reached.
func (s *Session) beforeRequest(context.Context, *llm.Request) error {
	if s.o.MaxCost == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent >= s.o.MaxCost {
		return fmt.Errorf("%w: $%.4f of $%.4f spent", ErrBudget, s.spent.Float(), s.o.MaxCost.Float())
	}
	return nil
}

// event keeps what the loop says before anyone else sees it.
func (s *Session) event(e agent.Event) {
	if e.Type == agent.MessageEnd && e.Message != nil {
		s.account(e.Message)
		s.record(func(f *transcript.File) error { return f.AppendMessage(e.Message) })
	}
	if s.o.Emit != nil {
		s.o.Emit(e)
	}
}

func (s *Session) account(m *llm.Message) {
	if m.Role != llm.RoleAssistant || m.Usage == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage = s.usage.Add(*m.Usage)
	if m.Usage.Cost == nil {
		s.unknown = true
		return
	}
	s.unknown = s.unknown || m.Usage.Cost.Unknown
	s.spent += m.Usage.Cost.Total
}

// record writes to the file. A disk that fails does not end the conversation, but
// the person is told, once.
func (s *Session) record(write func(*transcript.File) error) {
	if s.o.File == nil {
		return
	}
	if err := write(s.o.File); err != nil {
		s.mu.Lock()
		file := s.o.File
		s.o.File = nil
		s.mu.Unlock()
		file.Close()
		s.o.Warn(fmt.Sprintf("the session is no longer kept: %v", err))
	}
}
