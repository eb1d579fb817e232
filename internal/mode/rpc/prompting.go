package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/session"
)

// promptJSON is a message of a person.
type promptJSON struct {
	Message  string            `json:"message"`
	Images   []json.RawMessage `json:"images"`
	Behavior string            `json:"streamingBehavior"`
}

func prompting() []command {
	return []command{
		on("prompt", "Conversation.Submit", posted, func(ctx context.Context, c *call, p promptJSON) (any, error) {
			when := session.Soon
			switch p.Behavior {
			case "steer":
			case "followUp":
				when = session.After
			case "":
				if c.s.streams() {
					return nil, errors.New(`the model is working: set "streamingBehavior" to "steer" or "followUp" to queue the message`)
				}
			default:
				return nil, fmt.Errorf(`"streamingBehavior" must be "steer" or "followUp", not %q`, p.Behavior)
			}
			return nil, c.say(ctx, p, when)
		}),
		on("steer", "Conversation.Submit, read soon", posted, func(ctx context.Context, c *call, p promptJSON) (any, error) {
			return nil, c.say(ctx, p, session.Soon)
		}),
		on("follow_up", "Conversation.Submit, read after", posted, func(ctx context.Context, c *call, p promptJSON) (any, error) {
			return nil, c.say(ctx, p, session.After)
		}),
		of("abort", "Conversation.Abort, Queue.Release", beside, func(ctx context.Context, c *call) (any, error) {
			if err := c.f.abort(ctx, c.s.h); err != nil {
				return nil, err
			}
			q, err := c.s.h.Queue().Waiting(ctx)
			if err == nil && q.Held {
				err = c.s.h.Queue().Release(ctx)
			}
			return nil, err
		}),
		on("abort_and_prompt", "Conversation.Abort, Submit", posted, func(ctx context.Context, c *call, p promptJSON) (any, error) {
			m, err := userMessage(p.Message, p.Images)
			if err != nil {
				return nil, err
			}
			c.f.gate.Unlock() // the events of the stopped turn come first
			err = c.f.halt(ctx, c.s.h)
			c.f.gate.Lock()
			if err != nil {
				return nil, err
			}
			_, err = c.f.submit(ctx, c.s, session.Input{Message: m})
			return nil, err
		}),
		of("clear_queue", "Queue.TakeBack", inOrder, func(ctx context.Context, c *call) (any, error) {
			back, err := c.s.h.Queue().TakeBack(ctx)
			out := queueJSON{Steering: []string{}, FollowUp: []string{}}
			for _, in := range back {
				if in.When == session.After {
					out.FollowUp = append(out.FollowUp, in.Message.Text())
				} else {
					out.Steering = append(out.Steering, in.Message.Text())
				}
			}
			return out, err
		}),
	}
}

type queueJSON struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

func (c *call) say(ctx context.Context, p promptJSON, when session.When) error {
	m, err := userMessage(p.Message, p.Images)
	if err == nil {
		_, err = c.f.submit(ctx, c.s, session.Input{Message: m, When: when})
	}
	return err
}
