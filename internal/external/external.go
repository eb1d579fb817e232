// Package external lets another agent answer where a model would: a program that speaks the
// Agent Client Protocol. An [Agent] is an [llm.Client], so that the session around it is the
// same as with a model.
//
// # How a prompt becomes answers
//
// The agent works on a prompt for as long as it likes, and calls tools of its own meanwhile. To
// the loop that looks like a model: [Agent.Stream] sends what is new in the conversation, and
// gives what the agent says until it makes a call. There the answer ends with a call of one of
// [Agent.Tools], whose Run waits until the agent is done with it, and the next Stream goes on
// reading the same prompt.
//
// # Who decides
//
// A call that the agent asks about (session/request_permission), a file that it has burin read
// or write and a command that it has burin run are gated: the session judges them like the
// calls of a model, and the agent gets the answer for this one time. What the agent does without
// asking can only be watched. If a rule refuses it, the prompt is canceled.
//
// # Promises
//
// Nothing here waits for an agent longer than the caller's context. What the agent sends is
// bounded, also while nobody reads it. An agent that ends, or does not do what it is told, costs
// the prompt and not the session: the next prompt starts it again.
package external

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

// Provider is that of an agent's answers.
const Provider = "acp"

// Limits of what an agent can make burin keep.
const (
	maxUnread  = 16 << 20  // bytes that it has said and nobody has read
	maxCalls   = 10_000    // calls of one prompt
	maxContent = 256 << 10 // bytes of the output of a call
	maxInput   = 16 << 10  // bytes of the arguments of a call that are shown
	maxQuote   = 100 << 10 // bytes of a conversation that a new session of the agent is told
	maxPrompt  = 32 << 20  // bytes of a prompt
)

const (
	startTime  = 2 * time.Minute        // for an agent to start: npx may have to download it
	cancelTime = 5 * time.Second        // see Options.Patience
	endTime    = time.Second            // in which an agent that does nothing ends by itself
	askTime    = 150 * time.Millisecond // in which an agent asks about a call that it has announced
)

// Ground is what the agent may use of burin.
type Ground interface {
	// Judge decides whether a call may run: nil allows it. It asks a person where rules and mode
	// say so.
	Judge(ctx context.Context, t *tool.Tool, c tool.Call) error
	// Refuses returns why a call may not run whatever a person says; nil if there is no reason.
	Refuses(t *tool.Tool, c tool.Call) error
	// Name gives the workspace's name of a path. That of a path outside is the path.
	Name(path string) string
	// Reach returns why a file is out of reach; nil if it is not.
	Reach(name string) error
	// ReadText gives the text of a file, and WriteText replaces it.
	ReadText(ctx context.Context, name string) (string, error)
	WriteText(ctx context.Context, name, text string) (*tool.Result, error)
	// Start starts a command.
	Start(ctx context.Context, c Command) (Terminal, error)
	// Plan keeps the agent's list of work.
	Plan(tasks []todo.Task) *tool.Result
	// Watch notes what the agent changes in the workspace until end is called, for undo.
	Watch(ctx context.Context) (end func())
}

// Command is a command that the agent has burin run.
type Command struct {
	Line string            // for a shell
	Dir  string            // absolute; "" is the workspace
	Env  map[string]string // added to the environment
}

// Terminal is such a command.
type Terminal interface {
	// Output returns the end of what it wrote, and whether there was more.
	Output() (text string, cut bool)
	Done() <-chan struct{}
	// ExitCode is that of a command that has ended; -1 if it has none.
	ExitCode() int
	Kill()
}

// Options configure an agent.
type Options struct {
	Name string // for people, and as the id of the model
	// Program prepares the agent's process. Its streams are not set.
	Program func(ctx context.Context) (*exec.Cmd, error)
	Kill    func(*exec.Cmd) // ends it and all that it started
	Dir     string          // the workspace, absolute
	AddDirs []string
	Ground  Ground
	Version string // of burin
	Past    Past
	// Most is the cost limit of the session and Spent what it had cost before; 0 is no limit.
	Most, Spent llm.USD
	// Left gives what may still be spent under other limits, without what the agent has reported since its
	// last answer. limited is false if there are none; nil: there are none.
	Left func() (left llm.USD, limited bool)
	// Instructions are told with the first prompt of each session of the agent's; "": none.
	Instructions string
	// Patience is how long an agent may take to end a canceled prompt before it is stopped; 0 is
	// five seconds.
	Patience time.Duration
	Warn     func(string)       // what a person should know, a line each
	Titled   func(title string) // is told the title that the agent gives the session
	NoImages bool               // the agent gets a note in place of each image
}

// Past is where the agent left a session that is resumed.
type Past struct {
	Session string    // the agent's id of it; "": the agent does not know the conversation
	Last    time.Time // when its last answer began
	Cost    llm.USD   // what it had cost
}

