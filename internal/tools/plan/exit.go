package plan

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

//go:embed exit.md
var exitDescription string

// Reviewer keeps a plan and has the user review it. It returns what the model reads, and whether
// its work ends with it.
type Reviewer interface {
	Propose(ctx context.Context, call, title, text string) (reply string, final bool, err error)
}

// maxPlan is how many bytes a plan may have: a longer one nobody reviews.
const maxPlan = 64 << 10

type exitArgs struct {
	Title string `json:"title" jsonschema:"a few words; names the session"`
	Plan  string `json:"plan" jsonschema:"Markdown"`
}

func newExit(reviewer Reviewer) *tool.Tool {
	return tool.New(tool.Definition[exitArgs]{
		Name: "exit_plan", Label: "Plan", Description: strings.TrimSpace(exitDescription), Effects: tool.Asks,
		Access:   func(exitArgs) []tool.Access { return nil },
		Together: func(exitArgs) bool { return false },
		Run: func(ctx context.Context, c tool.Call, a exitArgs) (*tool.Result, error) {
			switch {
			case strings.TrimSpace(a.Plan) == "":
				return nil, errors.New("the plan is empty")
			case len(a.Plan) > maxPlan:
				return nil, fmt.Errorf("the plan has %d bytes, and a user reviews at most %d: leave out what the work itself will show", len(a.Plan), maxPlan)
			}
			reply, final, err := reviewer.Propose(ctx, c.ID, prose.Short(a.Title, 100), a.Plan)
			if err != nil {
				return nil, err
			}
			r := tool.Text(reply)
			r.Final = final
			return r, nil
		},
	})
}
