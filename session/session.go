// Package session is a live conversation: the loop of package agent, the transcript
// that keeps it, and the policies around both. Every face holds a [Handle] and sees
// the same events in the same order.
//
// # The way of a prompt
//
// [Session.Prompt] hides what is secret in the words, opens a turn of the undo
// journal and runs the loop. Before each request the conversation is made to fit
// the model (fit.go) and the money is asked for (spend.go); after it, what was said
// is appended to the transcript and told as an event. A request that failed is
// repeated, moved to another model, or made smaller, as its error says (retry.go).
//
// # What is promised
//
//   - The transcript is the only history. What the model gets is reconstructed
//     from it whenever it changes in any other way than by growing.
//   - A retry repeats a request, never a tool call: an answer that failed runs
//     nothing.
//   - Every request, whatever it is for, passes one place that holds the limits
//     and keeps the account.
//   - No secret that [Options.Secrets] knows reaches a request, the transcript or
//     an event; tools get the value where the model wrote its placeholder. What a
//     model makes up itself is hidden once its answer is whole: pieces of an answer
//     are shown as they come.
package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Session is a live conversation. Prompt, Compact, Navigate and Handoff run one at a
// time: the second is refused, but Compact stops what is under way and takes its
// place. Everything may be called from any goroutine.
type Session struct {
	o     Options
	agent *agent.Agent
	log   *transcript.Log
	hub   *hub

	mu         sync.Mutex
	request    llm.Request  // as set, with the model in use
	tools      []*tool.Tool // that are offered
	mode       string
	modeWords  string // for the model; "": the system prompt has them
	waiting    int    // messages in the queues, as they were told of
	client     llm.Client
	spent      llm.USD
	guessed    llm.USD // for answers whose vendors did not say what they cost; spent lacks it
	unknown    bool    // there are such answers, or some request had no known price
	usage      llm.Usage
	requests   int
	turn       int    // number of the turn
	process    string // tells turns with that number apart in the account
	closed     bool
	idle       chan struct{}           // closed when what is under way has ended; nil: nothing is
	cancel     context.CancelCauseFunc // of what is under way
	known      measure
	counted    tally
	held       Spending        // of the request that is about to be sent
	sender     llm.Client      // of that request
	retrying   bool            // that request repeats one that failed
	cache      cacheState      // of the last request that was answered
	asked      cacheState      // of the last request
	failing    bool            // the transcript cannot be written; a person was told
	stale      bool            // the transcript has something that the loop has not
	damaged    map[string]bool // what cannot be read, and of which the person knows
	bare       bool            // the branch does not say which model is used
	files      map[string]bool // that calls were about
	again      bool            // a call was about a file that an earlier one was about
	resting    *time.Timer     // until a conversation that rests is condensed; nil: it is not
	condensing bool            // what is under way is a compaction that nobody waits for
	goalTold   bool            // the person knows that the first prompt is not kept whole
	goal       Goal
	goalSince  llm.USD // spent and guessed when goal was written down
	forced     string  // the tool that the next answer must call
	stuck      int     // tokens of the conversation when it could not be condensed; 0: it could

	// The goroutine of Prompt alone uses these.
	mender *mender
	answer string // entry of the last answer

	writing sync.Mutex // held while the transcript is changed
	moding  sync.Mutex // held while the mode changes
	keeping sync.Mutex // held while what is kept word for word changes: pins, the goal

	seed  maphash.Seed
	life  context.Context // of what goes on beside prompts; ends with Close
	die   context.CancelFunc
	tasks sync.WaitGroup
}

// ResultTool is the name of the tool with which the model hands over a result of
// a schema. A session that has it does not end without it.
const ResultTool = "result"

// Errors of a session.
var (
	// ErrNoResult is that the model did not hand over a result of the schema.
	ErrNoResult = errors.New("the model gave no result of the schema")
	// ErrBudget is that the session has spent what it may.
	ErrBudget = errors.New("the session has reached its cost limit")
	// ErrGoalBudget is that the goal has cost what it may. It is an ErrBudget.
	ErrGoalBudget = fmt.Errorf("%w for the goal", ErrBudget)
	// ErrUnsent is that a prompt was stopped before anything was done with it.
	ErrUnsent = errors.New("the prompt was stopped before it was sent")
	// ErrNotBegun is that something else than a prompt, as a command, was stopped before
	// it began.
	ErrNotBegun = errors.New("stopped before it began")
	// ErrBusy is that something is under way.
	ErrBusy = errors.New("the session is busy: wait for it, or stop it")
)

