package session

import (
	"encoding/json"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool/permit"
)

// Events of a session, beside those of its loop. What each has in [Event.Data] stands
// behind it; without that, it has none.
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
	LabelChanged    agent.EventType = "label_changed"          // EntryID, Text: its name
	TreeMoved       agent.EventType = "session_tree"           // EntryID: the leaf; Text: words to edit
	CacheReport     agent.EventType = "cache_report"           // *CacheInfo
	PolicyChanged   agent.EventType = "policy_changed"         // *Policy
	ModeChanged     agent.EventType = "mode_changed"           // Text: the mode
	ToolsChanged    agent.EventType = "tools_changed"          // Text: the names of those that are offered
	GoalChanged     agent.EventType = "goal_changed"           // *Goal; Text: its state, "" is no goal
	PinsChanged     agent.EventType = "pins_changed"           // what is kept word for word has changed
	TodosChanged    agent.EventType = "todos_changed"          // a person changed the list of work
	QueueChanged    agent.EventType = "queue_changed"          // *Queued: what waits now
	ConsoleOpened   agent.EventType = "console_opened"         // a program has a terminal to show
	ConsoleClosed   agent.EventType = "console_closed"         // it has ended
	JobsChanged     agent.EventType = "jobs_changed"           // a job has started or ended
	CommandStart    agent.EventType = "command_start"          // Text: a person's own command
	CommandOutput   agent.EventType = "command_output"         // Text: a piece of what it writes
	CommandEnd      agent.EventType = "command_end"            // Text: the command; EntryID
	Warning         agent.EventType = "warning"                // Text: what a person should know

	QuestionAsked   agent.EventType = "question_asked"   // *Question
	QuestionSettled agent.EventType = "question_settled" // *Settled
	// AgentSettled comes once for each message that was submitted, when nothing more will
	// happen for it.
	AgentSettled agent.EventType = "agent_settled" // *SettledTurn
	// OwnerChanged is the first event of an epoch. It has no number.
	OwnerChanged agent.EventType = "owner_changed" // *Owner
	// EventsLost is told to one reader, that was too slow. It has no number of its own.
	EventsLost agent.EventType = "events_lost" // *Lost
)

// Event is something that happened in a session. Events and entries of the
// transcript have one order: an event that tells of an entry comes after it was
// appended. What its pointers lead to is for reading.
type Event struct {
	Seq uint64 // counts from 1, in the life of one owner: see [Cursor]
	agent.Event
	EntryID string // of message_end: the entry in the transcript
	Turn    string // of agent_start, agent_end and agent_settled: the message that began it, see [Receipt]; of message_end: that message
	Text    string
	Data    any // as the list of types says
}

// RetryInfo tells of an attempt to repeat a failed request. At the end its JSON has
// success, attempt and finalError.
type RetryInfo struct {
	Attempt int           `json:"attempt"`
	Max     int           `json:"maxAttempts,omitempty"`
	Delay   time.Duration `json:"-"`
	DelayMS int64         `json:"delayMs,omitempty"`
	Error   string        `json:"errorMessage,omitempty"` // what went wrong; at the end, what remained wrong
	Success bool          `json:"-"`                      // at the end: there was an answer
}

// CompactionInfo tells of a compaction, or of outputs that were shortened.
type CompactionInfo struct {
	Reason  string `json:"reason"` // manual, threshold, overflow, incomplete, idle; of pruning: superseded, old, shake
	Action  string `json:"action,omitempty"`
	Before  int    `json:"tokensBefore,omitempty"`
	After   int    `json:"tokensAfter,omitempty"`
	Summary string `json:"summary,omitempty"` // short
	Aborted bool   `json:"aborted,omitempty"`
	Error   string `json:"errorMessage,omitempty"`
}

// Change is a model that took the place of another.
type Change struct {
	From string `json:"from"`
	To   string `json:"to"`
	Role string `json:"role,omitempty"`
	Why  string `json:"why,omitempty"`
}

// CacheInfo says how much of a request the vendor had in its cache.
type CacheInfo struct {
	Read  int `json:"read"`  // tokens
	Write int `json:"write"` // tokens
	Fresh int `json:"fresh"` // tokens that were neither
	// Missed is why less was read than the request before it had: what changed
	// first ("system prompt", "tools", "message 12 (toolResult)", "model"), or that
	// the cache has ended; "" if nothing was missed.
	Missed string `json:"missed,omitempty"`
}

// Cursor is a place among the events of a session. Each owner begins a new epoch and
// counts from 1. The zero Cursor is now.
type Cursor struct {
	Epoch string `json:"epoch,omitempty"` // "": the one that is
	Seq   uint64 `json:"seq,omitempty"`   // of the next event to read; 0: the beginning of the epoch
}

// Owner is who owns a session from now on.
type Owner struct {
	Epoch string `json:"epoch"`
	// LastEntry is the last entry of the transcript when the epoch began, Entries how many
	// there were: who has seen these has missed nothing.
	LastEntry string `json:"lastEntry,omitempty"`
	Entries   int    `json:"entries"`
}

// Lost are events that one reader will not get: it was too slow, or its cursor is of
// another epoch. What they said is in the transcript.
type Lost struct {
	Events uint64 `json:"events,omitempty"` // how many; 0: not known
}

