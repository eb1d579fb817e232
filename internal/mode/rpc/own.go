package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// eventJSON carries an event as docs/events.md describes it.
type eventJSON struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id,omitempty"`
	Epoch string          `json:"epoch"`
	Event json.RawMessage `json:"event"`
}

// endJSON ends the events of a request.
type endJSON struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id,omitempty"`
	Error string          `json:"error,omitempty"`
}

type followJSON struct {
	With session.Cursor `json:"with"`
}

type customJSON struct {
	With struct {
		Type    string          `json:"customType"`
		Content json.RawMessage `json:"content"`
		Display bool            `json:"display"`
		Details json.RawMessage `json:"details"`
		Deliver string          `json:"deliverAs"`
		Trigger bool            `json:"triggerTurn"`
	} `json:"with"`
}

func ownCommands() []command {
	return []command{
		on(ownPrefix+"follow", "Events", endless, follow),
		on(ownPrefix+"stop", "the end of a request's context", beside, func(_ context.Context, c *call, p struct {
			With head `json:"with"`
		},
		) (any, error) {
			if !c.f.stop(func(j *job) bool { return j != c.job && len(j.ID) > 0 && string(j.ID) == string(p.With.ID) }) {
				return nil, errors.New("no such request is running")
			}
			return nil, nil
		}),
		on(ownPrefix+"custom_message", "Conversation.Submit", posted, custom),
	}
}

// follow sends events until the client stops it, the session ends, or the face leaves it.
func follow(ctx context.Context, c *call, p followJSON) (any, error) {
	feed := c.s.h.Events(p.With)
	c.f.out.object(response{ID: c.ID, Type: "response", Command: c.Type, Success: true, Data: feed.Cursor()})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		e, err := feed.Next(ctx)
		if err == nil {
			var raw []byte
			if raw, err = e.MarshalJSON(); err == nil {
				c.f.out.object(eventJSON{"burin/event", c.ID, feed.Cursor().Epoch, raw})
				continue
			}
		}
		end := endJSON{Type: "burin/end", ID: c.ID}
		if !errors.Is(err, context.Canceled) {
			end.Error = err.Error()
		}
		c.f.out.object(end)
		return nil, errAnswered
	}
}

// custom submits a message of a program by the family's rules: while the model works, it steers
// or follows up; otherwise it starts a turn or waits for the next one.
func custom(ctx context.Context, c *call, p customJSON) (any, error) {
	raw, err := json.Marshal(struct {
		Role    llm.Role        `json:"role"`
		Type    string          `json:"customType"`
		Content json.RawMessage `json:"content"`
		Display bool            `json:"display"`
		Details json.RawMessage `json:"details,omitempty"`
	}{llm.RoleCustom, p.With.Type, p.With.Content, p.With.Display, p.With.Details})
	in := session.Input{}
	if err == nil {
		err = json.Unmarshal(raw, &in.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	switch p.With.Deliver {
	case "", "steer":
	case "followUp":
		in.When = session.After
	case "nextTurn":
		in.When = session.Next
	default:
		return nil, fmt.Errorf(`"deliverAs" must be "steer", "followUp" or "nextTurn", not %q`, p.With.Deliver)
	}
	if !c.s.streams() && !p.With.Trigger {
		in.When = session.Next
	}
	return c.f.submit(ctx, c.s, in)
}
