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

// Handle is what a face does with a session, wherever the session lives: in this process,
// or in another that owns it. It hands out one small interface for each part of it. All
// of them take and give plain data; none gives what lives in the owner. Where the owner
// is another process, any error may be [ErrOwnerGone] too, and [ErrDenied] where the
// connection has not the right.
type Handle interface {
	// Facts are the figures of this moment. They never wait.
	Facts() Facts
	Conversation() Conversation
	Queue() Queue
	Models() Models
	Policies() Policies
	Tree() Tree
	Tools() Tools
	Work() Work
	Jobs() Jobs
	Questions() Questions
	Consoles() Consoles
	Permissions() Permissions
	Changes() Changes
	Transcript() Transcript
	// Events reads what happens from a cursor on; the zero one is now. A feed from a cursor
	// of another epoch begins with the [OwnerChanged] of this one.
	Events(from Cursor) Feed
	// Close leaves the session; where Owns says so, it ends it.
	Close() error
	Owns() bool
}

// Conversation is talking with the model.
type Conversation interface {
	// Submit takes a message in, and returns when it is on the disk; see [Session.Submit].
	Submit(ctx context.Context, in Input) (Receipt, error)
	// Wait waits for the end of all that is done for a message, or of ctx, which stops
	// nothing.
	Wait(ctx context.Context, id string) (agent.Outcome, error)
	// Resend goes on from an answer that failed or was stopped; see [Session.Resend].
	Resend(ctx context.Context) (Receipt, error)
	// Abort stops what is under way: an answer, its calls, a wait, a compaction, a
	// command. What waits is held.
	Abort(ctx context.Context) error
	// AbortRetry ends the wait before a request is repeated: the prompt ends with the error.
	AbortRetry(ctx context.Context) error
	// AbortCommand stops the person's own commands, and nothing else.
	AbortCommand(ctx context.Context) error
	// Aside answers a question beside the conversation, which keeps nothing of it.
	Aside(ctx context.Context, question string, delta func(string)) (answer string, err error)
	// Run runs a command of the person's own.
	Run(ctx context.Context, command string, private bool, output func(chunk string)) (CommandResult, error)
	Compact(ctx context.Context, instructions string) error
	Shake(ctx context.Context, kind string) (freed int, err error)
	Handoff(ctx context.Context, focus string) (document string, err error)
	SetTitle(ctx context.Context, title string) error
	Breakdown(ctx context.Context) (Breakdown, error)
}

// Queue is what waits to be read by the model. A [QueueChanged] event comes with each
// change.
type Queue interface {
	Waiting(ctx context.Context) (Queued, error)
	// TakeBack gives all of it back, as it was written.
	TakeBack(ctx context.Context) ([]Input, error)
	// Release lets what is held begin.
	Release(ctx context.Context) error
}

// Models is which model answers, and how.
type Models interface {
	SetModel(ctx context.Context, selector string) error
	SetThinking(ctx context.Context, level llm.Level) error
	SetMode(ctx context.Context, mode string) error
}

// Policies are what the session does by itself, for as long as it lives. A [PolicyChanged]
// event comes with each change.
type Policies interface {
	Policy(ctx context.Context) (Policy, error)
	// Change gives the policy as it is then.
	Change(ctx context.Context, c PolicyChange) (Policy, error)
}

// Tree is moving in the conversation.
type Tree interface {
	Navigate(ctx context.Context, id string, o Navigation) (edit string, err error)
	SetLabel(ctx context.Context, id, label string) error
}

// Tools are what the model can do.
type Tools interface {
	List(ctx context.Context) ([]ToolState, error)
	// Offer offers exactly the tools of these names, from the next request on.
	Offer(ctx context.Context, names []string) error
	// Force has the first answer to the next prompt call a tool.
	Force(ctx context.Context, name string) error
}

// Work is what the session works on: the list of work, the goal, and words that are kept.
type Work interface {
	Todos(ctx context.Context) ([]todo.Phase, error)
	SetTodos(ctx context.Context, phases []todo.Phase) error
	Goal(ctx context.Context) (Goal, error)
	SetGoal(ctx context.Context, g Goal) error
	// Pin keeps words for the model, whatever is condensed; Unpin takes back what Pins has.
	Pins(ctx context.Context) ([]string, error)
	Pin(ctx context.Context, text string) error
	Unpin(ctx context.Context, text string) error
}

// Jobs are the commands in the background. A [JobsChanged] event comes when one has
// started or ended.
type Jobs interface {
	// List returns them oldest first; of those that have ended the last 100.
	List(ctx context.Context) ([]Job, error)
	// Kill ends a job with all it started, and returns when it has ended.
	Kill(ctx context.Context, id string) error
	// Output is the end of what a job wrote so far, at most 50 KB. The model's own reading
	// of it is not disturbed.
	Output(ctx context.Context, id string) (tail string, err error)
}

