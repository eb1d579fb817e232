package session

import (
	"context"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool/change"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// Handle is what a face does with a session, whether the session is in this process or in
// another one that owns it. It returns one small interface for each part. All of them take and
// return plain data, never references into the owner. If the owner is another process, any
// error may also be [ErrOwnerGone], or [ErrDenied] if the connection lacks the right.
type Handle interface {
	// Facts returns the current figures. It never blocks.
	Facts() Facts
	Conversation() Conversation
	Queue() Queue
	Models() Models
	Policies() Policies
	Tree() Tree
	Tools() Tools
	Work() Work
	Jobs() Jobs
	Languages() Languages
	Agents() Agents
	Questions() Questions
	Consoles() Consoles
	Permissions() Permissions
	Changes() Changes
	Transcript() Transcript
	// Events reads events from a cursor on; the zero cursor is now. A feed from a cursor of
	// another epoch starts with the [OwnerChanged] of the current one.
	Events(from Cursor) Feed
	// Close leaves the session. If Owns is true, it also ends it.
	Close() error
	Owns() bool
}

// Conversation talks with the model.
type Conversation interface {
	// Submit takes a message, and returns when it is on disk; see [Session.Submit].
	Submit(ctx context.Context, in Input) (Receipt, error)
	// Wait waits until everything for a message is done, or until ctx ends, which stops
	// nothing.
	Wait(ctx context.Context, id string) (agent.Outcome, error)
	// Resend continues from an answer that failed or was stopped; see [Session.Resend].
	Resend(ctx context.Context) (Receipt, error)
	// Abort stops what is running: an answer, its calls, a wait, a compaction, a command.
	// Queued messages are held.
	Abort(ctx context.Context) error
	// AbortRetry ends the wait before a retry: the prompt ends with the error.
	AbortRetry(ctx context.Context) error
	// AbortCommand stops only the user's own commands.
	AbortCommand(ctx context.Context) error
	// Aside answers a question outside the conversation, which keeps nothing of it.
	Aside(ctx context.Context, question string, delta func(string)) (answer string, err error)
	// Run runs a command of the user's own.
	Run(ctx context.Context, command string, private bool, output func(chunk string)) (CommandResult, error)
	Compact(ctx context.Context, instructions string) error
	Shake(ctx context.Context, kind string) (freed int, err error)
	Handoff(ctx context.Context, focus string) (document string, err error)
	SetTitle(ctx context.Context, title string) error
	Breakdown(ctx context.Context) (Breakdown, error)
	// ApprovePlan has the plan carried out, see [Plan]: it leaves plan mode, names the session
	// after the plan unless the user has named it, and starts a turn. While something runs the
	// error is [ErrBusy].
	ApprovePlan(ctx context.Context, a PlanApproval) (Receipt, error)
}

// Queue is what waits for the model to read it. Each change emits [QueueChanged].
type Queue interface {
	Waiting(ctx context.Context) (Queued, error)
	// TakeBack removes and returns all queued messages, as they were written.
	TakeBack(ctx context.Context) ([]Input, error)
	// Release lets held messages start.
	Release(ctx context.Context) error
}

// Models says which model answers, and how.
type Models interface {
	SetModel(ctx context.Context, selector string) error
	SetThinking(ctx context.Context, level llm.Level) error
	SetMode(ctx context.Context, mode string) error
}

// Policies control what the session does automatically. They last as long as the session. Each
// change emits [PolicyChanged].
type Policies interface {
	Policy(ctx context.Context) (Policy, error)
	// Change returns the resulting policy.
	Change(ctx context.Context, c PolicyChange) (Policy, error)
}

// Tree moves in the conversation.
type Tree interface {
	Navigate(ctx context.Context, id string, o Navigation) (edit string, err error)
	SetLabel(ctx context.Context, id, label string) error
}

// Tools controls what the model can do.
type Tools interface {
	List(ctx context.Context) ([]ToolState, error)
	// Offer offers exactly the tools with these names, from the next request on.
	Offer(ctx context.Context, names []string) error
	// Force makes the first answer to the next prompt call a tool.
	Force(ctx context.Context, name string) error
}

// Work is what the session works on: the todos, the goal, the plan, and the pins.
type Work interface {
	Todos(ctx context.Context) ([]todo.Phase, error)
	SetTodos(ctx context.Context, phases []todo.Phase) error
	Goal(ctx context.Context) (Goal, error)
	SetGoal(ctx context.Context, g Goal) error
	// Plan returns the last plan of this branch that the model has handed over.
	Plan(ctx context.Context) (Plan, error)
	// Pin keeps a text for the model across compactions. Unpin removes a text that Pins
	// returns.
	Pins(ctx context.Context) ([]string, error)
	Pin(ctx context.Context, text string) error
	Unpin(ctx context.Context, text string) error
}

// Jobs are the background commands, and the sub-agents in the background. [JobsChanged] is
// emitted when a command started or ended, [AgentChanged] when an agent did.
type Jobs interface {
	// List returns them oldest first; of those that ended, the last 100.
	List(ctx context.Context) ([]Job, error)
	// Kill ends a job with everything it started, its own sub-agents included, and returns when
	// it has ended.
	Kill(ctx context.Context, id string) error
	// Output returns the end of what a job wrote so far, at most 50 KB; of a sub-agent, what it
	// does and said last. It doesn't affect what the model reads next.
	Output(ctx context.Context, id string) (tail string, err error)
}

// Questions are questions to the user.
type Questions interface {
	Open(ctx context.Context) ([]Question, error)
	// Answer answers one of them. The first answer counts; further ones get [ErrSettled].
	Answer(ctx context.Context, id string, r Reply) error
}

// Consoles are the foreground programs that have a terminal. They emit [ConsoleOpened] and
// [ConsoleClosed]. If a program has ended, the error is [ErrNoProgram].
type Consoles interface {
	List(ctx context.Context) ([]Console, error)
	// Follow passes what a program has written and writes to output, until it ends, ctx ends,
	// or output fails. It passes at most 256 KB of what came before; a slow reader misses what
	// it could not take in time.
	Follow(ctx context.Context, id string, output func([]byte) error) error
	// Type sends keys to the program.
	Type(ctx context.Context, id string, keys []byte) error
	Resize(ctx context.Context, id string, cols, rows int) error
	// Stop ends the program with everything it started.
	Stop(ctx context.Context, id string) error
}

// Permissions are the rules for calls while the session is open. Rules are text: bash(go
// test:*), !edit(.env), ask fetch.
type Permissions interface {
	// Rules returns all rules in force, in the order in which they are checked, with Words.
	Rules(ctx context.Context) ([]permit.Rule, error)
	// Grant adds a rule; the scope "" is session.
	Grant(ctx context.Context, rule string, scope permit.Scope) (permit.Rule, error)
	// Revoke removes a rule by its id. Rules of flags and configuration have none.
	Revoke(ctx context.Context, id string) error
	// Try returns the finished calls of this session for which the rules, taken together, make
	// a difference, including calls that they already decided.
	Try(ctx context.Context, rules ...string) ([]permit.Tried, error)
}

// Changes are what the turns of sessions changed in the workspace.
type Changes interface {
	// Turns returns the turns that changed something, newest first, including those of other
	// sessions and processes.
	Turns(ctx context.Context) ([]change.Turn, error)
	// Preview returns what Undo would do with each path, and changes nothing.
	Preview(ctx context.Context, turn string) ([]change.Planned, error)
	// Diff returns what a turn did to each file, sorted by path.
	Diff(ctx context.Context, turn string) ([]change.Diff, error)
	// Undo restores what a turn changed. If the turn is already undone, it brings the changes
	// back. It leaves what was changed since, and reports it.
	Undo(ctx context.Context, turn string) (*change.Undone, error)
}

// Transcript reads the stored conversation. Outside the owner it is a copy that grows with the
// events. Entries are fetched when they are needed; a fetch that takes too long is an error.
type Transcript = transcript.Reader

// Face returns a [Session.Handle] for a face that comes and goes: its Close only leaves.
func (s *Session) Face(name string, answers bool) Handle {
	return &visitor{s.Handle(name, answers).(*handle)}
}

// visitor is a handle that doesn't end its session.
type visitor struct{ *handle }

func (v *visitor) Owns() bool { return false }

func (v *visitor) Close() error {
	v.leave()
	return nil
}

// Handle returns the session for a face in this process. name tells other faces who answered
// and who said what: "terminal", "script". If answers is true, the face answers questions and
// shows the terminals of programs, and both wait for it.
func (s *Session) Handle(name string, answers bool) Handle {
	h := &handle{s: s, name: name, leave: func() {}}
	if answers {
		leave, hide := s.desk.Attend(), s.desk.Screens.Watch()
		h.leave = func() { leave(); hide() }
	}
	return h
}

// handle is the session for one face in its process.
type handle struct {
	s     *Session
	name  string
	leave func()
}

func (h *handle) Facts() Facts               { return h.s.Facts() }
func (h *handle) Conversation() Conversation { return (*conversation)(h) }
func (h *handle) Queue() Queue               { return (*queue)(h) }
func (h *handle) Models() Models             { return (*models)(h) }
func (h *handle) Policies() Policies         { return h.s.policies }
func (h *handle) Tree() Tree                 { return (*tree)(h) }
func (h *handle) Tools() Tools               { return h.s.tools }
func (h *handle) Work() Work                 { return h.s.work }
func (h *handle) Jobs() Jobs                 { return background{h.s.o.Jobs, h.s.o.Crew, h.s.redactor.hide} }

func (h *handle) Languages() Languages     { return languages{h.s.o.Languages, h.s.redactor.hide} }
func (h *handle) Questions() Questions     { return (*questions)(h) }
func (h *handle) Consoles() Consoles       { return h.s.desk.Screens }
func (h *handle) Permissions() Permissions { return h.s.o.Permissions }
func (h *handle) Changes() Changes         { return h.s.o.Changes }
func (h *handle) Transcript() Transcript   { return h.s.log }
func (h *handle) Events(from Cursor) Feed  { return h.s.hub.feed(from) }

func (h *handle) Owns() bool { return true }

func (h *handle) Close() error {
	h.leave()
	return h.s.Close()
}

// Facts returns the current figures.
func (s *Session) Facts() Facts {
	f := Facts{ID: s.log.ID(), Leaf: s.log.Leaf(), Model: s.modelState.model(), Mode: s.modes.current(), Stats: s.Stats()}
	f.Path, f.Kept = s.Path()
	f.Sealed = s.o.Sealed
	if why := s.modelState.unusable.Load(); why != nil {
		f.Unusable = *why
	}
	f.Working, f.Since = s.stage.working()
	return f
}

type (
	conversation handle
	queue        handle
	models       handle
	tree         handle
	questions    handle
)

func (c *conversation) Submit(ctx context.Context, in Input) (Receipt, error) {
	return c.s.submit(ctx, in, c.name)
}

func (c *conversation) Wait(ctx context.Context, id string) (agent.Outcome, error) {
	return c.s.Wait(ctx, id)
}
func (c *conversation) Resend(context.Context) (Receipt, error) { return c.s.resubmit() }

func (c *conversation) Abort(context.Context) error {
	c.s.Abort()
	return nil
}

func (c *conversation) AbortRetry(context.Context) error {
	c.s.attempts.patience.end()
	return nil
}

func (c *conversation) AbortCommand(context.Context) error {
	c.s.own.stop()
	return nil
}

func (c *conversation) Aside(ctx context.Context, question string, delta func(string)) (string, error) {
	return c.s.Aside(ctx, question, delta)
}

func (c *conversation) Run(ctx context.Context, command string, private bool, output func(string)) (CommandResult, error) {
	return c.s.Run(ctx, command, private, output)
}

func (c *conversation) Compact(ctx context.Context, instructions string) error {
	return c.s.Compact(ctx, instructions)
}

func (c *conversation) Shake(ctx context.Context, kind string) (int, error) {
	return c.s.Shake(ctx, kind)
}

func (c *conversation) Handoff(ctx context.Context, focus string) (string, error) {
	return c.s.Handoff(ctx, focus)
}

func (c *conversation) SetTitle(_ context.Context, title string) error {
	c.s.rec.setTitle(title, titleUser)
	return nil
}

func (c *conversation) Breakdown(context.Context) (Breakdown, error) { return c.s.Breakdown(), nil }

func (c *conversation) ApprovePlan(ctx context.Context, a PlanApproval) (Receipt, error) {
	return approvePlan(ctx, c.s, a, c.name)
}

func (q *queue) Waiting(context.Context) (Queued, error) {
	waits, _ := q.s.inbox.queueState()
	return waits, nil
}
func (q *queue) TakeBack(context.Context) ([]Input, error) { return q.s.inbox.takeBack(), nil }

func (q *queue) Release(context.Context) error {
	q.s.releaseQueue()
	return nil
}

func (m *models) SetModel(ctx context.Context, selector string) error {
	return m.s.modelState.choose(ctx, selector)
}

func (m *models) SetThinking(_ context.Context, level llm.Level) error {
	m.s.modelState.think(level, true)
	return nil
}
func (m *models) SetMode(_ context.Context, mode string) error { return m.s.modes.set(mode) }

func (t *tree) Navigate(ctx context.Context, id string, o Navigation) (string, error) {
	return t.s.Navigate(ctx, id, o)
}

func (t *tree) SetLabel(_ context.Context, id, label string) error {
	return t.s.rec.setLabel(id, label)
}

func (q *questions) Open(context.Context) ([]Question, error) { return q.s.desk.Open(), nil }
func (q *questions) Answer(_ context.Context, id string, r Reply) error {
	return q.s.desk.Answer(id, r, q.name)
}
