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
	"github.com/burin-dev/burin/internal/prose"
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

	MadeExecutable bool `json:"madeExecutable,omitempty"`

	Diagnostics []string `json:"diagnostics,omitempty"` // that are new
}

func (f *files) write() *tool.Tool {
	return tool.New(tool.Definition[writeArgs]{
		Name: "write", Label: "Write", Description: writeDescription, Strict: true, Effects: tool.Writes,
		Access: func(a writeArgs) []tool.Access {
			if isConflict(a.Path) {
				return conflictAccess(f, tool.AccessWrite, a.Path)
			}
			p, _, err := f.locate(a.Path)
			if err != nil {
				p.name = a.Path
			}
			return writes(f, p.name)
		},
		Run: func(ctx context.Context, _ tool.Call, a writeArgs) (*tool.Result, error) {
			f := f.in(ctx)
			if isConflict(a.Path) {
				return writeConflict(ctx, f, a.Path, a.Content)
			}
			if err := writable(f, "write", a.Path); err != nil {
				return nil, err
			}
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

// writable refuses an address that can't be written: as a path it would name folders called
// https: and the like.
func writable(f *files, tool, written string) error {
	scheme, _, ok := splitURL(written)
	switch {
	case strings.HasPrefix(written, "file://"):
		return fmt.Errorf("%s: %s takes paths: leave out file://", written, tool)
	case !ok || f.Workspace.Mounted(written):
		return nil
	}
	known := f.Workspace.Mounts()
	if tool == "write" {
		known = append(known, conflictScheme)
	}
	can := "paths"
	if len(known) > 0 {
		can = "paths and " + strings.Join(known, ", ")
	}
	return fmt.Errorf("%s: %s:// cannot be written; %s takes %s", written, scheme, tool, can)
}

// writes is the access of a call that writes paths and addresses. An address that cannot be
// written is only named: the call fails with the reason, and nobody is asked about it.
func writes(f *files, paths ...string) []tool.Access {
	var all []tool.Access
	for _, p := range paths {
		if writable(f, "write", p) != nil {
			all = append(all, tool.Access{Kind: tool.AccessRead, Target: p})
		} else {
			all = append(all, f.access(tool.AccessWrite, p)...)
		}
	}
	return all
}

// seen refuses to replace a file that the model has not seen as it is now.
func (f *files) seen(name string) error {
	switch f.Workspace.Changed(name) {
	case workspace.Unseen:
		instead := ", or use edit"
		if f.Engine.Name() == "whole" {
			instead = ""
		}
		return fmt.Errorf("%s exists and you have not read it: read it first%s", name, instead)
	case workspace.Stale:
		return fmt.Errorf("%s has changed since you read it: read it again", name)
	}
	return nil
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
		if err := f.handwritten(name, before); err != nil {
			return nil, err
		}
		if err := f.seen(name); err != nil {
			return nil, err
		}
	}
	content, copied := untagged(content, before)
	after := []byte(content)
	if isNotebook(name) && strings.HasPrefix(content, "# %% [") { // as read shows it
		if after, err = document.NotebookApply(before, content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if bytes.Equal(before, after) && before != nil {
		return tool.Text(name + " already holds exactly this"), nil
	}
	mode := fs.FileMode(0o644)
	script := strings.HasPrefix(content, "#!") && !bytes.HasPrefix(before, []byte("#!"))
	if script {
		mode = 0o755 // a script that cannot be started would be the first thing to fix
	}
	change := workspace.Change{Path: name, Before: before, After: after, Mode: mode}
	if err := f.commit(ctx, []workspace.Change{change}); err != nil {
		return nil, err
	}
	if script && before != nil {
		script = f.makeExecutable(ctx, name)
	}
	diff, added, removed := edit.Diff(name, before, after)
	words := fmt.Sprintf("Wrote %s: %s, %s", name, size(int64(len(after))), prose.Count(len(splitLines(content)), "line"))
	if before == nil {
		words = strings.Replace(words, "Wrote", "Created", 1)
	}
	if copied {
		words += "\nNote: the line names that read shows were left out."
	}
	if f.Engine.Name() == "hashline" {
		words += "\n" + edit.Tagged(name, []byte(content), 1, min(len(splitLines(content)), 200))
	}
	return tool.Text(words).WithDetails(changeDetails{
		Paths: []string{name}, Diff: diff, Added: added, Removed: removed, Created: before == nil, MadeExecutable: script,
	}), nil
}

// makeExecutable lets a file that became a script be started. Only the usual mode
// is changed: another one is somebody's decision, and so is that of a file that was
// a script before.
func (f *files) makeExecutable(ctx context.Context, name string) bool {
	info, err := f.fs.Stat(name)
	if err != nil || info.Mode().Perm() != 0o644 {
		return false
	}
	// The watch puts it into the journal, so that undo brings back the mode.
	_, err = f.Workspace.Watch(ctx, func() error { return f.fs.Chmod(name, 0o755) })
	return err == nil // the file is written, which is what was asked for
}

// handwritten refuses a file that is generated from something else.
func (f *files) handwritten(name string, data []byte) error {
	if f.EditGenerated {
		return nil
	}
	if why := edit.Generated(name, data[:min(len(data), 1024)]); why != "" {
		return fmt.Errorf("%s is generated (%s): change what it is generated from", name, why)
	}
	return nil
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
	real := f.Workspace.Real(name)
	if real == "" || f.Workspace.Dir() == "" {
		return nil, notOnDisk(name)
	}
	var words string
	_, err := f.Workspace.Watch(ctx, func() (err error) {
		words, err = document.WriteRow(ctx, real, selector, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tool.Text(words).WithDetails(changeDetails{Paths: []string{name}}), nil
}

// commit makes changes, keeps them for undo_edit and lets searches know.
func (f *files) commit(ctx context.Context, changes []workspace.Change) error {
	check := checkOf(ctx)
	changes = check.begin(ctx, f.Check, changes)
	if err := f.Workspace.Commit(ctx, changes); err != nil {
		return err
	}
	check.committed(changes)
	f.done.add(made{changes: changes})
	if f.saved.Cache != nil {
		for _, c := range changes {
			f.invalidate(c.Path)
			if c.From != "" {
				f.invalidate(c.From)
			}
		}
	}
	return nil
}

func (f *files) invalidate(name string) {
	if real := f.saved.Workspace.Real(name); real != "" {
		name = real
	}
	f.saved.Cache.Invalidate(name)
}
