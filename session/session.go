// Package session is a live conversation: the loop of package agent, the transcript that
// stores it, and the policies around both. Every face holds a [Handle] and sees the same
// events in the same order.
//
// # The path of a prompt
//
// [Session.Prompt] hides secrets in the text, opens a turn of the undo journal and runs the
// loop. Before each request the conversation is made to fit the model (compactor.go) and the limits
// are checked (spend.go). After it, what was said is appended to the transcript and emitted as
// an event. A failed request is retried, sent to another model, or made smaller, depending on
// its error (retry.go). When the model stops by itself, a chain decides whether it continues
// (chain_continue.go). Hooks, rules and extensions take part through [Chains].
//
// # Guarantees
//
//   - The transcript is the only history. What the model gets is reconstructed
//     from it whenever it changes in any way other than growing.
//   - A retry repeats a request, never a tool call: a failed answer runs
//     nothing.
//   - Every request, whatever it is for, passes one place that applies the limits
//     and keeps the account.
//   - No secret that [Options.Secrets] knows reaches a request, the transcript or
//     an event; tools get the value where the model wrote its placeholder. A secret
//     that the model itself makes up is hidden once its answer is complete: pieces
//     of an answer are shown as they stream.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Session is a live conversation. Prompt, Compact, Navigate and Handoff run one at a time: a
// second one is refused, except that Compact stops what is running and takes its place. All
// methods are safe for concurrent use.
type Session struct {
	o        Options
	agent    *agent.Agent
	log      *transcript.Log
	hub      *hub
	desk     *Desk
	redactor redactor

	rec          *record       // writes it down and emits events
	stage        *stage        // runs one thing at a time
	modelState   *modelState   // the model
	tools        *ToolSet      // what the model can call
	tokenCounter *tokenCounter // how large the conversation is
	money        *money        // what it costs
	cache        *cacheWatch   // what is in providers' caches
	work         *work         // todos, goal, pins
	modes        *modes        // the approval mode
	calls        *calls        // their path to tools
	answers      *answers      // answer watchers
	compactor    *compactor    // what the model gets of it
	marks        *marks        // checkpoints of the model
	advisor      *advisor      // reads what it did
	attempts     *attempts     // handles failures
	inbox        *inbox        // the queue
	policies     *policies     // automatic behavior
	titles       *titles       // names it
	plans        *plans        // what plan mode leads to
	wishes       *turnWishes   // what is different for one prompt
	programs     programs      // running programs, by name
	own          commands      // of the user, that are running
}

// ResultTool is the name of the tool with which the model hands over a result by a schema. A
// session that has it doesn't end a prompt without a result.
const ResultTool = "result"

// Errors of a session.
var (
	// ErrNoResult means that the model did not hand over a result by the schema.
	ErrNoResult = errors.New("the model gave no result that fits the schema")
	// ErrBudget means that the session has spent its limit.
	ErrBudget = errors.New("the session has reached its cost limit")
	// ErrGoalBudget means that the goal has used up its budget. It is an ErrBudget.
	ErrGoalBudget = fmt.Errorf("%w for the goal", ErrBudget)
	// ErrTurns means that as many turns of a person run as may at a time.
	ErrTurns = errors.New("too many turns run at the same time")
	// ErrUnsent means that a prompt was stopped before anything was done with it.
	ErrUnsent = errors.New("the prompt was stopped before it was sent")
	// ErrNotBegun means that something other than a prompt, such as a command, was stopped
	// before it started.
	ErrNotBegun = errors.New("stopped before it began")
	// ErrBusy means that another operation is in progress.
	ErrBusy = errors.New("the session is busy: wait for it, or stop it")
)