// Agent is an external agent in the place of a model. It is safe for concurrent use.
type Agent struct {
	o     Options
	tools map[string]*tool.Tool

	mu      sync.Mutex
	changed chan struct{} // closed when anything below has changed
	closed  bool
	link    *link            // to the process; nil: it does not run
	turn    *turn            // the prompt that the agent works on; nil: none
	winding *turn            // one that was canceled and has not ended; nil: none
	telling sync.WaitGroup   // cancels that are on their way to the agent
	calls   map[string]*call // of turn, by burin's id
	byAgent map[string]*call // by the agent's id
	judging int              // calls that are judged while the loop waits for others

	session string    // the agent's id; "": it has none that has the conversation
	last    time.Time // when its last answer began; zero: it has said nothing
	before  time.Time // the one before, if the last one failed
	failed  bool

	commands []acp.Command
	money    account
}

// New makes an agent. Its process starts with the first prompt.
func New(o Options) *Agent {
	a := &Agent{o: o, changed: make(chan struct{}), session: o.Past.Session, last: o.Past.Last, money: account{last: o.Past.Cost}}
	a.tools = a.makeTools()
	a.forgetCalls()
	return a
}

// Model describes an agent as a model. Its price is what it says of itself.
func Model(name string) *llm.Model {
	free := llm.PerMillion(0)
	return &llm.Model{
		ID: name, Provider: Provider, Name: name, API: llm.APIAgent,
		Input: []llm.Modality{llm.ModalityText, llm.ModalityImage},
		Price: llm.Price{Input: free, Output: free, CacheRead: free, CacheWrite: free},
	}
}

// Commands are the slash commands that the agent has.
func (a *Agent) Commands() []acp.Command {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.commands
}

// Window is the size of the agent's context in tokens; 0 if it has not said.
func (a *Agent) Window() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.money.window
}

// Close ends the agent.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	l := a.link
	a.mu.Unlock()
	a.Interrupt()
	a.telling.Wait() // an agent reads that its prompt is canceled before the connection ends
	grace := endTime
	a.mu.Lock()
	if t := a.winding; t != nil && !t.over {
		grace = cmp.Or(a.o.Patience, cancelTime)
	}
	a.mu.Unlock()
	if l != nil {
		l.end(grace)
	}
	return nil
}

// wake has everybody who waits look again; mu is held.
func (a *Agent) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// forgetCalls begins with no calls; mu is held, or nobody else knows the agent yet.
func (a *Agent) forgetCalls() {
	a.calls, a.byAgent = map[string]*call{}, map[string]*call{}
}

// turn is a prompt that the agent works on.
type turn struct {
	link   *link
	items  []item // in order, not read yet
	unread int    // bytes of them
	over   bool   // the agent has answered the prompt
	stop   string
	err    error // that it was answered with, or the end of the agent
	plan   []todo.Task
}

// item is something that the agent has said: text, or a call.
type item struct {
	text    string
	thought bool
	call    *call
	plan    bool
	due     time.Time // of a call: not to be shown before, as the agent may still ask about it
}

// say adds text; mu is held.
func (t *turn) say(text string, thought bool) {
	t.unread += len(text)
	if n := len(t.items); n > 0 && t.items[n-1].call == nil && !t.items[n-1].plan && t.items[n-1].thought == thought && len(t.items[n-1].text) < 64<<10 {
		t.items[n-1].text += text
		return
	}
	t.items = append(t.items, item{text: text, thought: thought})
}

// Interrupt cancels the prompt that the agent works on. It does not wait: an agent that does
// not end it in time is stopped.
func (a *Agent) Interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interrupt()
}

// interrupt is Interrupt; mu is held.
func (a *Agent) interrupt() {
	t := a.turn
	if t == nil {
		return
	}
	a.turn = nil
	for _, c := range a.calls {
		c.decide(cancelled)
	}
	a.forgetCalls()
	a.wake()
	if t.over {
		return
	}
	t.items, t.unread = nil, 0
	a.winding = t
	l, session := t.link, a.session
	a.telling.Add(1)
	go func() {
		l.terminals.kill()
		ctx, stop := context.WithTimeout(context.Background(), cmp.Or(a.o.Patience, cancelTime))
		defer stop()
		_ = l.conn.Notify(ctx, acp.MethodSessionCancel, acp.SessionID{SessionID: session})
		a.telling.Done()
		if a.wait(ctx, func() bool { return t.over }) != nil {
			l.stop()
		}
	}()
}

// wait waits until a condition, which is looked at with mu held, is true.
func (a *Agent) wait(ctx context.Context, is func() bool) error {
	for {
		a.mu.Lock()
		ok, changed := is(), a.changed
		a.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// failure is an error of an answer. It is of a kind that no retry, no other model and no
// smaller conversation could help with: the agent may have done half of its work.
func failure(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.ErrContentFilter, Message: fmt.Sprintf(format, args...), Provider: Provider}
}

func newID() string { return "x" + rand.Text()[:12] }

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}
