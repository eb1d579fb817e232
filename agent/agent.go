// Package agent is the loop: it asks a model, runs the tools that the model calls, and asks
// again until the model has nothing more to do.
//
// It knows messages, tools, queues and events. It knows no disk, no terminal and no
// configuration. What must be decided outside (may this call run, is there money left, is the
// history too long) it asks through the functions of [Options].
//
// # A run
//
// [Agent.Run] adds the user's message and takes turns. A turn is one request, its answer, and
// the results of the calls in it. Everything that happens is an [Event], in this order:
//
//	agent_start
//	  turn_start
//	    message_start message_end                  what the turn adds: prompts, steering
//	    message_start message_update* message_end  the answer
//	    tool_execution_start _update* _end         each call; parallel calls overlap
//	    message_start message_end                  their results, in the model's order
//	  turn_end
//	agent_end
//
// [Agent.Messages] is always a history that llm.Legal can make any provider accept. An answer
// that failed or was stopped runs nothing, and its calls have no results; each call of any
// other answer has a result, whether it ran or not.
//
// # Stopping
//
// When ctx ends, the stream ends, running calls are canceled, and those that have not started
// never do. Run then returns at once, or after two seconds at the latest if a tool ignores its
// context: Run abandons that tool, and its result says so. Nothing else can outlive Run.
package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Options configure an agent.
type Options struct {
	Client llm.Client
	// Request is the part that every request has in common: model, system prompt, thinking,
	// cache, limits. ToolChoice applies only to the first request of a run.
	Request  llm.Request
	Tools    []*tool.Tool
	Messages []llm.Message // the conversation so far; it is not copied, and must not change

	// Emit receives every event, in order, from one goroutine at a time. It must
	// not block for long and must not call the agent's Run or Continue.
	Emit func(Event)

	// Prepare is called before a request is built. It may call Replace and Update (compaction,
	// another model, other tools), or end the run with an error.
	Prepare func(ctx context.Context) error
	// BeforeRequest may change the request of a turn (rules) or end the run with an error
	// (budget). The request's slices are its own.
	BeforeRequest func(ctx context.Context, r *llm.Request) error
	// BeforeTool decides whether a call runs. It may set other arguments, valid by the tool's
	// schema: the call runs with exactly those, while events and the conversation keep the
	// model's. If it returns a result, that replaces the run. An error becomes the result that
	// the model reads, unless it is or wraps [ErrAbort], which ends the run. It is called for
	// one call at a time, in the model's order, just before the call starts; parallel calls
	// continue meanwhile. It returns when ctx ends.
	BeforeTool func(ctx context.Context, t *tool.Tool, c *tool.Call) (*tool.Result, error)
	// AfterTool may replace a result before the model reads it; nil leaves it unchanged. It is
	// called for calls that ran, one at a time, as they finish. It returns when ctx ends; its
	// result counts even then.
	AfterTool func(ctx context.Context, t *tool.Tool, c tool.Call, r *tool.Result) *tool.Result

	Steering  QueueMode     // how many steering messages a turn takes; default OneAtATime
	FollowUp  QueueMode     // the same for follow-ups
	Interrupt InterruptMode // when the loop checks for steering; default Immediate
	MaxTurns  int           // requests since Run, including those of Continue; 0 is no limit
}

// ErrAbort is [tool.ErrAbort]: it ends the run.
var ErrAbort = tool.ErrAbort

// QueueMode says how many queued messages are taken at once.
type QueueMode string

const (
	OneAtATime QueueMode = "one-at-a-time" // neighboring custom messages of one type count as one
	All        QueueMode = "all"
)

// InterruptMode says when the loop checks for steering messages.
type InterruptMode string

const (
	// Immediate skips calls that have not started and cancels running ones, except those of
	// tools that write but don't execute: those are short, and half a write is worse than all.
	Immediate InterruptMode = "immediate"
	Wait      InterruptMode = "wait" // at the end of the turn
)