// New starts a session, or continues what Options.Log contains. A cost limit requires a model
// with a known price.
func New(o Options) (*Session, error) {
	if (o.MaxCost > 0 || o.Lender.limited()) && !o.Request.Model.Price.Known() {
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
	if o.Reminders == 0 {
		o.Reminders = 1
	}
	o.Retry.fill()
	if o.Log == nil {
		log, err := transcript.Create(new(transcript.Memory), transcript.Header{}, transcript.Options{Now: o.Now})
		if err != nil {
			return nil, err
		}
		o.Log = log
	}
	if o.Desk == nil {
		o.Desk = NewDesk(DeskOptions{})
	}
	if o.Ground == nil {
		o.Ground = Bare{}
	}
	s := &Session{o: o, log: o.Log, hub: newHub(o.Emit), desk: o.Desk, redactor: redactor{o.Secrets}}
	past, err := o.Log.Context(o.Log.Leaf())
	if err != nil {
		return nil, err
	}
	if interrupted(&o, past.Messages) {
		if past, err = o.Log.Context(o.Log.Leaf()); err != nil {
			return nil, err
		}
	}
	s.assemble(past)
	for _, text := range s.compactor.damage.harm(past) {
		o.Warn(text) // not an event: nobody can receive one yet
	}
	countLater := o.Log.Count(llm.RoleAssistant) > countedAtOnce && o.MaxCost == 0
	if !countLater {
		s.money.spentBefore(s.stage.life, o.Log.Len())
	}
	s.work.restoreGoal()
	s.advisor.restore()
	s.plans.restore()
	s.inbox.restoreQueue()
	s.desk.bind(s.hub.emit)
	s.hub.begin(Owner{Entries: o.Log.Len(), LastEntry: lastEntry(o.Log)})
	if o.Mode == modePlan && !o.KeepModel {
		s.modelState.planning(s.stage.life, true, o.Now())
	}
	s.tokenCounter.recall(o.Log)
	s.tokenCounter.context() // so that a face that asks for figures doesn't have to wait
	if countLater {
		entries := o.Log.Len()
		s.stage.tasks.Go(func() {
			if s.money.spentBefore(s.stage.life, entries); s.stage.life.Err() == nil {
				s.hub.emit(Event{Event: agent.Event{Type: CostCounted}})
			}
		})
	}
	watchCrew(s)
	if o.Jobs != nil {
		o.Jobs.Watch(func() { s.hub.emit(Event{Event: agent.Event{Type: JobsChanged}}) })
	}
	return s, nil
}

// assemble makes the parts of a session. Each gets what it needs, and none gets the session.
func (s *Session) assemble(past *transcript.Context) {
	o := &s.o
	seed := maphash.MakeSeed()
	r := o.Request
	if r.System = s.redactor.hide(r.System); r.Cache.Key == "" {
		r.Cache.Key = o.Log.ID()
	}
	s.rec = &record{log: o.Log, hub: s.hub, redactor: s.redactor, tell: o.Warn}
	if o.Chains.Rules != nil {
		o.Chains.Rules.rec.Store(s.rec)
	}
	s.policies = newPolicies(o, s.rec)
	s.tools = newToolSet(o.Tools, o.MoreTools)
	s.modelState = &modelState{
		opener: o.Models, roles: o.Roles, noPromote: o.NoPromote, ground: o.Ground, tools: s.tools, rec: s.rec,
		request: r, client: o.Client, bare: past.Models[roleDefault] != r.Model.Ref(),
		person: Opened{Model: r.Model, Client: o.Client, Level: r.Thinking.Level},
	}
	s.modelState.current.Store(r.Model)
	if o.Unusable != "" {
		s.modelState.unusable.Store(&o.Unusable)
	}
	s.calls = &calls{links: o.Chains.Calls, redactor: s.redactor, ground: o.Ground, programs: &s.programs, warn: s.rec.warn}
	s.answers = &answers{links: o.Chains.Answers, redactor: s.redactor, warn: s.rec.warn, now: o.Now}
	s.tokenCounter = &tokenCounter{modelState: s.modelState, tools: s.tools}
	s.money = &money{
		most: o.MaxCost, meter: o.Meter, log: o.Log, modelState: s.modelState, tokenCounter: s.tokenCounter, redactor: s.redactor, warn: s.rec.warn, now: o.Now, policies: s.policies,
		requests: &requests{links: o.Chains.Requests, redactor: s.redactor, seed: seed}, answers: s.answers, fallbacks: o.Fallbacks,
		before: o.BeforeRequest, lender: o.Lender, crew: o.Crew,
		// Turns of the undo journal continue counting. Commands and repeated answers count
		// too, so numbers can occur twice; the journal distinguishes them.
		turn: o.Log.Count(llm.RoleUser), process: rand.Text()[:8],
	}
	s.work = &work{rec: s.rec, redactor: s.redactor, list: o.Tasks, modelState: s.modelState, total: s.money.total, noGoals: o.NoGoals, outdated: s.outdated}
	s.money.overGoal = s.work.overGoal
	s.modelState.priced = func() bool { return o.MaxCost > 0 || s.work.budgeted() || o.Lender.limited() }
	s.modelState.changed = s.tokenCounter.reset
	life, die := context.WithCancel(context.Background())
	s.stage = &stage{now: o.Now, ending: s.rec.sync, life: life, die: die}
	s.rec.lost = s.stage.lose
	s.modes = &modes{ground: o.Ground, rec: s.rec, modelState: s.modelState, tools: s.tools, life: life, first: o.Mode, mode: o.Mode, after: o.AfterPlan, shut: s.stage.shut, now: o.Now}
	s.work.before = s.modes.before
	s.cache = &cacheWatch{seed: seed, now: o.Now, rec: s.rec, change: len(o.Chains.Requests) > 0}
	s.advisor = &advisor{rec: s.rec, redactor: s.redactor, modelState: s.modelState, money: s.money, policies: s.policies, budget: o.AdvisorBudget, now: o.Now}
	s.policies.advice = s.advisor.figures
	s.marks = &marks{rec: s.rec, work: s.work, now: o.Now}
	if o.Rewinder != nil {
		o.Rewinder.marks.Store(s.marks)
	}
	if o.Sampler != nil {
		o.Sampler.of.Store(&sampling{s.money, o.Now})
	}
	s.compactor = &compactor{
		policies: s.policies, summariser: o.Summariser, ground: o.Ground, redactor: s.redactor, rec: s.rec, modelState: s.modelState, tokenCounter: s.tokenCounter,
		ask: s.money.asker(ForCompaction), work: s.work, modes: s.modes, damage: &damage{log: o.Log}, marks: s.marks, cacheIdle: s.cache.idle, now: o.Now,
		again: len(past.Messages) > 0, links: o.Chains.Compactions,
	}
	s.wishes = &turnWishes{modelState: s.modelState, tools: s.tools, rules: o.Permissions, warn: s.rec.warn}
	s.compactor.handoff, s.compactor.wishes = s.handoff, s.wishes
	s.titles = &titles{on: o.Titles, words: cmp.Or(o.TitleSystem, titleWords), rec: s.rec, money: s.money, life: life, tasks: &s.stage.tasks}
	s.plans = &plans{
		rec: s.rec, desk: s.desk, modes: s.modes, ground: o.Ground, compact: s.compactor.compact, now: o.Now,
		latest: s.work.latestPlan,
	}
	if o.Planner != nil {
		o.Planner.plans.Store(s.plans)
	}
	s.stage.idle, s.stage.rested = s.compactor.idle, s.compactor.rested
	s.attempts = &attempts{
		modelState: s.modelState, money: s.money, compactor: s.compactor, rec: s.rec, policies: s.policies, fallbacks: o.Fallbacks, now: o.Now,
	}
	s.inbox = &inbox{rec: s.rec, beside: s.stage.beside, life: life}
	s.stage.ended = func() {
		s.inbox.stop(false)
		if len(s.inbox.waiting()) > 0 {
			go s.pump()
		}
	}
	s.agent = agent.New(agent.Options{
		Client: s.money, Request: r, Tools: o.Tools, MaxTurns: o.MaxTurns, Messages: past.Messages,
		Steering: o.Steering, FollowUp: o.FollowUp, Interrupt: o.Interrupt,
		Emit: s.loopEvent, Prepare: s.compactor.prepare,
		BeforeRequest: func(ctx context.Context, r *llm.Request) error {
			if name := s.tools.choice(); name != "" {
				r.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: name}
			}
			touched, err := s.money.begin(ctx, r)
			if err == nil {
				s.cache.fingerprint(r, touched)
			}
			return err
		},
		BeforeTool: s.calls.before, AfterTool: s.calls.after,
	})
	s.modelState.loop, s.tokenCounter.loop, s.cache.loop, s.compactor.loop, s.attempts.loop, s.inbox.loop = s.agent, s.agent, s.agent, s.agent, s.agent, s.agent
	s.marks.loop, s.advisor.loop = s.agent, s.agent
	s.policies.loop = s.agent
	s.tools.use = func(offered []*tool.Tool) { s.agent.Update(func(o *agent.Options) { o.Tools = offered }) }
	s.tools.tell = func(names string) { s.hub.emit(Event{Event: agent.Event{Type: ToolsChanged}, Text: names}) }
}