// Questions are what people are asked.
type Questions interface {
	Open(ctx context.Context) ([]Question, error)
	// Answer answers one of them. The first answer counts; then the error is [ErrSettled].
	Answer(ctx context.Context, id string, r Reply) error
}

// Consoles are the programs in the foreground that have a terminal. [ConsoleOpened] and
// [ConsoleClosed] events tell of them. Where a program has ended, the error is [ErrNoProgram].
type Consoles interface {
	List(ctx context.Context) ([]Console, error)
	// Follow passes on what a program has written, and what it writes, until it ends, ctx does,
	// or output fails. Of what came before, at most 256 KB are passed on; a slow reader misses
	// what it could not take in time.
	Follow(ctx context.Context, id string, output func([]byte) error) error
	// Type types into it.
	Type(ctx context.Context, id string, keys []byte) error
	Resize(ctx context.Context, id string, cols, rows int) error
	// Stop ends it with all it started.
	Stop(ctx context.Context, id string) error
}

// Permissions are the rules by which calls run, while the session lives. Rules are in
// text: bash(go test:*), !edit(.env), ask fetch.
type Permissions interface {
	// Rules are all rules that hold, in the order they are looked at, with Words.
	Rules(ctx context.Context) ([]permit.Rule, error)
	// Grant adds a rule; "" is the scope session.
	Grant(ctx context.Context, rule string, scope permit.Scope) (permit.Rule, error)
	// Revoke takes a rule back, by its id. Rules of flags and configuration have none.
	Revoke(ctx context.Context, id string) error
	// Try gives the calls of this session that have ended and to which the rules, held
	// together, make a difference; also where they hold already.
	Try(ctx context.Context, rules ...string) ([]permit.Tried, error)
}

// Changes are what the turns of sessions have changed in the workspace.
type Changes interface {
	// Turns are the turns that changed something, newest first, those of other
	// sessions and processes too.
	Turns(ctx context.Context) ([]change.Turn, error)
	// Preview says what Undo would do with each path, and does nothing.
	Preview(ctx context.Context, turn string) ([]change.Planned, error)
	// Undo restores what a turn changed; of a turn that is undone it brings the
	// changes back. What someone changed since is left as it is and reported.
	Undo(ctx context.Context, turn string) (*change.Undone, error)
}

// Transcript reads the conversation as it is kept. Elsewhere than in the owner it is a
// copy that grows with the events; entries are fetched when they are asked for, and a
// fetch that takes too long is an error.
type Transcript = transcript.Reader

// Face is [Session.Handle] for a face that comes and goes: its Close only leaves.
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

// Handle is the session for a face in this process. The name tells other faces who
// answered and who said what: "terminal", "script". A handle answers questions, and shows
// the terminals of programs, if answers says so: then they wait for it.
func (s *Session) Handle(name string, answers bool) Handle {
	h := &handle{s: s, name: name, leave: func() {}}
	if answers {
		leave, hide := s.desk.Attend(), s.desk.Screens.Watch()
		h.leave = func() { leave(); hide() }
	}
	return h
}

// handle is a session for one face in its process.
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
func (h *handle) Jobs() Jobs                 { return background{h.s.o.Jobs, h.s.veil.hide} }
func (h *handle) Questions() Questions       { return (*questions)(h) }
func (h *handle) Consoles() Consoles         { return h.s.desk.Screens }
func (h *handle) Permissions() Permissions   { return h.s.o.Permissions }
func (h *handle) Changes() Changes           { return h.s.o.Changes }
func (h *handle) Transcript() Transcript     { return h.s.log }
func (h *handle) Events(from Cursor) Feed    { return h.s.hub.feed(from) }

func (h *handle) Owns() bool { return true }

func (h *handle) Close() error {
	h.leave()
	return h.s.Close()
}

// Facts are the figures of this moment.
func (s *Session) Facts() Facts {
	f := Facts{ID: s.log.ID(), Leaf: s.log.Leaf(), Model: s.mind.model(), Mode: s.modes.current(), Stats: s.Stats()}
	f.Path, f.Kept = s.Path()
	f.Sealed = s.o.Sealed
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
	c.s.rec.setTitle(title)
	return nil
}

func (c *conversation) Breakdown(context.Context) (Breakdown, error) { return c.s.Breakdown(), nil }

func (q *queue) Waiting(context.Context) (Queued, error) {
	waits, _ := q.s.post.queueState()
	return waits, nil
}
func (q *queue) TakeBack(context.Context) ([]Input, error) { return q.s.post.takeBack(), nil }

func (q *queue) Release(context.Context) error {
	q.s.releaseQueue()
	return nil
}

func (m *models) SetModel(ctx context.Context, selector string) error {
	return m.s.mind.choose(ctx, selector)
}

func (m *models) SetThinking(_ context.Context, level llm.Level) error {
	m.s.mind.think(level, true)
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