// Agent is one conversation with its loop. Run and Continue must be called from one goroutine
// at a time; all other methods are safe for concurrent use.
type Agent struct {
	mu        sync.Mutex
	o         Options // without Messages
	tools     toolbox
	messages  []llm.Message // grows at its end or is replaced; never changed in place
	replaced  int           // how many times it was replaced
	steering  []llm.Message
	followUps []llm.Message
	running   bool
	interrupt context.CancelCauseFunc // of the running calls; nil while none may be interrupted

	// requests counts since Run and includes Continue. Only their goroutine uses it.
	requests int
	guard    guard

	emitting sync.Mutex // held while Emit runs
}

// toolbox holds the tools of the next requests.
type toolbox struct {
	set  *tool.Set
	defs []llm.Tool
	err  error // why there is no set
}

func newToolbox(tools []*tool.Tool) toolbox {
	set, err := tool.NewSet(tools...)
	if err != nil {
		return toolbox{err: err}
	}
	return toolbox{set: set, defs: set.Definitions()}
}

// New returns an agent. If the tools can't be offered together, because two have the same
// name, its runs fail with that error.
func New(o Options) *Agent {
	a := &Agent{o: o, tools: newToolbox(o.Tools), messages: slices.Clip(o.Messages)}
	a.o.Messages = nil
	return a
}

// Run adds messages and runs until the model has nothing more to do and the queues are empty,
// ctx ends, or a limit is reached. Steering messages that were sent before the last of
// messages (by its Time, or now if that is not set) go before it. All goroutines have ended
// when Run returns, except those of tools that ignore their context.
//
// Without messages Run continues a history that ends with a user message or a tool result,
// with calls that have no results, or with an answer that the provider paused; or it takes
// what is queued.
//
// A message that is queued at the last moment of a run stays in its queue, and so does
// everything else when a run ends early.
func (a *Agent) Run(ctx context.Context, messages ...llm.Message) Outcome {
	return a.run(ctx, messages, false)
}

// Continue is Run for what still belongs to the last Run, such as a retry or a reminder.
// MaxTurns and the guards against loops keep counting. If MaxTurns requests were made,
// Continue adds nothing and the outcome is ReasonMaxTurns.
func (a *Agent) Continue(ctx context.Context, messages ...llm.Message) Outcome {
	return a.run(ctx, messages, true)
}

// Exhausted reports whether Continue would make no request because MaxTurns requests were made
// since Run. It must be called from the goroutine of Run and Continue.
func (a *Agent) Exhausted() bool {
	o, _ := a.options()
	return o.MaxTurns > 0 && a.requests >= o.MaxTurns
}

// Limits of both queues together.
const (
	maxQueued      = 1000
	maxQueuedBytes = 64 << 20 // of text, images and documents
)

// ErrQueueFull reports that the queues are full and a message was not queued. The sender still
// has it, and can send it again when the model has read something.
var ErrQueueFull = errors.New("the queue is full: send this again later")

// Steer queues a message that the model reads at the next opportunity. If it has no time, it
// gets the current one. The queues hold at most 1,000 messages and 64 MB; beyond that Steer
// returns [ErrQueueFull] and does not take the message.
func (a *Agent) Steer(m llm.Message) error {
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	a.mu.Lock()
	if a.full(&m) {
		a.mu.Unlock()
		return ErrQueueFull
	}
	a.steering = append(a.steering, m)
	interrupt := a.interrupt
	a.mu.Unlock()
	if interrupt != nil {
		interrupt(ErrSpoke)
	}
	return nil
}

// FollowUp queues a message for when the model is done. It has the same limits and errors as
// Steer.
func (a *Agent) FollowUp(m llm.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full(&m) {
		return ErrQueueFull
	}
	a.followUps = append(a.followUps, m)
	return nil
}