// New starts a session, or goes on with what Options.Log holds. A limit of cost
// needs a model whose price is known.
func New(o Options) (*Session, error) {
	if o.MaxCost > 0 && !o.Request.Model.Price.Known() {
		return nil, unpriced(o.Request.Model)
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Compaction == (compact.Settings{}) {
		o.Compaction = compact.Defaults()
	}
	o.Retry.fill()
	if o.Log == nil {
		log, err := transcript.Create(new(transcript.Memory), transcript.Header{}, transcript.Options{Now: o.Now})
		if err != nil {
			return nil, err
		}
		o.Log = log
	}
	s := &Session{o: o, log: o.Log, hub: newHub(o.Emit), request: o.Request, client: o.Client, tools: o.Tools, mode: o.Mode, seed: maphash.MakeSeed()}
	s.life, s.die = context.WithCancel(context.Background())
	s.request.System = s.hide(o.Request.System)
	if s.request.Cache.Key == "" {
		s.request.Cache.Key = o.Log.ID()
	}
	past, err := o.Log.Context(o.Log.Leaf())
	if err != nil {
		return nil, err
	}
	for _, text := range s.harm(past) {
		o.Warn(text) // no event: nobody can hear one yet
	}
	s.bare = past.Models["default"] != o.Request.Model.Ref()
	if o.MaxCost > 0 {
		s.spentBefore()
	}
	// Turns of the undo journal go on counting. Commands and answers that were asked for
	// again count too, so that numbers come twice; the journal tells them apart itself.
	s.turn, s.process = o.Log.Count(llm.RoleUser), rand.Text()[:8]
	s.again = len(past.Messages) > 0
	s.agent = agent.New(agent.Options{
		Client: metered{s}, Request: s.request, Tools: o.Tools, MaxTurns: o.MaxTurns, Messages: past.Messages,
		Steering: o.Steering, FollowUp: o.FollowUp, Interrupt: o.Interrupt,
		Emit: s.loopEvent, BeforeRequest: s.beforeRequest,
		BeforeTool: s.authorize, AfterTool: s.afterTool, Arguments: s.arguments,
	})
	s.restoreGoal()
	s.contextTokens() // a face that asks for figures does not wait for it
	if o.WatchJobs != nil {
		o.WatchJobs(func() { s.hub.emit(Event{Event: agent.Event{Type: JobsChanged}}) })
	}
	return s, nil
}

// begin takes the session for one thing at a time. The context ends with Abort.
func (s *Session) begin(ctx context.Context) (context.Context, func(), error) {
	return s.occupy(ctx, false)
}

// occupy is begin, also for a compaction that nobody waits for. What a person did lets
// the conversation rest anew when it ends; such a compaction does not: it would be
// repeated, and paid, for as long as it fails.
func (s *Session) occupy(ctx context.Context, condensing bool) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, ErrClosed
	case s.idle != nil:
		return nil, nil, ErrBusy
	}
	ctx, cancel := context.WithCancelCause(ctx)
	idle := make(chan struct{})
	s.idle, s.cancel, s.condensing = idle, cancel, condensing
	if s.resting != nil {
		s.resting.Stop()
	}
	return ctx, func() {
		cancel(nil)
		s.sync()
		s.mu.Lock()
		s.idle, s.cancel, s.condensing = nil, nil, false
		if !condensing {
			s.rest()
		}
		s.mu.Unlock()
		close(idle)
	}, nil
}

// stop ends what is under way and waits until it has ended, or ctx does.
func (s *Session) stop(ctx context.Context) error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	if idle == nil {
		return nil
	}
	s.Abort()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errStopped is the cause of what ends by Abort.
var errStopped = errors.New("stopped")

// Abort stops what is under way.
func (s *Session) Abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel(errStopped)
	}
}

// Prompt sends a person's message and runs until the model is done. What was steered
// before it, while nothing ran, comes first.
func (s *Session) Prompt(ctx context.Context, m llm.Message) agent.Outcome {
	m = s.timed(m)
	ctx, end, err := s.wake(ctx)
	switch {
	case errors.Is(err, ErrNotBegun):
		return unsent()
	case err != nil:
		return agent.Outcome{Reason: agent.ReasonError, Err: err}
	}
	defer end()
	defer s.force("")
	typed := s.hideMessage(m)
	m, err = s.expand(ctx, m)
	switch {
	case ctx.Err() != nil:
		return unsent()
	case err != nil:
		return agent.Outcome{Reason: agent.ReasonError, Err: err}
	}
	s.openTurn(typed.Text())
	s.refresh()
	out := s.finish(ctx, s.run(ctx, append(s.preface(), s.hideMessage(m))...))
	s.entitle(typed)
	return out
}

func unsent() agent.Outcome {
	return agent.Outcome{Reason: agent.ReasonAborted, Err: &llm.Error{Kind: llm.ErrAborted, Message: ErrUnsent.Error(), Err: ErrUnsent}}
}

