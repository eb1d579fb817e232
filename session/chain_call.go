package session

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// calls is the path of a call to its tool (interceptors, secret values for placeholders,
// permission) and of its result back.
type calls struct {
	links    []CallInterceptor
	redactor redactor
	ground   Ground
	programs *programs
	warn     func(string)

	mu        sync.Mutex
	rewritten map[string]json.RawMessage // arguments of running calls, by id
}

// before implements BeforeTool of the loop.
func (x *calls) before(ctx context.Context, t *tool.Tool, c *tool.Call) (*tool.Result, error) {
	written := c.Arguments
	for _, l := range x.links {
		if l.Before == nil {
			continue
		}
		r, err := x.ask(ctx, l, t, c)
		if err != nil {
			return nil, x.redactor.err(err)
		}
		if r != nil {
			return x.redactor.result(r), nil
		}
	}
	if len(x.links) > 0 && !bytes.Equal(written, c.Arguments) {
		args, err := t.Validate(llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
		if err != nil {
			return nil, x.redactor.err(err)
		}
		c.Arguments = args
		x.note(c.ID, args)
	}
	args, err := x.redactor.arguments(t, c.Arguments)
	if err != nil {
		return nil, err
	}
	c.Arguments = args
	if err := x.ground.Authorize(ctx, t, *c); err != nil {
		return nil, x.redactor.err(err)
	}
	x.programs.began(t, c.ID, c.Arguments)
	return nil, nil
}

// ask calls one link. Its error about the call is for the model; a broken link is also
// reported to the user.
func (x *calls) ask(ctx context.Context, l CallInterceptor, t *tool.Tool, c *tool.Call) (r *tool.Result, err error) {
	own := *c
	own.Arguments = bytes.Clone(c.Arguments)
	var said error
	broken := guarded("interceptor", l.Name, func() error {
		r, said = l.Before(ctx, t, &own)
		return nil
	})
	if broken != nil {
		x.warn(broken.Error())
		return nil, broken
	}
	c.Arguments = own.Arguments
	return r, said
}

// after implements AfterTool of the loop.
func (x *calls) after(ctx context.Context, t *tool.Tool, c tool.Call, r *tool.Result) *tool.Result {
	r = x.redactor.result(r)
	if len(x.links) == 0 {
		return r
	}
	c.Arguments = x.shown(c.ID, c.Arguments)
	for _, l := range x.links {
		if l.After == nil {
			continue
		}
		var changed *tool.Result
		given := *r
		err := guarded("interceptor", l.Name, func() (err error) {
			changed, err = l.After(ctx, t, c, &given)
			return err
		})
		switch {
		case err != nil && ctx.Err() != nil: // it was stopped with the run
		case err != nil:
			x.warn(err.Error())
		case changed != nil:
			changed.Final = changed.Final || r.Final
			r = x.redactor.result(changed)
		}
	}
	return r
}

// note records the arguments that a call runs with instead of the model's.
func (x *calls) note(id string, args json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rewritten == nil {
		x.rewritten = map[string]json.RawMessage{}
	}
	x.rewritten[id] = x.redactor.raw(args)
}

// shown returns the arguments of a call for users and links.
func (x *calls) shown(id string, args json.RawMessage) json.RawMessage {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r, ok := x.rewritten[id]; ok {
		return r
	}
	return args
}

// event returns the call of an event, with the arguments that it runs with.
func (x *calls) event(c *tool.Call) *tool.Call {
	if len(x.links) == 0 {
		return c
	}
	own := *c
	own.Arguments = x.shown(c.ID, c.Arguments)
	return &own
}

// forget drops the records of the previous answer's calls.
func (x *calls) forget() {
	if len(x.links) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.rewritten)
}
