package file

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool"
)

//go:embed undo.md
var undoDescription string

type undoArgs struct {
	Path string `json:"path" jsonschema:"file whose last edit or write is taken back"`
}

func (f *files) undoEdit() *tool.Tool {
	return tool.New(tool.Definition[undoArgs]{
		Name: "undo_edit", Label: "Undo edit", Description: undoDescription, Strict: true, Effects: tool.Writes,
		Access: func(a undoArgs) []tool.Access {
			name, err := f.Workspace.Resolve(a.Path)
			if err != nil || writable(f, "undo_edit", a.Path) != nil {
				return writes(f, a.Path)
			}
			all := f.access(tool.AccessWrite, a.Path)
			for _, c := range f.done.peek(name).changes { // an edit of several files is taken back as one
				if c.Path != name {
					all = append(all, tool.Access{Kind: tool.AccessWrite, Target: c.Path})
				}
				if c.From != "" {
					all = append(all, tool.Access{Kind: tool.AccessWrite, Target: c.From})
				}
			}
			return all
		},
		Run: func(ctx context.Context, _ tool.Call, a undoArgs) (*tool.Result, error) {
			if err := writable(f, "undo_edit", a.Path); err != nil {
				return nil, err
			}
			name, err := f.Workspace.Resolve(a.Path)
			if err != nil {
				return nil, err
			}
			return f.in(ctx).takeBack(ctx, name)
		},
	})
}

// takeBack reverses the last change that touched name, in all files of that
// change. It refuses if someone changed one of them since.
func (f *files) takeBack(ctx context.Context, name string) (*tool.Result, error) {
	last := f.done.peek(name)
	if last.changes == nil {
		return nil, fmt.Errorf("%s has no edit of yours left to undo", name)
	}
	if last.spliced {
		return last.putBack(ctx, f)
	}
	changes := last.changes
	var back []workspace.Change
	var words []string
	for _, c := range changes {
		now, err := fs.ReadFile(f.fs, c.Path)
		if errors.Is(err, fs.ErrNotExist) {
			now, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(now, c.After) || (now == nil) != (c.After == nil) {
			return nil, fmt.Errorf("%s has changed since your edit: undoing it would lose that", c.Path)
		}
		switch {
		case c.From != "":
			back = append(back, workspace.Change{Path: c.From, From: c.Path, Before: c.After, After: c.Before})
			words = append(words, fmt.Sprintf("Moved %s back to %s", c.Path, c.From))
		case c.Before == nil:
			back = append(back, workspace.Change{Path: c.Path, Before: c.After})
			words = append(words, fmt.Sprintf("Removed %s again", c.Path))
		default:
			back = append(back, workspace.Change{Path: c.Path, Before: c.After, After: c.Before, Mode: c.Mode})
			words = append(words, fmt.Sprintf("Restored %s", c.Path))
		}
	}
	if err := f.Workspace.Commit(ctx, back); err != nil {
		return nil, err
	}
	f.done.drop(name)
	d := changeDetails{}
	for _, c := range back {
		d.Paths = append(d.Paths, c.Path)
	}
	return tool.Text(strings.Join(words, "\n")).WithDetails(d), nil
}

// putBack puts the old text of one place back into a file that is too large to be held.
func (m made) putBack(ctx context.Context, f *files) (*tool.Result, error) {
	c := m.changes[0]
	err := f.Workspace.Splice(ctx, c.Path, m.at, c.After, c.Before)
	var stale *workspace.StaleError
	if errors.As(err, &stale) {
		return nil, fmt.Errorf("%s has changed since your edit: undoing it would lose that", c.Path)
	}
	if err != nil {
		return nil, err
	}
	f.done.drop(c.Path)
	return tool.Text("Restored " + c.Path).WithDetails(changeDetails{Paths: []string{c.Path}}), nil
}

// What undo_edit remembers at most; the oldest changes go first. Whole turns can
// be undone much longer, by the journal of the workspace.
const (
	maxChanges     = 200
	maxChangeBytes = 64 << 20
)

// history is what the tools changed, newest last.
type history struct {
	mu    sync.Mutex
	done  []made
	bytes int
}

// made is what one call changed. spliced says that it is one place, at an offset of a file that
// is too large to be held: the change has the texts of that place only.
type made struct {
	changes []workspace.Change
	spliced bool
	at      int64
}

func weight(changes []workspace.Change) (n int) {
	for _, c := range changes {
		n += len(c.Before) + len(c.After)
	}
	return n
}

func (h *history) add(m made) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, m)
	h.bytes += weight(m.changes)
	for len(h.done) > maxChanges || h.bytes > maxChangeBytes && len(h.done) > 0 {
		h.bytes -= weight(h.done[0].changes)
		h.done = h.done[1:]
	}
}

// last is the index of the newest change of name, or -1.
func (h *history) last(name string) int {
	for i := len(h.done) - 1; i >= 0; i-- {
		for _, c := range h.done[i].changes {
			if c.Path == name || c.From == name {
				return i
			}
		}
	}
	return -1
}

func (h *history) peek(name string) made {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := h.last(name); i >= 0 {
		return h.done[i]
	}
	return made{}
}

func (h *history) drop(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := h.last(name); i >= 0 {
		h.bytes -= weight(h.done[i].changes)
		h.done = append(h.done[:i], h.done[i+1:]...)
	}
}
