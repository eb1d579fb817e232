package session

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool/permit"
)

// Events of a session, in addition to those of its loop. The comment names the type of
// [Event.Data] if there is any, and the other fields that are set.
const (
	RetryStart      agent.EventType = "auto_retry_start"       // *RetryInfo
	RetryEnd        agent.EventType = "auto_retry_end"         // *RetryInfo
	FallbackApplied agent.EventType = "retry_fallback_applied" // *Change
	Promoted        agent.EventType = "context_promotion"      // *Change
	CompactionStart agent.EventType = "auto_compaction_start"  // *CompactionInfo
	CompactionEnd   agent.EventType = "auto_compaction_end"    // *CompactionInfo
	Pruned          agent.EventType = "context_pruned"         // *CompactionInfo
	ModelChanged    agent.EventType = "model_changed"          // *Change
	ThinkingChanged agent.EventType = "thinking_changed"       // Text: the level
	TitleChanged    agent.EventType = "title_changed"          // Text
	LabelChanged    agent.EventType = "label_changed"          // EntryID; Text: the label
	TreeMoved       agent.EventType = "session_tree"           // EntryID: the leaf; Text: a prompt to edit
	Rewound         agent.EventType = "rewound"                // *Rewind; EntryID: the report
	AdvisorSpoke    agent.EventType = "advisor"                // *Advised; Text: the remark, "" for none
	CacheReport     agent.EventType = "cache_report"           // *CacheInfo
	PolicyChanged   agent.EventType = "policy_changed"         // *Policy
	ModeChanged     agent.EventType = "mode_changed"           // Text: the mode
	ToolsChanged    agent.EventType = "tools_changed"          // Text: the names of the offered tools
	GoalChanged     agent.EventType = "goal_changed"           // *Goal; Text: its state, "" without a goal
	PlanChanged     agent.EventType = "plan_changed"           // *Plan; Text: its state
	PinsChanged     agent.EventType = "pins_changed"           // the pins changed
	TodosChanged    agent.EventType = "todos_changed"          // the user changed the todos
	QueueChanged    agent.EventType = "queue_changed"          // *Queued: what is queued now
	ConsoleOpened   agent.EventType = "console_opened"         // a program has a terminal to show
	ConsoleClosed   agent.EventType = "console_closed"         // that program ended
	JobsChanged     agent.EventType = "jobs_changed"           // a job started or ended
	AgentChanged    agent.EventType = "subagent_changed"       // *Agent
	TasksChanged    agent.EventType = "tasks_changed"          // the tasks that agents share changed
	CommandStart    agent.EventType = "command_start"          // Text: the user's own command
	CommandOutput   agent.EventType = "command_output"         // Text: a piece of its output
	CommandEnd      agent.EventType = "command_end"            // Text: the command; EntryID
	RulesTriggered  agent.EventType = "ttsr_triggered"         // *Triggered
	CostCounted     agent.EventType = "cost_counted"           // the figures of what came before a resume are there
	Warning         agent.EventType = "warning"                // Text: something that the user should know

	QuestionAsked   agent.EventType = "question_asked"   // *Question
	QuestionSettled agent.EventType = "question_settled" // *Settled
	// AgentSettled comes exactly once for each submitted message, when it is done.
	AgentSettled agent.EventType = "agent_settled" // *SettledTurn
	// OwnerChanged is the first event of an epoch. It has no number.
	OwnerChanged agent.EventType = "owner_changed" // *Owner
	// EventsLost is for one reader that was too slow. It has no number.
	EventsLost agent.EventType = "events_lost" // *Lost
)

// Event is something that happened in a session. Events and transcript entries have one order:
// an event about an entry comes after the entry was appended. What its pointers point to must
// not be modified.
type Event struct {
	Seq uint64 // counts from 1 while one process owns the session: see [Cursor]
	agent.Event
	EntryID string // of message_end: the entry in the transcript
	Turn    string // of agent_start, agent_end and agent_settled: the message that started the turn, see [Receipt]; of message_end: that message
	Text    string
	Data    any // depends on the type
}

// RetryInfo describes a retry of a failed request. In the JSON of the last event it has
// success, attempt and finalError.
type RetryInfo struct {
	Attempt int           `json:"attempt"`
	Max     int           `json:"maxAttempts,omitempty"`
	Delay   time.Duration `json:"-"`
	DelayMS int64         `json:"delayMs,omitempty"`
	Error   string        `json:"errorMessage,omitempty"` // what went wrong; at the end, what remained wrong
	Success bool          `json:"-"`                      // at the end: there was an answer
}

