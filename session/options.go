package session

import (
	"context"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Options of a session.
type Options struct {
	Client  llm.Client
	Request llm.Request // what every request has beside messages and tools
	Tools   []*tool.Tool
	// MoreTools are not offered until SetTools says so.
	MoreTools []*tool.Tool
	Preface   []llm.Message // put in front of the first prompt
	// Parts are pieces of the system prompt that people know by name: instruction
	// files. The rest of it is burin's own words.
	Parts []Part

	// Log keeps the conversation, and what it holds is gone on with. It is closed
	// with the session. nil keeps it in memory.
	Log  *transcript.Log
	Path string // of the session file; "" if there is none
	Mode string // of permission at the beginning, as the system prompt tells of it
	// SetMode puts another mode to work, and says in words for the model what holds
	// then; nil: there is one mode only.
	SetMode func(mode string) (words string, err error)

	// Authorize decides whether a call may run. Its error is what the model reads.
	Authorize func(ctx context.Context, t *tool.Tool, c tool.Call) error
	// BeginTurn opens a turn of the undo journal for a prompt.
	BeginTurn func(id, label string) error
	// Secrets hides values; nil hides nothing.
	Secrets *secret.Vault
	// Meter holds the limits that go beyond this session; nil holds none.
	Meter Meter
	// Open finds another model, by selector, for promotion, fallback and small
	// tasks; nil: there is none but the session's own.
	Open func(ctx context.Context, selector string) (*llm.Model, llm.Client, error)

	Retry      Retry
	Compaction compact.Settings // the zero value is compact.Defaults
	Fallbacks  []string         // models to go on with, in order, when the session's own keeps failing
	NoPromote  bool             // do not go to a larger model when the context overflows
	TitleModel string           // selector of a model that names sessions; "": their first words do
	// Todos are the open tasks that a compaction passes on word for word.
	Todos func() []compact.Todo
	// TodoList and SetTodoList are the list of work, for people.
	TodoList    func() []TodoPhase
	SetTodoList func(phases []TodoPhase) ([]TodoPhase, error)
	// Unfinished reminds the model of what it has not done, when it ends by itself; ""
	// if everything is. It is asked at most three times for a prompt.
	Unfinished func() string
	// Summariser writes summaries in place of the session's model; nil: there is none.
	// It is paid for elsewhere.
	Summariser compact.Asker
	// Artifact keeps a text outside the conversation, and gives where to read it.
	Artifact func(kind, text string) (ref string, err error)

	// Command runs a person's own command; nil: there is no shell. With journal, what
	// it changes is recorded in the turn that is open.
	Command func(ctx context.Context, line string, journal bool, output func(chunk string)) (CommandResult, error)
	// Jobs, KillJob and JobOutput are the commands in the background; nil: there are
	// none. WatchJobs is given what to call when one has started or ended.
	Jobs      func() []Job
	KillJob   func(id string) error
	JobOutput func(id string) (tail string, err error)
	WatchJobs func(changed func())
	// Expand puts what a text stands for in its place (templates, file commands), in
	// messages of people. An error keeps the message from being sent.
	Expand      func(ctx context.Context, text string) (string, error)
	Permissions Permissions // for faces; nil: there are no rules
	Changes     Changes     // for faces; nil: nothing can be undone

	// Steering and FollowUp say how many messages that wait are taken at once, Interrupt
	// whether steering stops what runs; "" is the loop's default.
	Steering  agent.QueueMode
	FollowUp  agent.QueueMode
	Interrupt agent.InterruptMode

	MaxTurns int     // requests per prompt; 0 is no limit
	MaxCost  llm.USD // of the whole session, what its transcript tells of before included; 0 is no limit
	// Emit gets every event, in order, one at a time. It must not block for long, and
	// must not call what itself tells an event (SetTitle, SetModel, SetMode, Run, Prompt,
	// Close); Steer, FollowUp and Unqueue it may.
	Emit  func(Event)
	Warn  func(string) // what a person should know; nil drops it
	Close func() error // ends what the tools stand on
	Now   func() time.Time
}

// Part is a piece of the system prompt.
type Part struct{ Name, Text string }

// Handle is what a face does with a session, wherever the session lives.
type Handle interface {
	// Prompt sends a person's message and returns when the model is done, with all
	// that retries and compactions did for it.
	Prompt(ctx context.Context, m llm.Message) agent.Outcome
	// Resend goes on from an answer that failed or was stopped.
	Resend(ctx context.Context) agent.Outcome
	// Steer and FollowUp give a message to a model at work: as soon as it can read
	// it, or when it is done. A QueueChanged event comes with each change.
	Steer(m llm.Message) error
	FollowUp(m llm.Message) error
	Queued() (steering, followUps []llm.Message)
	Unqueue() (steering, followUps []llm.Message)
	// Aside answers a question beside the conversation, which keeps nothing of it.
	Aside(ctx context.Context, question string, delta func(string)) (answer string, err error)
	// Run runs a command of the person's own.
	Run(ctx context.Context, command string, private bool, output func(chunk string)) (CommandResult, error)
	// Abort stops what is under way: an answer, its calls, a wait, a compaction, a
	// command.
	Abort()
	Compact(ctx context.Context, instructions string) error
	Shake(ctx context.Context, kind string) (freed int, err error)
	Navigate(ctx context.Context, id string, o Navigation) (edit string, err error)
	Handoff(ctx context.Context, focus string) (document string, err error)
	Model() *llm.Model
	SetModel(ctx context.Context, selector string) error
	SetThinking(level llm.Level)
	SetTitle(title string)
	SetLabel(id, label string) error
	Mode() string
	SetMode(mode string) error
	Tools() []ToolState
	SetTools(names []string) error
	// Force has the first answer to the next prompt call a tool.
	Force(tool string) error
	Todos() []TodoPhase
	SetTodos(phases []TodoPhase) error
	Jobs() []Job
	KillJob(id string) error
	JobOutput(id string) (tail string, err error)
	Permissions() Permissions
	Changes() Changes
	Breakdown() Breakdown
	// Pin keeps words for the model, whatever is condensed; Unpin takes back what Pins
	// has.
	Pin(text string) error
	Pins() []string
	Unpin(text string) error
	// Goal is what the session works towards; SetGoal changes it.
	Goal() Goal
	SetGoal(g Goal) error
	Events(from uint64) *Feed
	Messages() []llm.Message
	// Log is the transcript, for reading, and Path its file.
	Log() *transcript.Log
	Path() (path string, ok bool)
	Stats() Stats
	Close() error
}

var _ Handle = (*Session)(nil)