// Queued is what waits to be read by the model, in order.
type Queued struct {
	Steering  []Waiting `json:"steering,omitempty"`
	FollowUps []Waiting `json:"followUps,omitempty"`
	// Held says that nothing of it is sent before a person does something: the run before
	// was stopped, or the process that it was given to has ended.
	Held bool `json:"held,omitempty"`
}

// Waiting is a message that waits.
type Waiting struct {
	ID       string `json:"id"`
	Text     string `json:"text"`               // without files, which it names
	Attached int    `json:"attached,omitempty"` // pictures and files that go with it
	By       string `json:"by,omitempty"`       // the face that submitted it
}

// SettledTurn is the end of all that was done for messages.
type SettledTurn struct {
	IDs    []string     `json:"ids"` // as their receipts have them
	Reason agent.Reason `json:"reason"`
	Error  string       `json:"error,omitempty"`
	// ResumeAt is when the provider can be asked again, where it asked for a longer wait than
	// burin waits by itself.
	ResumeAt time.Time `json:"resumeAt,omitzero"`
}

// Facts are the figures of a session at a moment, for faces. They cost the same in a long
// conversation.
type Facts struct {
	ID      string     `json:"id"`
	Path    string     `json:"path,omitempty"`   // of the session file; "" where there is none
	Kept    bool       `json:"kept,omitempty"`   // there is something in it to go on with
	Sealed  bool       `json:"sealed,omitempty"` // the file is encrypted: a face keeps nothing of the session in the clear
	Model   *llm.Model `json:"model"`            // for reading
	Mode    string     `json:"mode,omitempty"`
	Leaf    string     `json:"leaf,omitempty"` // of the transcript
	Stats   Stats      `json:"stats"`
	Working bool       `json:"working,omitempty"` // a prompt runs
	Since   time.Time  `json:"since,omitzero"`    // it does
}

// QuestionKind says which answer a question wants.
type QuestionKind string

const (
	AskPermission QuestionKind = "permission" // whether a call may run: Permission; answered by Reply.Permission
	AskChoice     QuestionKind = "choice"     // the model's own questions: Choices; answered by Reply.Choices
	AskSecret     QuestionKind = "secret"     // a line that is not shown: Title; answered by Reply.Text
	AskConfirm    QuestionKind = "confirm"    // yes or no: Title, Text; answered by Reply.Yes
	AskText       QuestionKind = "text"       // a line: Title; answered by Reply.Text
)

// Question is a question to a person, whoever of those at the session answers it.
type Question struct {
	ID     string       `json:"id"`
	Kind   QuestionKind `json:"kind"`
	Title  string       `json:"title,omitempty"`
	Text   string       `json:"text,omitempty"`
	From   string       `json:"from,omitempty"`   // who asks, where that is not the session itself: a sub-agent, a server
	CallID string       `json:"callId,omitempty"` // the tool call that waits for the answer
	// Until is when nobody waits for an answer any more; zero: never. The model's own
	// questions are then answered with their recommended options.
	Until time.Time `json:"until,omitzero"`

	Permission *permit.Question `json:"permission,omitempty"`
	Choices    []Choice         `json:"choices,omitempty"`
	// Schema is the JSON schema of an object that is asked for; nil: none is.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Choice is one question of the model's own.
type Choice struct {
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Options     []string `json:"options,omitempty"` // faces add one for words of the person's own
	Multi       bool     `json:"multi,omitempty"`   // several options may be chosen
	Recommended int      `json:"recommended"`       // index of the option the model would choose; -1 is none
}

// Chosen is the answer to one [Choice].
type Chosen struct {
	Selected []string `json:"selected,omitempty"` // options, in the order in which they were chosen
	Custom   string   `json:"custom,omitempty"`   // the person's own words; "" if none
}

// Reply is what a person answers.
type Reply struct {
	// Dismissed is that the person does not want to answer.
	Dismissed  bool            `json:"dismissed,omitempty"`
	Permission *permit.Answer  `json:"permission,omitempty"`
	Choices    []Chosen        `json:"choices,omitempty"` // one to each
	Yes        bool            `json:"yes,omitempty"`
	Text       string          `json:"text,omitempty"`
	Object     json.RawMessage `json:"object,omitempty"` // of a schema
}

// Allow is the reply that lets a call run, once.
func Allow() Reply { return Reply{Permission: &permit.Answer{Allow: true}} }

// Refuse is the reply that does not let a call run; the model reads why.
func Refuse(why string) Reply { return Reply{Permission: &permit.Answer{Note: why}} }

// How a question was settled.
type Settlement string

const (
	Answered   Settlement = "answered"    // by By
	TimedOut   Settlement = "timed_out"   // nobody did in time
	Unattended Settlement = "unattended"  // nobody is there who could
	Withdrawn  Settlement = "withdrawn"   // what asked does not wait any more
	OwnerEnded Settlement = "owner_ended" // the process that asked has ended
)

// Settled tells that a question is not open any more. Of secrets the answer is not told.
type Settled struct {
	ID    string     `json:"id"`
	How   Settlement `json:"how"`
	By    string     `json:"by,omitempty"` // the face that answered
	Reply *Reply     `json:"reply,omitempty"`
}
