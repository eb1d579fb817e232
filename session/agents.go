package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// AgentState says what a sub-agent does.
type AgentState string

const (
	AgentQueued  AgentState = "queued"  // waits for one of the places that run at a time
	AgentRunning AgentState = "running" // works
	AgentIdle    AgentState = "idle"    // is done; a message makes it work again
	AgentParked  AgentState = "parked"  // the same, but its session is closed until then
	AgentStopped AgentState = "stopped" // was ended, and takes no more messages
)

// Agent is a sub-agent of a session: a session of its own that works on a task.
type Agent struct {
	ID          string     `json:"id"`                    // unique in the session; of an agent's agent, the agent's id, a dot, and its own name
	Agent       string     `json:"agent"`                 // the definition, such as explore
	Parent      string     `json:"parent,omitempty"`      // id of the agent that started it; "" is the session itself
	CallID      string     `json:"callId,omitempty"`      // the call that started it
	Index       int        `json:"index"`                 // among those of the call
	Description string     `json:"description,omitempty"` // for people
	Task        string     `json:"task"`                  // the start of it
	Background  bool       `json:"background,omitempty"`  // nobody waits for it
	State       AgentState `json:"state"`
	Error       string     `json:"error,omitempty"` // why it failed; "" if it didn't
	Tool        string     `json:"tool,omitempty"`  // that runs, and what it works on
	Said        string     `json:"said,omitempty"`  // the last line of its last answer
	Model       string     `json:"model,omitempty"`
	Requests    int        `json:"requests"`
	Calls       int        `json:"calls"`
	Tokens      int        `json:"tokens"`            // input, output and cache writes
	Context     int        `json:"context,omitempty"` // tokens of its conversation
	Window      int        `json:"window,omitempty"`
	Cost        llm.USD    `json:"cost"`              // in billionths of a dollar
	Known       bool       `json:"known"`             // the cost is
	Waiting     string     `json:"waiting,omitempty"` // the question that it waits for an answer to
	Started     time.Time  `json:"started"`
	Ended       time.Time  `json:"ended,omitzero"`
	Path        string     `json:"path,omitempty"` // of its session file; "" if there is none
}

// Failed reports whether the agent's last piece of work failed.
func (a *Agent) Failed() bool { return a.Error != "" }

// Active reports whether the agent works or will.
func (a *Agent) Active() bool { return a.State == AgentQueued || a.State == AgentRunning }

// Agents are the sub-agents of a session and of its agents. [AgentChanged] is emitted when one
// starts, gets on, or ends.
type Agents interface {
	// List returns them in the order in which they were started.
	List(ctx context.Context) ([]Agent, error)
	// Open returns a handle of an agent's session. The session of a parked agent is opened
	// again. Closing the handle only leaves it.
	Open(ctx context.Context, id, name string, answers bool) (Handle, error)
	// Stop ends an agent with its own agents. Its transcript stays.
	Stop(ctx context.Context, id string) error
	// Tasks returns the list of tasks that the session shares with its agents. [TasksChanged] is
	// emitted when it changed.
	Tasks(ctx context.Context) ([]SharedTask, error)
}

// SharedTaskState says how far a shared task is.
type SharedTaskState string

const (
	SharedTaskOpen    SharedTaskState = "open"
	SharedTaskClaimed SharedTaskState = "claimed" // somebody works on it
	SharedTaskDone    SharedTaskState = "done"
)

// SharedTask is a task on the list that a session shares with its agents.
type SharedTask struct {
	ID    string          `json:"id"`
	Title string          `json:"title"`
	State SharedTaskState `json:"state"`
	Owner string          `json:"owner,omitempty"` // the agent that has claimed or done it; "main" is the session
	After []string        `json:"after,omitempty"` // ids of the tasks that must be done first
	Note  string          `json:"note,omitempty"`  // of the one who has done or released it
}

// CustomTasks is the custom type of entries with changes of the shared tasks.
const CustomTasks = "agent_tasks"

// KeepTasks records a change of the tasks that s shares with its agents, and tells faces.
func KeepTasks(s *Session, change any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	s.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomTasks, Data: data})
	s.rec.emit(Event{Event: agent.Event{Type: TasksChanged}})
	return nil
}