// finish sees to it that a prompt ends with what it was to bring.
func (s *Session) finish(ctx context.Context, out agent.Outcome) agent.Outcome {
	out = s.pursue(ctx, s.remind(ctx, out))
	if s.hasTool(ResultTool) {
		out = s.insist(ctx, out)
	}
	return out
}

// preface is what stands before the first prompt of a branch. It writes down what
// holds for the branch besides.
func (s *Session) preface() (messages []llm.Message) {
	s.mu.Lock()
	bare, model := s.bare, s.request.Model.Ref()
	s.bare = false
	s.mu.Unlock()
	if bare {
		s.append(transcript.Entry{Type: transcript.TypeModel, Model: model})
	}
	if !slices.ContainsFunc(s.agent.Messages(), func(m llm.Message) bool { return !early(m.CustomType) }) {
		if mode := s.Mode(); mode != "" {
			s.append(transcript.Entry{Type: transcript.TypeMode, Mode: mode})
		}
		for _, p := range s.o.Preface {
			messages = append(messages, s.hideMessage(p))
		}
	}
	if notice, ok := s.modeNotice(s.agent.Messages()); ok {
		messages = append(messages, notice)
	}
	return messages
}

// early reports whether a message of that kind may come before anyone has spoken.
func early(customType string) bool {
	switch customType {
	case customPin, customUnpin, customMode, CustomTodoEdit, string(transcript.RoleExecution):
		return true
	}
	return false
}

// MaxReminders is how often a model is reminded for one prompt; after that it has its
// reasons, and the person has the word.
const MaxReminders = 3

// CustomReminder is the kind of a message that reminds the model of what is not done.
const CustomReminder = "reminder"

// remind lets a model that ended by itself go on if something is not done.
func (s *Session) remind(ctx context.Context, out agent.Outcome) agent.Outcome {
	for range MaxReminders {
		if s.o.Unfinished == nil || out.Reason != agent.ReasonDone || s.agent.Exhausted() || handedOver(out.Messages) {
			return out
		}
		text := s.o.Unfinished()
		if text == "" {
			return out
		}
		out = join(out, s.runOn(ctx, llm.Message{
			Role: llm.RoleCustom, CustomType: CustomReminder, Time: s.o.Now(), Content: []llm.Block{llm.Text{Text: text}},
		}))
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
		out = join(out, s.runOn(ctx, llm.Message{
			Role: llm.RoleCustom, CustomType: "result", Time: s.o.Now(),
			Content: []llm.Block{llm.Text{Text: "Hand over the result now, with the tool " + ResultTool + "."}},
		}))
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

// join is the outcome of two runs, one after the other.
func join(a, b agent.Outcome) agent.Outcome {
	b.Messages = append(a.Messages[:len(a.Messages):len(a.Messages)], b.Messages...)
	b.Turns += a.Turns
	b.Usage = a.Usage.Add(b.Usage)
	return b
}

// turnID names a turn in the undo journal, where a person reads it.
func turnID(n int) string { return fmt.Sprint(n) }

// firstLine is the first line of a prompt, for lists.
func firstLine(text string) string {
	for i, r := range text {
		if r == '\n' || i > 100 {
			return text[:i]
		}
	}
	return text
}

// Messages is the conversation as the model has it, for reading.
func (s *Session) Messages() []llm.Message { return s.agent.Messages() }

// Log is the session's transcript, for reading.
func (s *Session) Log() *transcript.Log { return s.log }

// Events reads what happens from the event of that number on; 0 is what happens
// from now on. Numbers begin anew with each process: one that has not been given out
// is from another life of the session, and the feed begins with a [*LagError].
func (s *Session) Events(from uint64) *Feed {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	f := &Feed{hub: s.hub, seq: from, foreign: from > s.hub.next}
	if from == 0 || f.foreign {
		f.seq = s.hub.next
	}
	return f
}

// Stats are figures of a session.
type Stats struct {
	Model    string // provider/id
	Thinking llm.Level
	Title    string
	Entries  int
	Requests int
	Usage    llm.Usage
	Cost     llm.USD
	Known    bool // every request had a known price; if not, Cost lacks some
	Context  int  // tokens of the next request, as far as they are known
	Window   int  // tokens; 0 is unknown
}

// Stats gives the figures of this moment. It costs the same in a long conversation.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Model: s.request.Model.Ref(), Thinking: s.request.Thinking.Level, Title: s.log.Title(), Entries: s.log.Len(),
		Requests: s.requests, Usage: s.usage, Cost: s.spent, Known: !s.unknown,
		Context: s.contextTokens(), Window: s.request.Model.ContextWindow,
	}
}