// CompactionInfo describes a compaction, or a shortening of old outputs.
type CompactionInfo struct {
	Reason  string `json:"reason"` // manual, threshold, overflow, incomplete, idle; of pruning: superseded, old, shake
	Action  string `json:"action,omitempty"`
	Before  int    `json:"tokensBefore,omitempty"`
	After   int    `json:"tokensAfter,omitempty"`
	Summary string `json:"summary,omitempty"` // the start of it
	Aborted bool   `json:"aborted,omitempty"`
	Error   string `json:"errorMessage,omitempty"`
}

// Triggered says that rules apply to what the model has just written.
type Triggered struct {
	Rules   []Rule `json:"rules"`
	Stopped bool   `json:"stopped,omitempty"` // the answer was stopped, and the model answers again
}

// Names returns the names of the rules, for people.
func (t *Triggered) Names() string {
	var names []string
	for _, r := range t.Rules {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// Change says that one model replaced another.
type Change struct {
	From string `json:"from"`
	To   string `json:"to"`
	Role string `json:"role,omitempty"`
	Why  string `json:"why,omitempty"`
}

// CacheInfo says how much of a request was in the provider's cache.
type CacheInfo struct {
	Read  int `json:"read"`  // tokens
	Write int `json:"write"` // tokens
	Fresh int `json:"fresh"` // tokens that were neither read nor written
	// Missed says why less was read than the previous request had: what changed first ("system
	// prompt", "tools", "message 12 (toolResult)", "model"), or that the cache expired; "" if
	// nothing was missed.
	Missed string `json:"missed,omitempty"`
}

// Cursor is a position among the events of a session. Each owner starts a new epoch and counts
// from 1. The zero Cursor is now.
type Cursor struct {
	Epoch string `json:"epoch,omitempty"` // "" is the current one
	Seq   uint64 `json:"seq,omitempty"`   // of the next event to read; 0 is the start of the epoch
}

// Owner says who owns a session from now on.
type Owner struct {
	Epoch string `json:"epoch"`
	// LastEntry is the last entry of the transcript when the epoch started, and Entries their
	// number: whoever has seen these has missed nothing.
	LastEntry string `json:"lastEntry,omitempty"`
	Entries   int    `json:"entries"`
}

// Lost says that one reader won't get some events: it was too slow, or its cursor is from
// another epoch. The transcript has what they said.
type Lost struct {
	Events uint64 `json:"events,omitempty"` // how many; 0 means unknown
}

// Queued is what waits for the model to read it, in order.
type Queued struct {
	Steering  []Waiting `json:"steering,omitempty"`
	FollowUps []Waiting `json:"followUps,omitempty"`
	// Held means that nothing of it is sent until the user acts: the previous run was stopped,
	// or its process has ended.
	Held bool `json:"held,omitempty"`
}

// Waiting is a queued message.
type Waiting struct {
	ID       string `json:"id"`
	Text     string `json:"text"`               // without files, but with their names
	Attached int    `json:"attached,omitempty"` // images and files that go with it
	By       string `json:"by,omitempty"`       // the face that submitted it
}

// SettledTurn says that everything that was done for some messages has ended.
type SettledTurn struct {
	IDs    []string     `json:"ids"` // as in their receipts
	Reason agent.Reason `json:"reason"`
	Error  string       `json:"error,omitempty"`
	// ResumeAt is when to ask the provider again, if it asked for a longer wait than burin
	// waits by itself.
	ResumeAt time.Time `json:"resumeAt,omitzero"`
}

// Facts are a snapshot of a session's figures, for faces. They cost the same in a long
// conversation.
type Facts struct {
	ID     string     `json:"id"`
	Path   string     `json:"path,omitempty"`   // of the session file; "" if there is none
	Kept   bool       `json:"kept,omitempty"`   // there is something to resume
	Sealed bool       `json:"sealed,omitempty"` // the file is encrypted: faces must store nothing of the session in plain text
	Model  *llm.Model `json:"model"`            // read-only
	// Unusable says in one line why Model can't be asked; "" is that it can, as far as is known. It ends when another
	// model is chosen, or Model has answered.
	Unusable string    `json:"unusable,omitempty"`
	Mode     string    `json:"mode,omitempty"`
	Leaf     string    `json:"leaf,omitempty"` // of the transcript
	Stats    Stats     `json:"stats"`
	Working  bool      `json:"working,omitempty"` // a prompt runs
	Since    time.Time `json:"since,omitzero"`    // since when
}

// Same reports whether two facts are equal. It compares models by pointer: a change replaces the
// whole model.
func (f *Facts) Same(other *Facts) bool {
	x, y := *f, *other
	cost := func(f *Facts) any {
		if f.Stats.Usage.Cost == nil {
			return nil
		}
		return *f.Stats.Usage.Cost
	}
	if cost(&x) != cost(&y) {
		return false
	}
	x.Stats.Usage.Cost, y.Stats.Usage.Cost = nil, nil
	return x == y
}

// QuestionKind says which kind of answer a question needs.
type QuestionKind string

const (
	AskPermission QuestionKind = "permission" // whether a call may run: Permission; the answer is Reply.Permission
	AskChoice     QuestionKind = "choice"     // the model's own questions: Choices; the answer is Reply.Choices
	AskSecret     QuestionKind = "secret"     // a line that is not shown: Title; the answer is Reply.Text
	AskConfirm    QuestionKind = "confirm"    // yes or no: Title, Text; the answer is Reply.Yes
	AskText       QuestionKind = "text"       // a line: Title; the answer is Reply.Text
)

// Question is a question to the user. Any face may answer it.
type Question struct {
	ID     string       `json:"id"`
	Kind   QuestionKind `json:"kind"`
	Title  string       `json:"title,omitempty"`
	Text   string       `json:"text,omitempty"`
	From   string       `json:"from,omitempty"`   // who asks, if it is not the session itself: a sub-agent, a server
	CallID string       `json:"callId,omitempty"` // the tool call that waits for the answer
	// Until is when the question times out; zero means never. The model's own questions then
	// get their recommended options.
	Until time.Time `json:"until,omitzero"`

	Permission *permit.Question `json:"permission,omitempty"`
	Choices    []Choice         `json:"choices,omitempty"`
	// Plan is what a choice is about if the model hands over a plan. Its options are those of
	// [PlanOptions], and [KeepPlanning]; a free-form answer says what to change or adds to an
	// approval; Reply.Text is the plan as the user has changed it.
	Plan *Plan `json:"plan,omitempty"`
	// Schema is the JSON schema of the object to answer with; nil if it is not an object.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Titled puts who asks before a title, if it is not the session itself.
func (q *Question) Titled(title string) string {
	if q.From == "" {
		return title
	}
	return q.From + ": " + title
}

// Choice is one of the model's own questions.
type Choice struct {
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Options     []string `json:"options,omitempty"` // faces add one for a free-form answer
	Multi       bool     `json:"multi,omitempty"`   // several options may be chosen
	Recommended int      `json:"recommended"`       // index of the option that the model recommends; -1 is none
}

// Chosen is the answer to one [Choice].
type Chosen struct {
	Selected []string `json:"selected,omitempty"` // options, in the order in which they were chosen
	Custom   string   `json:"custom,omitempty"`   // a free-form answer; "" if there is none
}

// Reply is the user's answer.
type Reply struct {
	// Dismissed means that the user doesn't want to answer.
	Dismissed  bool            `json:"dismissed,omitempty"`
	Permission *permit.Answer  `json:"permission,omitempty"`
	Choices    []Chosen        `json:"choices,omitempty"` // one for each Choice
	Yes        bool            `json:"yes,omitempty"`
	Text       string          `json:"text,omitempty"`
	Object     json.RawMessage `json:"object,omitempty"` // by the schema
}

// Allow returns the reply that lets a call run once.
func Allow() Reply { return Reply{Permission: &permit.Answer{Allow: true}} }

// Refuse returns the reply that refuses a call; the model reads why.
func Refuse(why string) Reply { return Reply{Permission: &permit.Answer{Note: why}} }

// Settlement says how a question was settled.
type Settlement string

const (
	Answered   Settlement = "answered"    // by By
	TimedOut   Settlement = "timed_out"   // nobody answered in time
	Unattended Settlement = "unattended"  // nobody was there to answer
	Withdrawn  Settlement = "withdrawn"   // the asker no longer waits
	OwnerEnded Settlement = "owner_ended" // the process that asked has ended
)

// Settled says that a question was settled. It leaves out the answers to secret questions.
type Settled struct {
	ID    string     `json:"id"`
	How   Settlement `json:"how"`
	By    string     `json:"by,omitempty"` // the face that answered
	Reply *Reply     `json:"reply,omitempty"`
}
