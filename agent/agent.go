// Package agent is the loop: it asks a model, runs the tools that the model
// calls, and asks again until the model has nothing more to do.
//
// It knows messages, tools, queues and events. It knows no disk, no terminal and
// no configuration; what must be decided outside (may this call run, is there
// money left, is the history too long) it asks through the functions of
// [Options].
//
// # A run
//
// [Agent.Run] adds the person's message and takes turns. A turn is one request,
// its answer, and the results of the calls in it. Everything that happens is an
// [Event], in this order:
//
//	agent_start
//	  turn_start
//	    message_start message_end                  what the turn adds: prompts, steering
//	    message_start message_update* message_end  the answer
//	    tool_execution_start _update* _end         each call; those that run together overlap
//	    message_start message_end                  their results, in the model's order
//	  turn_end
//	agent_end
//
// What is in [Agent.Messages] is always a history that llm.Legal can make any
// vendor accept: an answer that failed or was stopped runs nothing and its calls
// have no results; of every other answer each call has one, whether it ran or
// not.
//
// # Stopping
//
// When ctx ends, the stream ends, calls that run are cancelled and those that
// have not started never do. Run then returns at once, or at the latest two
// seconds later if a tool does not obey its context: that tool is left behind,
// and its result says so. Nothing else can outlive Run.
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

// Options of an agent.
type Options struct {
	Client llm.Client
	// Request is what every request has beside messages and tools: model, system
	// prompt, thinking, cache, limits. ToolChoice holds for the first request of a run only.
	Request  llm.Request
	Tools    []*tool.Tool
	Messages []llm.Message // the conversation so far; it is not copied, and must not change

	// Emit receives every event, in order, from one goroutine at a time. It must
	// not block for long and must not call the agent's Run or Continue.
	Emit func(Event)

	// Prepare is called before a request is put together. It may call Replace and Update
	// (compaction, another model, other tools), or end the run with an error.
	Prepare func(ctx context.Context) error
	// BeforeRequest may change the request of a turn (rules) or end the run with an error
	// (budget). The request's slices are its own.
	BeforeRequest func(ctx context.Context, r *llm.Request) error
	// BeforeTool decides what becomes of a call. It may set other arguments, valid by
	// the tool's schema: the call runs with exactly those, while events and the
	// conversation keep the model's words. A result takes the place of the run. An error
	// is the result that the model reads, unless it is or wraps [ErrAbort], which ends
	// the run. It is asked about one call at a time, in the model's order, just before
	// the call starts; calls that run beside it go on meanwhile. It returns when ctx
	// ends.
	BeforeTool func(ctx context.Context, t *tool.Tool, c *tool.Call) (*tool.Result, error)
	// AfterTool may replace a result before the model reads it; nil leaves it. It
	// is called for calls that ran, one at a time, as they finish. It returns when ctx
	// ends; the result counts also then.
	AfterTool func(ctx context.Context, t *tool.Tool, c tool.Call, r *tool.Result) *tool.Result

	Steering  QueueMode     // how many steering messages a turn takes; default OneAtATime
	FollowUp  QueueMode     // the same for follow-ups
	Interrupt InterruptMode // when steering is looked at; default Immediate
	MaxTurns  int           // requests from Run on, those of Continue included; 0 is no limit
}

// ErrAbort is [tool.ErrAbort]: the run is to end.
var ErrAbort = tool.ErrAbort

// QueueMode says how many queued messages are taken at once.
type QueueMode string

const (
	OneAtATime QueueMode = "one-at-a-time"
	All        QueueMode = "all"
)

// InterruptMode says when steering messages are looked at.
type InterruptMode string

const (
	// Immediate: calls that have not started are not run, and those that run are
	// cancelled, but for calls of tools that write and execute nothing: they are
	// short, and half of them is worse than all.
	Immediate InterruptMode = "immediate"
	Wait      InterruptMode = "wait" // at the end of the turn
)

