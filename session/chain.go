package session

import (
	"context"
	"fmt"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Chains are where other code takes part in a conversation: hooks, rules, extensions,
// sub-agents. The links of a chain are asked in order, one at a time, and each sees what
// those before it have made. They are fixed when the session opens; a link that has to
// change meanwhile holds what changes itself.
//
// Links see the conversation as the model does: secrets are placeholders, and what links
// add is searched for secrets too. A link runs until its context ends with the prompt. Its
// panic is an error of it.
//
// A link that can refuse refuses when it fails: a call or a request that an interceptor
// fails on is not made. A continuation, the After of an interceptor or a watcher that
// fails is passed over, and the person gets a line about it.
type Chains struct {
	// Continue is asked when the model has ended by itself, after the reminder of the list
	// of work, and before the goal and the insistence on a result.
	Continue []Continuation
	// Calls see each call on its way to its tool, before permission, and its result.
	Calls []CallInterceptor
	// Requests see each request, whatever it is for, before it is measured and paid for.
	Requests []RequestInterceptor
	// Answers see the answers of the conversation while they come.
	Answers []AnswerWatcher
}

// Continuation may let a model go on that has ended by itself. It is not asked when a
// prompt ends in any other way, when its requests are used up, or when the model has
// handed over a result. After each message that a link gives, the chain is asked from its
// beginning when the model has ended again.
type Continuation struct {
	Name string // of the link, in messages to people
	// Max is how many messages it may give for one prompt; 0 is [MaxContinuations].
	Max int
	// Ask gives what to go on with; nil is nothing.
	Ask func(ctx context.Context, e Ending) (*Onward, error)
}

// Ending is how far a prompt is when a [Continuation] is asked.
type Ending struct {
	Outcome agent.Outcome // of the prompt so far
	// Since is what was said since this link last gave a message; the whole prompt if it
	// has not.
	Since []llm.Message
	Times int // messages that this link has given for this prompt
}

// Onward is what the model goes on with.
type Onward struct {
	// Message is what the model reads. The role is custom and the custom type the name of
	// the link, if it says nothing else.
	Message llm.Message
	Tool    string // that the next answer must call; "": as the model likes
}

// CallInterceptor may rewrite a call, keep it from running, or answer it. What it does
// not change keeps its bytes.
//
// Before is asked before permission: it sees the call with the model's placeholders. It
// may set other arguments, which have to be valid by the tool's schema; permission judges
// those, and the call runs with exactly what permission has judged. A result takes the
// place of the call: nothing runs, nobody is asked, and no After sees it. An error keeps
// the call from running, and is what the model reads; one that is [tool.ErrAbort] ends
// the prompt. Events of the running call have the arguments that it runs with, the
// transcript those that the model wrote.
//
// After is asked about calls that ran, and may give another result; nil leaves it. Its
// failure leaves the result as it is.
type CallInterceptor struct {
	Name   string                                                                                                 // of the link, in messages to people
	Before func(ctx context.Context, t *tool.Tool, c *tool.Call) (*tool.Result, error)                            // nil: it looks at results only
	After  func(ctx context.Context, t *tool.Tool, c tool.Call, r *tool.Result) (changed *tool.Result, err error) // nil: it looks at calls only
}

// RequestInterceptor may change a request, or keep it from being sent. The slices of the
// request are its own, the blocks and schemas in them are not: replace, don't write.
// The model cannot be changed. An error ends what the request is for.
//
// Providers cache what requests begin with: tools, system prompt, messages, in this order.
// The conversation only grows, so each request begins with the one before, and most of it
// costs a tenth. An interceptor has to keep that: it may add at the end, or change a part
// in the same way each time. The first difference to the request before is what the
// [CacheReport] of the answer says, with the names of the interceptors that changed that
// part.
type RequestInterceptor struct {
	Name string
	// Change sees a request for a purpose: [ForTurn] and its like.
	Change func(ctx context.Context, purpose string, r *llm.Request) error
}

// AnswerWatcher sees the events of answers while they come, and may stop one. What was
// streamed of it is then discarded like an answer that failed: none of its calls runs, the
// transcript keeps it on a branch of its own, and what it has cost is counted. The model
// reads the note and answers again.
type AnswerWatcher struct {
	Name string
	// Max is how many answers it may stop for one prompt; 0 is [MaxStops]. After that it
	// is not asked before the next prompt.
	Max int
	// Watch is called for each request of the conversation. What it gives sees each event
	// of the answer, in order, and must not take long; nil sees none.
	Watch func(ctx context.Context, r *llm.Request) func(e llm.Event) *Stop
}

// MaxStops is how many answers a watcher may stop for one prompt, if it says nothing else.
const MaxStops = 2

// Stop is why an answer is stopped.
type Stop struct {
	Why  string // for people, one line
	Note string // what the model reads before it answers again; "" is nothing
}

// failedLink is the error of a link.
type failedLink struct {
	kind, name string
	err        error
}

func (f *failedLink) Error() string {
	return fmt.Sprintf("the %s %q failed: %v", f.kind, f.name, f.err)
}
func (f *failedLink) Unwrap() error { return f.err }

// guarded calls a link and makes its panic an error.
func guarded(kind, name string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
		if err != nil {
			err = &failedLink{kind, name, err}
		}
	}()
	return f()
}
