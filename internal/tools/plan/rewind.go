package plan

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/tool"
)

var (
	//go:embed checkpoint.md
	checkpointDescription string
	//go:embed rewind.md
	rewindDescription string
)

// Rewinder is the conversation in which the model sets checkpoints. Its methods say whether a
// call may do so, by the id of the call.
type Rewinder interface {
	Mark(call string) error
	Rewind(call string) error
}

// maxReport is how many bytes a report may have: it stays in the window, as what it replaces
// did not have to.
const maxReport = 32 << 10

type checkpointArgs struct {
	Goal string `json:"goal" jsonschema:"what you want to find out"`
}

type rewindArgs struct {
	Report string `json:"report" jsonschema:"what you learnt, with files and line numbers; the only thing you keep"`
}

func newCheckpoint(r Rewinder) *tool.Tool {
	return tool.New(tool.Definition[checkpointArgs]{
		Name: "checkpoint", Label: "Checkpoint", Description: strings.TrimSpace(checkpointDescription),
		Access:   func(checkpointArgs) []tool.Access { return nil },
		Together: func(checkpointArgs) bool { return false },
		Run: func(_ context.Context, c tool.Call, a checkpointArgs) (*tool.Result, error) {
			if strings.TrimSpace(a.Goal) == "" {
				return nil, errors.New("goal is empty: say what you want to find out")
			}
			if err := r.Mark(c.ID); err != nil {
				return nil, err
			}
			return tool.Text("Checkpoint set. Explore, then call rewind with what you learnt.").WithDetails(a), nil
		},
	})
}

func newRewind(r Rewinder) *tool.Tool {
	return tool.New(tool.Definition[rewindArgs]{
		Name: "rewind", Label: "Rewind", Description: strings.TrimSpace(rewindDescription),
		Access:   func(rewindArgs) []tool.Access { return nil },
		Together: func(rewindArgs) bool { return false },
		Run: func(_ context.Context, c tool.Call, a rewindArgs) (*tool.Result, error) {
			switch {
			case strings.TrimSpace(a.Report) == "":
				return nil, errors.New("report is empty: it is the only thing you keep")
			case len(a.Report) > maxReport:
				return nil, fmt.Errorf("the report has %d bytes, and may have %d: leave out what you can read again", len(a.Report), maxReport)
			}
			if err := r.Rewind(c.ID); err != nil {
				return nil, err
			}
			return tool.Text("Going back to the checkpoint with this report. Files and programs stay as they are.").WithDetails(a), nil
		},
	})
}