// Abort stops what is running.
func (s *Session) Abort() {
	s.inbox.stop(true)
	if !s.stage.abort() {
		s.inbox.stop(false)
	}
}

// Prompt sends a user message and runs until the model is done. Steering messages that were
// sent before it, while nothing ran, come first.
func (s *Session) Prompt(ctx context.Context, m llm.Message) (out agent.Outcome) {
	m.Time = s.inbox.stamp(s.timed(m).Time)
	ctx, end, err := s.stage.wake(ctx)
	switch {
	case errors.Is(err, ErrNotBegun):
		return unsent()
	case err != nil:
		return agent.Outcome{Reason: agent.ReasonError, Err: err}
	}
	defer end()
	defer s.tools.force("")
	typed := s.redactor.message(m)
	defer func() { s.inbox.hold(out) }()
	m, err = attach(ctx, s, m)
	var turn *Turn
	if err == nil {
		m, turn, err = s.accept(ctx, m)
	}
	switch {
	case ctx.Err() != nil:
		return unsent()
	case err != nil:
		return agent.Outcome{Reason: agent.ReasonError, Err: err}
	}
	s.inbox.keepTyped(typed, m)
	s.wishes.read(turn)
	defer s.wishes.end(context.WithoutCancel(ctx))
	s.openTurn(typed.Text())
	s.titles.begin(typed)
	s.compactor.refresh()
	out = s.finish(ctx, s.attempts.run(ctx, s.agent.Run, append(s.preface(), s.redactor.message(m))...))
	return out
}

