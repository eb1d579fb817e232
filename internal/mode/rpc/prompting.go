package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/llm"
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
		on("prompt", "Conversation.Submit, or one of burin's commands", posted, func(ctx context.Context, c *call, p promptJSON) (any, error) {
			if own, arg, ok := c.ownCommand(p); ok {
				return c.runOwn(ctx, own, arg)
			}
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

// ownCommand finds the command of burin's own that a prompt calls, such as /commit.
func (c *call) ownCommand(p promptJSON) (own slash.Command, arg string, ok bool) {
	if len(p.Images) > 0 {
		return own, "", false
	}
	return slash.Find(llm.UserText(p.Message), c.f.o.Own)
}

// saidJSON is what a command of burin's own has to say, as Markdown.
type saidJSON struct {
	Command string `json:"command"`
	Output  string `json:"output"`
}

// runOwn runs a command of burin's own. It may take long: events go on, and abort stops it.
func (c *call) runOwn(ctx context.Context, own slash.Command, arg string) (any, error) {
	answers := own.Answers != nil && own.Answers(arg)
	if !answers { // else its answer's events come after the response
		c.f.gate.Unlock()
		defer c.f.gate.Lock()
	}
	ctx, stop := context.WithCancel(ctx)
	defer c.f.stoppable(c.job, stop)()
	text, err := own.Run(ctx, c.s.h, arg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("/%s: %w", own.Name, err)
	case answers:
		c.f.submitted(text)
		return nil, nil
	}
	return saidJSON{own.Name, text}, nil
}

func (c *call) say(ctx context.Context, p promptJSON, when session.When) error {
	m, err := userMessage(p.Message, p.Images)
	if err == nil {
		_, err = c.f.submit(ctx, c.s, session.Input{Message: m, When: when})
	}
	return err
}