// Agent is one conversation with its loop. Run and Continue are called from one
// goroutine at a time, everything else from any.
type Agent struct {
	mu        sync.Mutex
	o         Options // without Messages
	tools     toolbox
	messages  []llm.Message // grows at its end or is replaced; never changed in place
	replaced  int           // how often it has been replaced
	steering  []llm.Message
	followUps []llm.Message
	running   bool
	interrupt context.CancelCauseFunc // of the calls that run; nil while none may be interrupted

	// What Run has used, and Continue after it. The goroutine of these alone has it.
	requests int
	guard    guard

	emitting sync.Mutex // held while Emit runs
}

// toolbox is the tools of the requests to come.
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

// New makes an agent. Tools that cannot be offered together, because two have
// one name, are the error of its runs.
func New(o Options) *Agent {
	a := &Agent{o: o, tools: newToolbox(o.Tools), messages: slices.Clip(o.Messages)}
	a.o.Messages = nil
	return a
}

// Run adds messages, in front of the last of them those that were steered before it was
// said (its Time; now, if that is not set), and runs until the model has nothing more to
// do, the queues are empty, ctx ends, or a limit is reached. All goroutines have ended
// when it returns, but for tools that do not obey their context.
//
// Without messages it goes on from a history that ends with a user's message or a tool
// result, with calls that have no results or an answer that the vendor paused, or with
// a queue that is not empty.
//
// A message that is queued in the last moment of a run stays in its queue, and
// so does everything when a run ends early.
func (a *Agent) Run(ctx context.Context, messages ...llm.Message) Outcome {
	return a.run(ctx, messages, false)
}

// Continue is Run for what still belongs to the last Run: an attempt after a failure, a
// reminder. MaxTurns and the guards against going round in circles count on. If
// MaxTurns requests have been made, nothing is added and the outcome is
// ReasonMaxTurns.
func (a *Agent) Continue(ctx context.Context, messages ...llm.Message) Outcome {
	return a.run(ctx, messages, true)
}

// Exhausted reports whether Continue would make no request, because MaxTurns were made
// since Run began. It is called from the goroutine of Run and Continue.
func (a *Agent) Exhausted() bool {
	o, _ := a.options()
	return o.MaxTurns > 0 && a.requests >= o.MaxTurns
}

// What may wait in both queues together.
const (
	maxQueued      = 1000
	maxQueuedBytes = 64 << 20 // of words, pictures and documents
)

// ErrQueueFull is that so much waits already that a message was not queued. Whoever sent
// it still has it, and can send it again when something was read.
var ErrQueueFull = errors.New("the queue is full: send this again later")

// Steer queues a message that the model reads at the next opportunity. It was said now,
// if it has no time. At most 1,000 messages wait, with 64 MB: beyond that the error is
// [ErrQueueFull], and the message is not taken.
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
		interrupt(errSpoke)
	}
	return nil
}

// FollowUp queues a message for when the model is done. Limit and error are those of
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

// full reports whether there is no room for a message. The caller holds mu.
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

// size is how many bytes a message of a person holds.
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

// Queued gives what waits.
func (a *Agent) Queued() (steering, followUps []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.steering), slices.Clone(a.followUps)
}

// ClearQueues drops what waits and returns it.
func (a *Agent) ClearQueues() (steering, followUps []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	steering, followUps = a.steering, a.followUps
	a.steering, a.followUps = nil, nil
	return steering, followUps
}

// Messages is the conversation, for reading. It does not change when the
// conversation goes on.
func (a *Agent) Messages() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clip(a.messages)
}

// Grown is [Agent.Messages], and a number: as long as that is the same, the
// conversation has only grown.
func (a *Agent) Grown() (messages []llm.Message, replaced int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clip(a.messages), a.replaced
}

// Replace replaces the conversation by messages, which are not copied and must not
// change. It must not be called while a run is on, but from Prepare.
func (a *Agent) Replace(messages []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages = slices.Clip(messages) // what is added goes elsewhere
	a.replaced++
}

// Update changes the options from the next request on; Messages is not among
// them. The change must not call the agent.
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

// options are those of the next request.
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

// takeSteeredBefore removes from the front of the queue what was said before a time, or
// then; the zero time is now.
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

// take removes from the front of a queue what its mode gives at once.
func take(queue *[]llm.Message, mode QueueMode) []llm.Message {
	n := len(*queue)
	if mode != All {
		n = min(n, 1)
	}
	out := (*queue)[:n:n]
	*queue = (*queue)[n:]
	return out
}