// Model is the model that the next request goes to, for reading.
func (s *Session) Model() *llm.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request.Model
}

// Spent is what the session has cost since it was opened, and under a cost limit
// what its transcript tells of before; known is false if a request had no known
// price, and the sum then lacks it.
func (s *Session) Spent() (cost llm.USD, usage llm.Usage, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent, s.usage, !s.unknown
}

// Path is where the conversation is kept; ok is false if there is no file (yet).
func (s *Session) Path() (path string, ok bool) {
	return s.o.Path, s.o.Path != "" && s.log.Answered()
}

// closeGrace is how long Close waits for what is under way. It is longer than the
// loop waits for tools that do not obey; what takes longer is left behind.
const closeGrace = 5 * time.Second

// Close stops what is under way, waits for it, and ends the session: its transcript,
// and what its tools stand on. Closing twice does nothing more.
func (s *Session) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	if s.resting != nil {
		s.resting.Stop()
	}
	s.mu.Unlock()
	if closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	late := s.stop(ctx)
	s.die()
	s.tasks.Wait()
	if late != nil {
		s.warn("the session was closed while something was under way that did not end")
	}
	var err error
	if s.o.Close != nil {
		err = s.o.Close()
	}
	s.hub.end()
	return errors.Join(err, s.log.Close())
}

// loopEvent keeps what the loop says before anyone else sees it.
func (s *Session) loopEvent(e agent.Event) {
	out := Event{Event: e}
	switch e.Type {
	case agent.MessageEnd:
		out.EntryID = s.appendMessage(e.Message)
		s.measured(e.Message)
		s.noteCalls(e.Message)
		if e.Message.Role == llm.RoleAssistant {
			s.answer = out.EntryID
			if e.Message.Error == nil {
				s.force("")
			}
		}
	case agent.AgentEnd:
		out.Outcome = s.hideOutcome(e.Outcome)
	case agent.TurnStart:
		s.taken()
	case agent.ToolUpdate:
		out.Result = s.hideResult(e.Result)
	}
	s.hub.emit(out)
	if e.Type == agent.MessageEnd && e.Message.Role == llm.RoleAssistant {
		s.reportCache(e.Message)
		s.mender.answered(e.Message)
	}
}

// appendMessage appends a message of the loop.
func (s *Session) appendMessage(m *llm.Message) (id string) {
	e := transcript.Entry{Type: transcript.TypeMessage, Message: m}
	messages := s.agent.Messages()
	if m.Role != llm.RoleAssistant || !paused(messages[:len(messages)-1]) {
		return s.append(e)
	}
	// What came while the vendor made a pause, as a command of the person's, goes behind
	// both parts of the answer: vendors take them only one after the other.
	s.writing.Lock()
	since, err := s.log.Beyond(s.log.Leaf(), s.answer)
	if err != nil || !slices.ContainsFunc(since, speaks) || s.log.Move(s.answer) != nil {
		since = nil
	}
	id, err = s.log.Append(e)
	for _, e := range since {
		_, again := s.log.Append(e)
		err = errors.Join(err, again)
	}
	s.writing.Unlock()
	s.written(err)
	return id
}

// speaks reports whether the model reads what an entry says.
func speaks(e transcript.Entry) bool {
	return e.Type == transcript.TypeMessage || e.Type == transcript.TypeCustomMessage
}

// append adds to the transcript. A disk that fails does not end the conversation;
// the entry is written with the next, and the person is told once.
func (s *Session) append(e transcript.Entry) (id string) {
	s.writing.Lock()
	id, err := s.log.Append(e)
	s.writing.Unlock()
	s.written(err)
	return id
}

// written takes what came of writing to the transcript.
func (s *Session) written(err error) {
	s.mu.Lock()
	told := s.failing
	s.failing = err != nil
	s.mu.Unlock()
	if err != nil && !told {
		s.warn(fmt.Sprintf("the session is not kept for the moment: %v", err))
	}
}

// sync brings what was said onto the disk, at the end of each prompt.
func (s *Session) sync() {
	err := s.log.Sync()
	switch {
	case errors.Is(err, transcript.ErrGone):
		s.warn("while the session was open " + err.Error())
	case err != nil:
		s.mu.Lock()
		told := s.failing
		s.failing = true
		s.mu.Unlock()
		if !told {
			s.warn(fmt.Sprintf("the session is not kept for the moment: %v", err))
		}
	}
}

// warn tells a person something, as an event too.
func (s *Session) warn(text string) {
	text = s.hide(text)
	s.o.Warn(text)
	s.hub.emit(Event{Event: agent.Event{Type: Warning}, Text: text})
}