func unsent() agent.Outcome {
	return agent.Outcome{Reason: agent.ReasonAborted, Err: &llm.Error{Kind: llm.ErrAborted, Message: ErrUnsent.Error(), Err: ErrUnsent}}
}

// preface returns what goes before the first prompt of a branch. It also records what applies
// to the branch.
func (s *Session) preface() (messages []llm.Message) {
	if model, ok := s.modelState.unnamed(); ok {
		s.rec.append(transcript.Entry{Type: transcript.TypeModel, Model: model})
	}
	if !slices.ContainsFunc(s.agent.Messages(), func(m llm.Message) bool { return !early(m.CustomType) }) {
		if mode := s.modes.current(); mode != "" {
			s.rec.append(transcript.Entry{Type: transcript.TypeMode, Mode: mode})
		}
		for _, p := range s.o.Preface {
			messages = append(messages, s.redactor.message(p))
		}
	}
	if notice, ok := s.modes.notice(s.agent.Messages()); ok {
		messages = append(messages, notice)
	}
	if s.o.News != nil {
		for _, m := range s.o.News() {
			m.Time = s.o.Now()
			messages = append(messages, s.redactor.message(m))
		}
	}
	return messages
}

// early reports whether a custom message of that type may come before the first user message.
func early(customType string) bool {
	switch customType {
	case customPin, customUnpin, customMode, customBrief, CustomTodoEdit, string(transcript.RoleExecution):
		return true
	}
	return false
}

// join combines the outcomes of two runs, one after the other.
func join(a, b agent.Outcome) agent.Outcome {
	b.Messages = append(a.Messages[:len(a.Messages):len(a.Messages)], b.Messages...)
	b.Turns += a.Turns
	b.Usage = a.Usage.Add(b.Usage)
	return b
}

// turnID names a turn in the undo journal, for users.
func turnID(n int) string { return fmt.Sprint(n) }

// firstLine returns the first line of a prompt, for lists.
func firstLine(text string) string {
	for i, r := range text {
		if r == '\n' || i > 100 {
			return text[:i]
		}
	}
	return text
}

// Messages returns the conversation as the model has it. It must not be modified.
func (s *Session) Messages() []llm.Message { return s.agent.Messages() }

// Tools returns the tools of the session.
func (s *Session) Tools() *ToolSet { return s.tools }

// Log returns the session's transcript, for reading.
func (s *Session) Log() *transcript.Log { return s.log }

// Events yields what happens from the call on, each event once, until the session or ctx ends.
// A reader that is too slow gets [EventsLost] for what it missed. To continue reading later,
// use the Events of a [Handle].
func (s *Session) Events(ctx context.Context) iter.Seq[Event] {
	f := s.hub.feed(Cursor{})
	return func(yield func(Event) bool) {
		for {
			if e, err := f.Next(ctx); err != nil || !yield(e) {
				return
			}
		}
	}
}

// lastEntry returns the id of the last entry of a log; "" if it is empty.
func lastEntry(l *transcript.Log) string {
	nodes := l.Nodes()
	if len(nodes) == 0 {
		return ""
	}
	return nodes[len(nodes)-1].ID
}

