package file

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool"
)

//go:embed write.md
var writeDescription string

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content" jsonschema:"the whole file"`
}

// changeDetails are for faces.
type changeDetails struct {
	Paths   []string `json:"paths"`
	Diff    string   `json:"diff,omitempty"`
	Added   int      `json:"added"`
	Removed int      `json:"removed"`
	Created bool     `json:"created,omitempty"`
}

func (f *files) write() *tool.Tool {
	return tool.New(tool.Definition[writeArgs]{
		Name: "write", Label: "Write", Description: writeDescription, Strict: true, Effects: tool.Writes,
		Access: func(a writeArgs) []tool.Access {
			p, _, err := f.locate(a.Path)
			if err != nil {
				p.name = a.Path
			}
			return f.access(tool.AccessWrite, p.name)
		},
		Run: func(ctx context.Context, _ tool.Call, a writeArgs) (*tool.Result, error) {
			p, sel, err := f.locate(a.Path)
			if err != nil {
				return nil, err
			}
			if sel.spans != nil || sel.raw || sel.conflicts {
				return nil, fmt.Errorf("%s: write replaces whole files and takes no lines; use edit", a.Path)
			}
			name, err := f.Workspace.Resolve(p.name)
			if err != nil {
				return nil, err
			}
			switch {
			case p.inside != "" && p.kind == document.SQLite:
				return f.writeRow(ctx, name, p.inside, a.Content)
			case p.inside != "" && p.kind == document.Archive:
				return f.writeMember(ctx, name, p.inside, a.Content)
			}
			return f.writeFile(ctx, name, a.Content)
		},
	})
}

// writeFile replaces or creates a file. One that the model has not seen as it is
// now is not overwritten: what it holds might be someone's work.
func (f *files) writeFile(ctx context.Context, name, content string) (*tool.Result, error) {
	before, err := fs.ReadFile(f.fs, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return nil, err
	case before == nil:
		before = []byte{}
	}
	if before != nil {
		if why := edit.Generated(name, before[:min(len(before), 1024)]); why != "" {
			return nil, fmt.Errorf("%s is generated (%s): change what it is generated from", name, why)
		}
		switch f.Workspace.Changed(name) {
		case workspace.Unseen:
			return nil, fmt.Errorf("%s exists and you have not read it: read it first, or use edit", name)
		case workspace.Stale:
			return nil, fmt.Errorf("%s has changed since you read it: read it again", name)
		}
	}
	after := []byte(content)
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(content, "#!") {
		mode = 0o755 // a script that cannot be started would be the first thing to fix
	}
	if bytes.Equal(before, after) && before != nil {
		return tool.Text(name + " already holds exactly this"), nil
	}
	change := workspace.Change{Path: name, Before: before, After: after, Mode: mode}
	if err := f.commit(ctx, []workspace.Change{change}); err != nil {
		return nil, err
	}
	diff, added, removed := edit.Diff(name, before, after)
	words := fmt.Sprintf("Wrote %s: %s, %s", name, size(int64(len(after))), plural(len(splitLines(content)), "line"))
	if before == nil {
		words = strings.Replace(words, "Wrote", "Created", 1)
	}
	if f.Engine.Name() == "hashline" {
		words += "\n" + edit.Tagged(name, after, 1, min(len(splitLines(content)), 200))
	}
	return tool.Text(words).WithDetails(changeDetails{
		Paths: []string{name}, Diff: diff, Added: added, Removed: removed, Created: before == nil,
	}), nil
}

func (f *files) writeMember(ctx context.Context, name, member, content string) (*tool.Result, error) {
	before, err := fs.ReadFile(f.fs, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	after, err := document.WriteArchive(name, before, member, []byte(content), 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := f.commit(ctx, []workspace.Change{{Path: name, Before: before, After: after}}); err != nil {
		return nil, err
	}
	words := fmt.Sprintf("Wrote %s:%s, %s", name, member, size(int64(len(content))))
	return tool.Text(words).WithDetails(changeDetails{Paths: []string{name}, Created: before == nil}), nil
}

// writeRow changes a database in place. The database is not rewritten but the
// journal still has what it held: the library's writes are watched.
func (f *files) writeRow(ctx context.Context, name, selector, content string) (*tool.Result, error) {
	if _, err := f.fs.Stat(name); err != nil {
		return nil, f.missing(ctx, name, err)
	}
	var words string
	_, err := f.Workspace.Watch(ctx, func() (err error) {
		words, err = document.WriteRow(ctx, f.Workspace.Real(name), selector, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tool.Text(words).WithDetails(changeDetails{Paths: []string{name}}), nil
}

// commit makes changes, keeps them for undo_edit and lets searches know.
func (f *files) commit(ctx context.Context, changes []workspace.Change) error {
	if err := f.Workspace.Commit(ctx, changes); err != nil {
		return err
	}
	f.done.add(changes)
	if f.Cache != nil {
		for _, c := range changes {
			f.Cache.Invalidate(f.Workspace.Real(c.Path))
			if c.From != "" {
				f.Cache.Invalidate(f.Workspace.Real(c.From))
			}
		}
	}
	return nil
}