// KeptTasks returns the changes that were recorded, oldest first. The agents of a session don't go
// back when it moves to another branch, so those of all branches count.
func KeptTasks(s *Session) (changes []json.RawMessage) {
	for _, n := range s.log.Nodes() {
		if n.Type != transcript.TypeCustom || n.Name != CustomTasks && n.Name != "" {
			continue
		}
		if e, err := s.log.Entry(n.ID); err == nil && e.CustomType == CustomTasks {
			changes = append(changes, e.Data)
		}
	}
	return changes
}

// Crew are the agents of a session in its own process.
type Crew interface {
	Agents
	// Watch says whom to tell of changes. It is called once, before there are any.
	Watch(changed func(Agent))
	// Spent returns what was spent on agents by earlier owners of the session. It may take a
	// while.
	Spent(ctx context.Context) []AgentCost
	// Close ends all of them; their transcripts stay.
	Close() error
	// Undelivered reports whether the results of agents in the background are still to come.
	Undelivered() bool
}

// AgentCost is what an agent has cost.
type AgentCost struct {
	Requests int
	Usage    llm.Usage
	Cost     llm.USD
	Unknown  bool // some of it isn't known
}

var errNoAgents = errors.New("this session has no sub-agents")

// ErrNoAgent means that there is no agent with that id.
var ErrNoAgent = errors.New("no such agent")

// noAgents is the Agents of a session that can't have any.
type noAgents struct{}

func (noAgents) List(context.Context) ([]Agent, error) { return nil, nil }
func (noAgents) Open(context.Context, string, string, bool) (Handle, error) {
	return nil, errNoAgents
}
func (noAgents) Stop(context.Context, string) error          { return errNoAgents }
func (noAgents) Tasks(context.Context) ([]SharedTask, error) { return nil, nil }

func (h *handle) Agents() Agents {
	if h.s.o.Crew == nil {
		return noAgents{}
	}
	return h.s.o.Crew
}

// watchCrew tells faces of the session's agents.
func watchCrew(s *Session) {
	if s.o.Crew == nil {
		return
	}
	s.o.Crew.Watch(func(a Agent) {
		a.Task, a.Description, a.Said, a.Tool, a.Error = s.redactor.hide(a.Task), s.redactor.hide(a.Description), s.redactor.hide(a.Said), s.redactor.hide(a.Tool), s.redactor.hide(a.Error)
		s.hub.emit(Event{Event: agent.Event{Type: AgentChanged}, Data: &a})
	})
}

// Lender is what a session lends to its sub-agents: its cost limits and its place in the
// ledger. It stays valid as long as the session.
type Lender struct {
	money   *money
	session string // in the ledger: that of the outermost session
	turn    string
}

// Lend returns what sub-agents that are started now get from s.
func Lend(s *Session) *Lender {
	x := s.money
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lender != nil {
		return &Lender{x, x.lender.session, x.lender.turn}
	}
	return &Lender{x, x.log.ID(), x.ledgerTurn()}
}

// Model returns what answers in s now, for agents that have no model of their own.
func (l *Lender) Model() Opened {
	r, client := l.money.modelState.now()
	return Opened{Model: r.Model, Client: client, Level: r.Thinking.Level}
}

// check refuses a request when a limit above is reached.
func (l *Lender) check() error {
	if l == nil {
		return nil
	}
	if err := l.money.overGoal(); err != nil {
		return err
	}
	if err := l.money.overLimit(); err != nil {
		return err
	}
	return l.money.lender.check()
}

// Left returns what may still be spent under the cost limits of the sessions above; limited is false
// if they have none.
func (l *Lender) Left() (left llm.USD, limited bool) {
	for ; l != nil; l = l.money.lender {
		if l.money.most <= 0 {
			continue
		}
		if own := max(0, l.money.most-l.money.total()); !limited || own < left {
			left = own
		}
		limited = true
	}
	return left, limited
}

// limited reports whether the cost must be known because of a limit above.
func (l *Lender) limited() bool {
	return l != nil && (l.money.modelState.priced() || l.money.lender.limited())
}

// add adds what an agent's request has cost to all sessions above it.
func (l *Lender) add(requests int, u llm.Usage, spent, guessed llm.USD, unknown bool) {
	for ; l != nil; l = l.money.lender {
		x := l.money
		x.mu.Lock()
		x.count += requests
		x.usage = x.usage.Add(u)
		x.spent += spent
		x.guessed += guessed
		x.unknown = x.unknown || unknown
		x.mu.Unlock()
	}
}