// full reports whether the queues have no room for a message. The caller holds mu.
func (a *Agent) full(m *llm.Message) bool {
	if len(a.steering)+len(a.followUps) >= maxQueued {
		return true
	}
	n := size(m)
	for _, queue := range [...][]llm.Message{a.steering, a.followUps} {
		for i := range queue {
			n += size(&queue[i])
		}
	}
	return n > maxQueuedBytes
}

// size returns the bytes in a user message.
func size(m *llm.Message) (n int) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			n += len(b.Text)
		case llm.Image:
			n += len(b.Data)
		case llm.Document:
			n += len(b.Data) + len(b.Text)
		}
	}
	return n
}

// Queued returns the queued messages.
func (a *Agent) Queued() (steering, followUps []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.steering), slices.Clone(a.followUps)
}

// ClearQueues empties the queues and returns their messages.
func (a *Agent) ClearQueues() (steering, followUps []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	steering, followUps = a.steering, a.followUps
	a.steering, a.followUps = nil, nil
	return steering, followUps
}

// Withdraw removes the queued messages for which match returns true, and returns how many
// those were. match must not call the agent.
func (a *Agent) Withdraw(match func(*llm.Message) bool) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, queue := range [...]*[]llm.Message{&a.steering, &a.followUps} {
		before := len(*queue)
		*queue = slices.DeleteFunc(slices.Clone(*queue), func(m llm.Message) bool { return match(&m) })
		n += before - len(*queue)
	}
	return n
}

// Messages returns the conversation, for reading. The slice does not change when the
// conversation continues.
func (a *Agent) Messages() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clip(a.messages)
}

// Grown returns [Agent.Messages] and a number. As long as the number is the same, the
// conversation has only grown.
func (a *Agent) Grown() (messages []llm.Message, replaced int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clip(a.messages), a.replaced
}

// Replace replaces the conversation with messages, which are not copied and must not change.
// During a run, only Prepare may call it.
func (a *Agent) Replace(messages []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages = slices.Clip(messages) // so that appending copies
	a.replaced++
}

// Update changes the options from the next request on, except Messages. The function must not
// call the agent.
func (a *Agent) Update(change func(*Options)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.o.Tools
	a.o.Tools = slices.Clone(before)
	change(&a.o)
	a.o.Messages = nil
	if !slices.Equal(before, a.o.Tools) {
		a.tools = newToolbox(a.o.Tools)
	}
}

// add appends to the conversation.
func (a *Agent) add(m llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages = append(a.messages, m)
}

// options returns the options of the next request.
func (a *Agent) options() (Options, toolbox) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.o, a.tools
}

func (a *Agent) takeSteering() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return take(&a.steering, a.o.Steering)
}

// takeSteeredBefore removes and returns the messages at the front of the queue that were sent
// at or before a time; the zero time is now.
func (a *Agent) takeSteeredBefore(said time.Time) []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := slices.IndexFunc(a.steering, func(m llm.Message) bool { return !said.IsZero() && m.Time.After(said) })
	if n < 0 {
		n = len(a.steering)
	}
	out := a.steering[:n:n]
	a.steering = a.steering[n:]
	return out
}

func (a *Agent) takeFollowUps() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return take(&a.followUps, a.o.FollowUp)
}

// together reports whether a queued message is taken with the one before it in any mode: programs
// send custom messages, such as those of other agents, and each would cost a request.
func together(before, m *llm.Message) bool {
	return m.Role == llm.RoleCustom && before.Role == llm.RoleCustom && m.CustomType == before.CustomType
}

// take removes and returns the messages at the front of a queue that its mode allows at once.
func take(queue *[]llm.Message, mode QueueMode) []llm.Message {
	n := len(*queue)
	if mode != All {
		n = min(n, 1)
		for n > 0 && n < len(*queue) && together(&(*queue)[n-1], &(*queue)[n]) {
			n++
		}
	}
	out := (*queue)[:n:n]
	*queue = (*queue)[n:]
	return out
}
