package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool"
)

// edit is the tool of the engine that was chosen: its arguments are the engine's.
func (f *files) edit() *tool.Tool {
	engine := f.Engine
	return &tool.Tool{
		Name: "edit", Label: "Edit", Description: engine.Description(), Parameters: engine.Parameters(), Effects: tool.Writes,
		Access: func(args json.RawMessage) ([]tool.Access, error) {
			paths, err := engine.Paths(args)
			if err != nil {
				return nil, err
			}
			return writes(f, paths...), nil
		},
		Run: func(ctx context.Context, call tool.Call) (*tool.Result, error) {
			return f.in(ctx).applyEdit(ctx, call.Arguments)
		},
	}
}

func (f *files) applyEdit(ctx context.Context, args json.RawMessage) (*tool.Result, error) {
	paths, err := f.Engine.Paths(args)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		if err := writable(f, "edit", p); err != nil {
			return nil, err
		}
	}
	if large := newLargeEdit(f, paths); large != nil {
		return large.apply(ctx, args)
	}
	if f.Engine.Name() == "whole" { // the others find what they change, and so have it before them
		if err := f.replaces(paths); err != nil {
			return nil, err
		}
	}
	done, changes, err := f.work(args)
	if err != nil {
		return nil, err
	}
	err = f.commit(ctx, changes)
	if stale := (*workspace.StaleError)(nil); errors.As(err, &stale) {
		// Someone wrote between reading and committing; what they wrote may take the
		// edit just as well, or be the reason to refuse it.
		if done, changes, err = f.work(args); err != nil {
			return nil, err
		}
		err = f.commit(ctx, changes)
	}
	if err != nil {
		return nil, err
	}
	return f.edited(done, changes), nil
}

// replaces refuses an edit that replaces a file which the model has not seen as it is now.
func (f *files) replaces(paths []string) error {
	for _, p := range paths {
		name, err := f.Workspace.Resolve(p)
		if err != nil {
			return err
		}
		if _, err := fs.Stat(f.fs, name); err == nil {
			if err := f.seen(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// work lets the engine work out the edit, on notebooks as on the text that read
// shows of them.
func (f *files) work(args json.RawMessage) (*edit.Result, []workspace.Change, error) {
	books := &notebooks{source: source{f.Workspace, f.Learn}, data: map[string][]byte{}}
	done, err := f.Engine.Apply(books, args)
	written := []edit.Change{}
	if err == nil {
		written, err = books.written(done.Changes)
	}
	if err != nil && len(books.data) > 0 {
		// It may have been meant for the JSON, which read shows with :raw.
		if raw, rawErr := f.Engine.Apply(books.source, args); rawErr == nil && books.valid(raw.Changes) {
			done, written, err = raw, raw.Changes, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if f.ExactEdits && done.Inexact {
		return nil, nil, fmt.Errorf("edits must be exact here: %s. Read those lines again and name them as they are", strings.Join(done.Notes, "; "))
	}
	changes, err := f.resolve(written)
	return done, changes, err
}

// resolve gives the changes the names of the workspace.
func (f *files) resolve(changes []edit.Change) ([]workspace.Change, error) {
	var all []workspace.Change
	for _, c := range changes {
		name, err := f.Workspace.Resolve(c.Path)
		if err != nil {
			return nil, err
		}
		if c.Before != nil {
			if err := f.handwritten(name, c.Before); err != nil {
				return nil, err
			}
		}
		w := workspace.Change{Path: name, Before: c.Before, After: c.After, Mode: c.Mode}
		if c.From != "" {
			if w.From, err = f.Workspace.Resolve(c.From); err != nil {
				return nil, err
			}
		}
		all = append(all, w)
	}
	return all, nil
}

// edited tells what was done. The diff is for faces: the model knows what it wrote,
// unless something had to be tolerated.
func (f *files) edited(done *edit.Result, changes []workspace.Change) *tool.Result {
	var b strings.Builder
	d := changeDetails{Diff: done.Diff, Added: done.Added, Removed: done.Removed}
	for _, c := range changes {
		d.Paths = append(d.Paths, c.Path)
		switch {
		case c.From != "":
			fmt.Fprintf(&b, "Moved %s to %s\n", c.From, c.Path)
		case c.After == nil:
			fmt.Fprintf(&b, "Removed %s\n", c.Path)
		case c.Before == nil:
			fmt.Fprintf(&b, "Created %s\n", c.Path)
		default:
			fmt.Fprintf(&b, "Edited %s\n", c.Path)
		}
	}
	fmt.Fprintf(&b, "+%d -%d lines", done.Added, done.Removed)
	for _, n := range done.Notes {
		b.WriteString("\nNote: " + n)
	}
	if len(done.Notes) > 0 && len(done.Diff) < maxNotedDiff {
		b.WriteString("\n\n" + done.Diff)
	}
	if f.Engine.Name() == "hashline" {
		for i, c := range done.Changes { // which have the text of a notebook
			if from, to := changedLines(c.Before, c.After); to > 0 {
				b.WriteString("\n" + edit.Tagged(changes[i].Path, c.After, from, to))
			}
		}
	}
	return tool.Text(b.String()).WithDetails(d)
}

// maxNotedDiff is the longest diff that the model is shown with a note.
const maxNotedDiff = 4 << 10

// changedLines is the range of lines of after that differ from before, with two
// lines around, at most 200; to is 0 if there is nothing to show.
func changedLines(before, after []byte) (from, to int) {
	if len(after) == 0 {
		return 0, 0
	}
	a, b := bytes.SplitAfter(before, []byte("\n")), bytes.SplitAfter(after, []byte("\n"))
	head := 0
	for head < min(len(a), len(b)) && bytes.Equal(a[head], b[head]) {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	from = max(head-1, 1)
	to = min(len(b)-tail+2, len(splitLines(string(after))))
	return from, min(to, from+199)
}
