package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Returning says how an agent hands over a result.
type Returning struct {
	Deferred bool // it goes on afterwards, and the last result counts
}

const returnTool = "return"

type returnArgs struct {
	Result string `json:"result"`
}

func newReturn(r Returning) *tool.Tool {
	text := "Hands over the result of your work and ends it. Write all that the other model needs into result: it sees nothing else."
	if r.Deferred {
		text = "Keeps the result of your work, which the other model gets when you end. You go on; with several calls the last result counts."
	}
	return tool.New(tool.Definition[returnArgs]{
		Name: returnTool, Label: "Return", Description: text,
		Access: func(returnArgs) []tool.Access { return nil },
		Run: func(_ context.Context, _ tool.Call, a returnArgs) (*tool.Result, error) {
			if r.Deferred {
				return tool.Text("Result stored. Please stop and wait for next instruction.").WithDetails(a), nil
			}
			is := tool.Text(a.Result).WithDetails(a)
			is.Final = true
			return is, nil
		},
	})
}

// Returned is the last result that was handed over in messages; "" if none was.
func Returned(all []llm.Message) string {
	for _, m := range slices.Backward(all) {
		var a returnArgs
		if m.Role == llm.RoleToolResult && m.ToolName == returnTool && !m.IsError && json.Unmarshal(m.Details, &a) == nil {
			return a.Result
		}
	}
	return ""
}

// DefaultPersona is that of agents without instructions of their own.
const DefaultPersona = "default"

// Persona is a kind of agent that the files of a project describe.
type Persona struct{ Name, Description, Prompt string }

const (
	minions     = "/minions"
	maxPersonas = 100
)

// Personas reads /minions/NAME.md of a project, with what all of them are told in /minions/_global.md. There is always one
// of the name [DefaultPersona], which has built-in instructions where it has no file.
func Personas(ctx context.Context, tree *vfs.Tree, instructions string) ([]Persona, error) {
	common := ""
	if data, _, err := tree.Read(ctx, minions+"/_global.md"); err == nil && isText(data) {
		common = strings.TrimSpace(string(data)) + "\n\n"
	}
	all := []Persona{{DefaultPersona, "does any task", common + instructions}}
	files, err := tree.List(ctx, minions, false)
	if err != nil {
		return all, nil // nobody has made the folder
	}
	var wrong error
	for _, f := range files {
		name, ok := strings.CutSuffix(path.Base(f.Path), ".md")
		if _, err := tree.Namespace(minions + "/" + name); !ok || f.Dir || err != nil || len(all) > maxPersonas {
			continue
		}
		data, _, err := tree.Read(ctx, f.Path)
		if err != nil { // the others can still be used
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", f.Path, err))
			continue
		}
		if !isText(data) {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
		p := Persona{name, strings.TrimSpace(strings.TrimLeft(first, "#")), common + string(data)}
		if name == DefaultPersona {
			all[0] = p
		} else {
			all = append(all, p)
		}
	}
	return all, wrong
}

// Namespace is the part of a project that a persona works on.
func Namespace(tree *vfs.Tree, persona string) (*vfs.Tree, error) {
	n, err := tree.Namespace(minions + "/" + persona)
	if errors.Is(err, vfs.InvalidPath) {
		err = fmt.Errorf("persona %q: a name has letters, digits, _ and -, 64 at most", persona)
	}
	return n, err
}
