package file

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// check follows one call of a tool that changes files. Its zero value, or nil, follows nothing.
type check struct {
	tool    string
	checked Checked // of the last commit
	done    bool    // that commit was made
	changes []workspace.Change
}

type checkKey struct{}

func checkOf(ctx context.Context) *check {
	c, _ := ctx.Value(checkKey{}).(*check)
	return c
}

// begin is called before a commit, and gives what to commit.
func (c *check) begin(ctx context.Context, judge func(context.Context, string, []workspace.Change) Checked, changes []workspace.Change) []workspace.Change {
	if c == nil || judge == nil {
		return changes
	}
	c.checked = judge(ctx, c.tool, changes)
	return c.checked.Changes
}

func (c *check) committed(changes []workspace.Change) {
	if c != nil {
		c.done, c.changes = true, changes
	}
}

// checked is a tool whose results also say what its edits broke.
func checked(f *files, t *tool.Tool) *tool.Tool {
	if f.Check == nil {
		return t
	}
	run := t.Run
	t.Run = func(ctx context.Context, call tool.Call) (*tool.Result, error) {
		c := &check{tool: t.Name}
		r, err := run(context.WithValue(ctx, checkKey{}, c), call)
		if err != nil || !c.done || c.checked.Finish == nil {
			return r, err
		}
		words, lines := c.checked.Finish(ctx)
		if formatted := c.checked.Formatted; formatted != "" {
			words = strings.TrimSpace(formatted + "\n\n" + words)
		}
		if words == "" {
			return r, nil
		}
		r.Content = append(r.Content, llm.Text{Text: words})
		if i := len(r.Content) - 2; i >= 0 { // one text is what all wire formats have
			if before, ok := r.Content[i].(llm.Text); ok {
				r.Content = append(r.Content[:i], llm.Text{Text: strings.TrimRight(before.Text, "\n") + "\n\n" + words})
			}
		}
		var d changeDetails
		if json.Unmarshal(r.Details, &d) == nil {
			d.Diagnostics = lines
			if c.checked.Formatted != "" { // what is in the files now
				d.Diff, d.Added, d.Removed = "", 0, 0
				for _, change := range c.changes {
					diff, added, removed := edit.Diff(change.Path, change.Before, change.After)
					d.Diff, d.Added, d.Removed = d.Diff+diff, d.Added+added, d.Removed+removed
				}
			}
			r = r.WithDetails(d)
		}
		return r, nil
	}
	return t
}
