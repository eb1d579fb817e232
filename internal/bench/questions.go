package bench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
)

// approver asks at the desk whether calls may run; nil where nobody can be asked.
func (b *seat) approver() permission.Asker {
	if !b.Desk.CanAsk() {
		return nil
	}
	return approver{b.Desk}
}

type approver struct{ desk *session.Desk }

func (a approver) Ask(ctx context.Context, r permission.Request, d permission.Decision) (permission.Answer, error) {
	reply, err := a.desk.Ask(ctx, session.Question{
		Kind: session.AskPermission, CallID: r.Call, Permission: &permit.Question{Request: r, Decision: d},
	})
	switch {
	case err != nil:
		return permission.Answer{}, err
	case reply.Permission == nil:
		return permission.Answer{}, nil
	}
	return *reply.Permission, nil
}

// questioner puts the model's own questions on the desk; nil where nobody can be asked.
func (b *seat) questioner() plan.Asker {
	if !b.Desk.CanAsk() {
		return nil
	}
	return questioner{b}
}

// reviewer has a person review the model's plans; nil where the outcome is a result by a schema.
func reviewer(b *seat) plan.Reviewer {
	if b.Output != nil {
		return nil
	}
	return &b.planner
}

type questioner struct{ seat *seat }

func (q questioner) AskQuestions(ctx context.Context, call string, questions []plan.Question) ([]plan.Reply, error) {
	choices := make([]session.Choice, len(questions))
	for i, c := range questions {
		choices[i] = session.Choice(c)
	}
	ask := session.Question{Kind: session.AskChoice, CallID: call, Choices: choices}
	// A plan is made with the person: it waits.
	if wait := q.seat.AnswerTime; wait > 0 && q.seat.policy.Mode() != permission.Plan {
		ask.Until = q.seat.Now().Add(wait)
	}
	reply, err := q.seat.Desk.Ask(ctx, ask)
	switch {
	case errors.Is(err, session.ErrTimedOut):
		return recommended(questions), nil
	case errors.Is(err, session.ErrUnattended):
		return nil, errors.New("nobody answered: go on with what you think is best, and say what you assumed")
	case err != nil:
		return nil, err
	case reply.Dismissed:
		return nil, plan.ErrDismissed
	case len(reply.Choices) != len(questions):
		return nil, fmt.Errorf("%d of %d questions were answered", len(reply.Choices), len(questions))
	}
	replies := make([]plan.Reply, len(questions))
	for i, c := range reply.Choices {
		replies[i] = plan.Reply{Selected: c.Selected, Custom: c.Custom}
	}
	return replies, nil
}

// recommended are the replies to questions that nobody answered in time: the option that
// the model would choose, else the first.
func recommended(questions []plan.Question) []plan.Reply {
	replies := make([]plan.Reply, len(questions))
	for i, q := range questions {
		replies[i].TimedOut = true
		if len(q.Options) > 0 {
			replies[i].Selected = []string{q.Options[max(q.Recommended, 0)]}
		}
	}
	return replies
}

// screens shows the terminals of commands to whoever is at the desk.
type screens struct{ *session.Screens }

// Show implements the shell tools' Screens.
func (s screens) Show(call, command string, t *shell.Terminal) io.WriteCloser {
	return s.Screens.Show(call, command, t)
}