// Stats are figures of a session.
type Stats struct {
	Model    string    `json:"model"` // provider/id
	Thinking llm.Level `json:"thinking,omitempty"`
	Title    string    `json:"title,omitempty"`
	Entries  int       `json:"entries"`
	Requests int       `json:"requests"` // including those before a resume, without titles and summaries
	Usage    llm.Usage `json:"usage"`
	Cost     llm.USD   `json:"cost"`
	Known    bool      `json:"known"`            // every request had a known price; if false, Cost is incomplete
	Context  int       `json:"context"`          // tokens of the next request, as far as they are known
	Window   int       `json:"window,omitempty"` // tokens; 0 means unknown
}

// Stats returns the current figures. It costs the same in a long conversation.
func (s *Session) Stats() Stats {
	model, level := s.modelState.chosen()
	stats := Stats{
		Model: model.Ref(), Thinking: level, Title: s.log.Title(), Entries: s.log.Len(), Context: s.tokenCounter.context(), Window: model.ContextWindow,
	}
	if s.o.Window != nil {
		stats.Window = cmp.Or(s.o.Window(), stats.Window)
	}
	s.money.fill(&stats)
	return stats
}

// Path returns the session file; ok is false if there is none (yet).
func (s *Session) Path() (path string, ok bool) {
	return s.o.Path, s.o.Path != "" && s.log.Answered()
}

// countedAtOnce is how many answers of a resumed session are counted before it begins. What more
// cost is counted meanwhile, as opening a session of 100,000 answers must not wait for it; a limit
// of cost waits.
const countedAtOnce = 100

// closeGrace is how long Close waits for what is running. It is longer than the loop waits for
// tools that ignore their context; anything slower is abandoned.
const closeGrace = 5 * time.Second

// Halt prepares a session for its Close: nothing new begins, and what runs stops between two requests, when an
// answer and its calls are complete. It waits for that, or until ctx ends. Messages that wait are
// read when the session is opened again.
func Halt(ctx context.Context, s *Session) { s.stage.halt(ctx) }

// Close stops what is running, waits for it, and ends the session: its transcript, and what
// its tools use. Closing it again does nothing.
func (s *Session) Close() error {
	if !s.stage.close() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if line := s.stops(); line != "" {
		s.rec.warn(line)
	}
	s.desk.end()
	late := s.stage.stop(ctx)
	var err error
	if s.o.Crew != nil {
		err = s.o.Crew.Close()
	}
	if _, held := s.inbox.queueState(); !held && late == nil {
		s.titles.wait()
	}
	s.stage.die()
	s.stage.tasks.Wait()
	if late != nil {
		s.rec.warn("the session was closed while something was still running")
	}
	if s.o.Close != nil {
		err = errors.Join(err, s.o.Close())
	}
	s.hub.end()
	return errors.Join(err, s.log.Close())
}

// loopEvent records an event of the loop before anyone else sees it.
func (s *Session) loopEvent(e agent.Event) {
	out := Event{Event: e}
	switch e.Type {
	case agent.AgentStart:
		out.Turn = s.inbox.running()
	case agent.MessageEnd:
		messages := s.agent.Messages()
		out.EntryID = s.rec.message(e.Message, e.Message.Role == llm.RoleAssistant && paused(messages[:len(messages)-1]))
		q := s.inbox.wasRead(e.Message)
		if q != nil {
			out.Turn = q.id
			s.wishes.read(q.turn)
		}
		s.tokenCounter.measured(e.Message)
		s.compactor.noteCalls(e.Message)
		if e.Message.Role == llm.RoleAssistant {
			s.rec.answer = out.EntryID
			if e.Message.Error == nil {
				s.tools.force("")
			}
		}
	case agent.AgentEnd:
		ended := s.redactor.outcome(*e.Outcome)
		out.Outcome, out.Turn = &ended, s.inbox.running()
	case agent.TurnEnd:
		s.stage.boundary()
	case agent.TurnStart:
		s.calls.forget()
		s.inbox.taken()
	case agent.ToolUpdate:
		out.Call, out.Result = s.calls.event(e.Call), s.redactor.result(e.Result)
	case agent.ToolEnd:
		s.programs.end(e.Call.ID)
		out.Call = s.calls.event(e.Call)
	}
	s.hub.emit(out)
	if e.Type == agent.MessageEnd && e.Message.Role == llm.RoleAssistant {
		if e.Message.Error == nil {
			s.modelState.unusable.Store(nil)
		}
		s.cache.report(e.Message)
		s.attempts.mender.answered(e.Message)
	}
}
