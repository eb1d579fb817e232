package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// Caller is what a server may want of who calls a tool, while the call runs. What is nil it can't
// have. A server that asks outside a call is refused; of several callers the one is asked whose
// call began last, as programs don't say which call they ask for.
type Caller struct {
	// Progress is told how far a call is, at most ten times a second and in order.
	Progress func(Progress)
	// Elicit asks a person to fill in a form, or to open a page. The time of the call stands still meanwhile.
	Elicit func(ctx context.Context, form Form) (Answer, error)
	// Sample asks a model. The time of the call stands still meanwhile.
	Sample func(ctx context.Context, r Sampling) (*Sampled, error)
}

// Progress is how far a call is.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total"` // 0 if it isn't known
	Message string  `json:"message"`
}

// Answer is that of a person to a form.
type Answer struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content,omitempty"`
}

// The actions of answers.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Sampling is what a server wants a model to answer.
type Sampling struct {
	System    string
	Messages  []SamplingMessage
	MaxTokens int
	Stop      []string
}

// SamplingMessage is a message of the conversation that a server sends.
type SamplingMessage struct {
	Role    string // user, assistant
	Content []Content
}

// Sampled is a model's answer.
type Sampled struct {
	Model string
	Text  string
	Stop  string // endTurn, maxTokens, stopSequence
}

// Limits of what servers ask.
const (
	maxAsked        = 8        // requests of a server at a time
	maxSampling     = 1 << 20  // bytes of the messages of one
	maxMessages     = 200      // of one
	maxSampleTokens = 32 << 10 // that a server may want
	steps           = 100 * time.Millisecond
)

// maxExtended is how long a call may take in all when its progress is told.
const maxExtended = time.Hour

const invalidParams = -32602

// errRejected is what a server is told for what nobody allows.
var errRejected = &Error{Code: -1, Message: "the user did not allow it"}

