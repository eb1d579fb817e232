package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/burin-dev/burin/llm"
)

// ask sends the conversation and reads the answer. The answer is nil if nothing was sent.
func (r *run) ask(ctx context.Context) (*llm.Message, verdict) {
	if ctx.Err() != nil {
		return nil, aborted(context.Cause(ctx))
	}
	req, err := r.request(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, aborted(context.Cause(ctx))
	case err != nil && errors.Is(err, ErrAbort):
		return nil, aborted(err)
	case err != nil:
		return nil, verdict{reason: ReasonRefused, err: err, final: true}
	}
	r.out.Turns++
	r.requests++
	m := r.read(r.opt.Client.Stream(ctx, req))
	if m.Usage != nil {
		if req.Model != nil && m.Usage.Cost == nil { // otherwise the client knows the cost better
			cost := req.Model.Price.Cost(*m.Usage)
			m.Usage.Cost = &cost
		}
		r.out.Usage = r.out.Usage.Add(*m.Usage)
	}
	if m.Error != nil && ctx.Err() != nil { // whichever broke first
		m.StopReason = llm.StopAborted
		if m.Error.Kind != llm.ErrAborted {
			m.Error = &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Provider: m.Error.Provider, Err: context.Cause(ctx)}
		}
	}
	r.say(m, true)
	switch {
	case m.StopReason == llm.StopAborted && m.Error != nil:
		return m, verdict{reason: ReasonAborted, err: m.Error, final: true}
	case m.Error != nil:
		return m, verdict{reason: ReasonError, err: m.Error, final: true}
	}
	return m, verdict{}
}

// request builds the next request. Its system prompt and tools stay the same, byte for byte,
// until Update changes them: providers cache the beginning of requests.
func (r *run) request(ctx context.Context) (*llm.Request, error) {
	if r.opt.Prepare != nil {
		if err := r.opt.Prepare(ctx); err != nil {
			return nil, err
		}
		if r.opt, r.tools = r.options(); r.tools.err != nil {
			return nil, r.tools.err
		}
	}
	req := r.opt.Request
	req.Messages, req.Tools = r.Messages(), r.tools.defs
	if r.out.Turns > 0 {
		req.ToolChoice = llm.ToolChoice{}
	}
	if r.opt.BeforeRequest == nil {
		return &req, nil
	}
	req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	return &req, r.opt.BeforeRequest(ctx, &req)
}

// read reads an answer to its end.
func (r *run) read(s llm.Stream) *llm.Message {
	var m *llm.Message
	started := false
	for ev := range llm.Events(s) {
		switch {
		case ev.Type == llm.EventStart:
			started = true
			r.emit(Event{Type: MessageStart, Message: ev.Message})
		case ev.Type.Terminal():
			m = ev.Message
		default:
			r.emit(Event{Type: MessageUpdate, Stream: ev})
		}
	}
	if m == nil {
		m = &llm.Message{
			Role: llm.RoleAssistant, Time: time.Now(), StopReason: llm.StopError,
			Error: &llm.Error{Kind: llm.ErrTransport, Message: "the stream ended without a last event"},
		}
	}
	if !started {
		head := llm.Message{Role: m.Role, Time: m.Time, API: m.API, Provider: m.Provider, Model: m.Model}
		r.emit(Event{Type: MessageStart, Message: &head})
	}
	return m
}
