package session

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Chains are where other code takes part in a conversation: hooks, rules, extensions,
// sub-agents. The links of a chain are called in order, one at a time, and each sees what
// those before it have done. Chains are fixed when the session opens; a link that must change
// later keeps its own state.
//
// Links see the conversation as the model does: secrets are placeholders, and what links add
// is searched for secrets too. The context of a link ends with the prompt. A panic in a link
// counts as its error.
//
// A link that can refuse refuses when it fails: a call or a request whose interceptor fails is
// not made. If a continuation, the After of an interceptor, or a watcher fails, it is skipped,
// and the user is warned.
type Chains struct {
	// Continue is called when the model has stopped by itself, after the todo reminder and
	// before the goal and the request for a result.
	Continue []Continuation
	// Calls see each call on the way to its tool, before permission, and its result.
	Calls []CallInterceptor
	// Requests see each request, whatever it is for, before it is measured and paid for.
	Requests []RequestInterceptor
	// Answers see the answers of the conversation as they stream.
	Answers []AnswerWatcher
	// Compactions are asked before the conversation is compacted.
	Compactions []CompactionInterceptor
	// Rules is for links that give the model rules because of what it wrote; nil: there are
	// none.
	Rules *RuleLog
}

// Continuation may make a model continue that has stopped by itself. It is not called when a
// prompt ends in any other way, when its requests are used up, or when the model has handed
// over a result. After each message that a link returns, the chain is called from its start
// the next time the model stops.
type Continuation struct {
	Name string // of the link, in messages to the user
	// Max is how many messages the link may return per prompt; 0 is [MaxContinuations].
	Max int
	// Ask returns what to continue with; nil is nothing.
	Ask func(ctx context.Context, e Ending) (*Onward, error)
}

// Ending is the state of a prompt when a [Continuation] is called.
type Ending struct {
	Outcome agent.Outcome // of the prompt so far
	// Since has the messages since this link last returned one, or all of the prompt's.
	Since []llm.Message
	Times int // messages that this link has returned for this prompt
}

// Onward is what the model continues with.
type Onward struct {
	// Message is what the model reads. By default its role is custom, and its custom type the
	// name of the link.
	Message llm.Message
	Tool    string // that the next answer must call; "" lets the model choose
}

// CallInterceptor may rewrite a call, prevent it, or answer it. What it doesn't change keeps
// its bytes.
//
// Before is called before permission: it sees the call with the model's placeholders. It may
// set other arguments, which must be valid by the tool's schema. Permission judges those, and
// the call runs with exactly what permission has judged. If it returns a result, that replaces
// the call: nothing runs, nobody is asked, and no After sees it. An error prevents the call,
// and is what the model reads; [tool.ErrAbort] ends the prompt. Events of the running call
// have the arguments that it runs with, the transcript those that the model wrote.
//
// After is called for calls that ran, and may return another result; nil leaves it unchanged.
// If After fails, the result stays as it is.
type CallInterceptor struct {
	Name   string                                                                                                 // of the link, in messages to the user
	Before func(ctx context.Context, t *tool.Tool, c *tool.Call) (*tool.Result, error)                            // nil sees results only
	After  func(ctx context.Context, t *tool.Tool, c tool.Call, r *tool.Result) (changed *tool.Result, err error) // nil sees calls only
}

// RequestInterceptor may change a request, or prevent it. It may modify the slices of the
// request, but not the blocks and schemas in them: replace those. It can't change the model.
// An error ends whatever the request is for.
//
// Providers cache the beginning of requests: tools, system prompt, messages, in this order.
// The conversation only grows, so each request starts with the previous one, and most of it
// costs a tenth. An interceptor must preserve that: it may add at the end, or change a part in
// the same way each time. The [CacheReport] of the answer names the first difference from the
// previous request, with the interceptors that changed that part.
type RequestInterceptor struct {
	Name string
	// Change sees a request for a purpose, such as [ForTurn].
	Change func(ctx context.Context, purpose string, r *llm.Request) error
}

// CompactionInterceptor may prevent a compaction.
type CompactionInterceptor struct {
	Name string
	// Before is called with the reason: manual, threshold, overflow or idle. An error prevents
	// the compaction. A request that needs one to fit the model then fails at the provider.
	Before func(ctx context.Context, reason string) error
}

// AnswerWatcher sees the events of answers as they stream, and may stop one. The partial
// answer is then discarded like one that failed: none of its calls runs, the transcript keeps
// it on a branch of its own, and its cost counts. The model reads the note and answers again.
type AnswerWatcher struct {
	Name string
	// Max is how many answers the watcher may stop per prompt; 0 is [MaxStops]. After that it
	// is not called until the next prompt.
	Max int
	// Watch is called for each request of the conversation. The function it returns sees each
	// event of the answer, in order, and must not take long; nil sees none.
	Watch func(ctx context.Context, r *llm.Request) func(e llm.Event) *Stop
}

// MaxStops is the default number of answers that a watcher may stop per prompt.
const MaxStops = 2

// Stop says why an answer is stopped.
type Stop struct {
	Why  string // for the user, on one line
	Note string // what the model reads before it answers again; "" is nothing
	// Keep leaves the partial answer in the conversation, before the note, which must not be
	// empty then. Its calls do not run.
	Keep bool
	// Rules are the rules that stopped it. The transcript records their names, so that the next
	// owner of the session knows them too, and [RulesTriggered] tells faces.
	Rules []Rule
}

// Rule names a rule of the user's or the repository's.
type Rule struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // of its file; "" for one of burin's own
}

// RuleLog records which rules the model reads because of what it wrote, where that does not
// stop its answer; [Stop] has those that do. The zero value is for the [Chains] of one session.
type RuleLog struct{ rec atomic.Pointer[record] }

// Triggered records rules in the transcript, and tells faces. It does nothing before the
// session is open.
func (l *RuleLog) Triggered(rules []Rule) {
	if rec := l.rec.Load(); rec != nil {
		rec.triggered(rules, false)
	}
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

// guarded calls a link and turns a panic into an error.
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