// UnmarshalJSON reads the parameters of sampling/createMessage.
func (s *Sampling) UnmarshalJSON(raw []byte) error {
	var in struct {
		System    string   `json:"systemPrompt"`
		MaxTokens int      `json:"maxTokens"`
		Stop      []string `json:"stopSequences"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	switch {
	case len(in.Tools) > 0:
		return errors.New("burin samples without tools")
	case len(in.Messages) == 0:
		return errors.New("messages is empty")
	case len(in.Messages) > maxMessages, len(raw) > maxSampling:
		return errors.New("that is too much to sample")
	}
	s.System, s.MaxTokens, s.Stop = visible(in.System), min(in.MaxTokens, maxSampleTokens), in.Stop
	for _, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return errors.New("a message is of the user or the assistant")
		}
		var parts []Content // one, or a list of them
		if json.Unmarshal(m.Content, &parts) != nil {
			var one Content
			if err := json.Unmarshal(m.Content, &one); err != nil {
				return err
			}
			parts = []Content{one}
		}
		for i := range parts {
			if parts[i].Type != "text" && parts[i].Type != "image" {
				return errors.New("burin samples text and images")
			}
			parts[i].Text = visible(parts[i].Text)
		}
		s.Messages = append(s.Messages, SamplingMessage{m.Role, parts})
	}
	return nil
}

// wire is the answer as servers get it.
func (s *Sampled) wire() any {
	return map[string]any{
		"role": "assistant", "model": s.Model, "stopReason": s.Stop,
		"content": map[string]string{"type": "text", "text": s.Text},
	}
}

// clock is the time that a request has. It begins again with each sign of progress, and stands still
// while somebody is asked.
type clock struct {
	each time.Duration
	end  time.Time // of all, whatever progress is told

	mu     sync.Mutex
	timer  *time.Timer
	asking int
	told   time.Time // of the last progress that was passed on
}

func newClock(each time.Duration, late func()) *clock {
	return &clock{each: each, end: time.Now().Add(max(each, maxExtended)), timer: time.AfterFunc(each, late)}
}

// again begins the time again, and reports whether the progress should be passed on.
func (c *clock) again() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking == 0 && c.timer.Stop() { // else it is late already
		c.timer.Reset(max(min(c.each, time.Until(c.end)), 0))
	}
	if time.Since(c.told) < steps {
		return false
	}
	c.told = time.Now()
	return true
}

// pause stops the time until resume is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	running := c.asking > 0 || c.timer.Stop()
	c.asking++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.end = c.end.Add(time.Since(began))
		if c.asking--; c.asking == 0 && running {
			c.timer.Reset(c.each)
		}
	}
}

func (c *clock) stop() { c.timer.Stop() }

// serve answers a request of the server for the caller whose call began last.
func (l *Link) serve(ctx context.Context, c *conn, method string, params json.RawMessage) (any, *Error) {
	if w := c.latest(); w != nil {
		return l.answer(ctx, c, w, method, params)
	}
	if method == "elicitation/create" || method == "sampling/createMessage" {
		return nil, &Error{Code: invalidParams, Message: "burin asks nobody outside a call"}
	}
	return nil, unsupported(method)
}

func unsupported(method string) *Error {
	return &Error{Code: methodNotFound, Message: "burin does not support " + prose.Short(prose.Inline(method), 100)}
}

// answer answers what a server wants to know during a request.
func (l *Link) answer(ctx context.Context, c *conn, w *pending, method string, params json.RawMessage) (any, *Error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(w.life, stop)() // with the call nobody waits for the answer
	wrong := func(err error) (any, *Error) {
		return nil, &Error{Code: invalidParams, Message: prose.Short(err.Error(), 300)}
	}
	switch {
	case method == "roots/list":
		return roots(l.dir), nil
	case method == "elicitation/create" && w.caller.Elicit != nil:
		form, err := ParseForm(params)
		if err != nil {
			return wrong(err)
		}
		a, err := c.elicit(ctx, w, form)
		if err != nil {
			return wrong(err)
		}
		return a, nil
	case method == "elicitation/create":
		return Answer{Action: Decline}, nil
	case method == "sampling/createMessage" && w.caller.Sample != nil:
		var s Sampling
		if err := json.Unmarshal(params, &s); err != nil {
			return wrong(err)
		}
		defer w.clock.pause()()
		answer, err := w.caller.Sample(ctx, s)
		switch {
		case errors.Is(err, ErrRefused):
			return nil, errRejected
		case err != nil:
			return wrong(err)
		}
		return answer.wire(), nil
	case method == "sampling/createMessage" && l.pool.o.Sampling:
		return nil, errRejected
	}
	return nil, unsupported(method)
}

// elicit asks the person of a caller. A page that the server says is done needs no other answer.
func (c *conn) elicit(ctx context.Context, w *pending, form Form) (Answer, error) {
	defer w.clock.pause()()
	if form.page == "" {
		return w.caller.Elicit(ctx, form)
	}
	asking, done := context.WithCancelCause(ctx)
	defer done(nil)
	c.mu.Lock()
	c.pages[form.page] = func() { done(errDone) }
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pages, form.page)
	}()
	a, err := w.caller.Elicit(asking, form)
	if err != nil && errors.Is(context.Cause(asking), errDone) {
		return Answer{Action: Accept}, nil
	}
	return a, err
}

// errDone is why nobody has to answer any more.
var errDone = errors.New("the page is done")

// completed notes that a person is done with a page.
func (c *conn) completed(params json.RawMessage) {
	var p struct {
		Page string `json:"elicitationId"`
	}
	_ = json.Unmarshal(params, &p) // only a name can be waited for
	c.mu.Lock()
	done := c.pages[p.Page]
	c.mu.Unlock()
	if done != nil {
		done()
	}
}

// maxPageTries is how often a call is made again for which a person was sent to a page.
const maxPageTries = 3

// pagesFor has the person of a caller open the pages that a server of 2025-11-25 wants opened before it
// does what was called, and reports whether to call it again.
func (c *conn) pagesFor(ctx context.Context, w *pending, failed error, try int) bool {
	e := (*Error)(nil)
	if !errors.As(failed, &e) || e.Code != pageWanted || c.stateless != "" || w.caller == nil || w.caller.Elicit == nil || try > maxPageTries {
		return false
	}
	var data struct {
		Pages []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(e.Data, &data) != nil || len(data.Pages) == 0 || len(data.Pages) > maxAsked {
		return false
	}
	for _, raw := range data.Pages {
		form, err := ParseForm(raw)
		if err != nil || form.URL == "" {
			return false
		}
		if a, err := c.elicit(ctx, w, form); err != nil || a.Action != Accept {
			return false
		}
	}
	return true
}

// ErrRefused means that a person does not allow what a server wants.
var ErrRefused = errors.New("the user refused it")

// progress passes the progress of a call on.
func (c *conn) progress(params json.RawMessage) {
	var p struct {
		Token uint64 `json:"progressToken"`
		Progress
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	w := c.waiting[p.Token]
	c.mu.Unlock()
	if w == nil || w.clock == nil || !w.clock.again() || w.caller.Progress == nil {
		return
	}
	p.Message = prose.Short(prose.Inline(visible(p.Message)), 200)
	w.caller.Progress(p.Progress)
}
