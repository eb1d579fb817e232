// Package file holds the tools that look at files and change them: read, ls,
// grep, find, write, edit and undo_edit.
//
// They act on a [workspace.Workspace] and reach nothing else. What they show is
// bounded; what does not fit is said, with the way to get it. A file is only
// overwritten as a whole if the model has seen what it holds now.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool"
)

// Options of the tools.
type Options struct {
	Workspace *workspace.Workspace
	Engine    edit.Engine // of the edit tool
	Artifacts tool.Artifacts
	Images    document.ImageLimits
	Cache     *search.Cache // of the file listings that searches share; nil is none
	// EditGenerated lets files be changed that say they are generated.
	EditGenerated bool
	// ExactEdits refuses edits whose text is in the file only with other whitespace, quotes or indentation.
	ExactEdits bool
	// ReadLines is how many lines a reading shows that names no range; 0 is 2000.
	ReadLines int
	// GrepBefore and GrepAfter are the lines around matches where a search does not say how many.
	GrepBefore, GrepAfter int
	// URLs reads the addresses of other parts of the program, by scheme:
	// "skill" for skill://name. The text is shown like a file that cannot be
	// edited. artifact:// is known without it.
	URLs map[string]func(ctx context.Context, url string) (string, error)
	// Targets say where on the network the addresses of a scheme lead, for those that do:
	// permission is asked for it as for any request.
	Targets map[string]func(address string) string
	// Calls say which calls of MCP servers the addresses of a scheme are, for those that are any;
	// "" is none. Permission is asked for it as for a call.
	Calls map[string]func(address string) string
	// Trees are the files behind addresses, by scheme, for the tools that list and search.
	Trees map[string]Tree
	// Withheld gives, for a search of a folder, the test for files that it must not show:
	// those that permission would refuse or ask about. nil, or a test that is nil, is
	// none.
	Withheld func(folder string) func(name string) bool
	// Learn is told each text that is read, whole, before a part of it is shown. nil
	// is nobody.
	Learn func(text string)
	// Check is called before files change, with the name of the tool; nil is nobody.
	Check func(ctx context.Context, tool string, changes []workspace.Change) Checked
}

// Checked is an edit that somebody judges.
type Checked struct {
	Changes   []workspace.Change // to commit, in place of those that were given: they may be formatted
	Formatted string             // who formatted what; "" if nothing was
	// Finish is called after the commit, and says what the edit broke; "" is nothing.
	Finish func(ctx context.Context) (words string, lines []string)
}

// Kit makes the tools of a workspace for one model after the other. They share what they
// know of the files.
type Kit struct{ f *files }

// NewKit makes a kit for a model as the options say.
func NewKit(o Options) *Kit {
	if o.Learn == nil {
		o.Learn = func(string) {}
	}
	f := &files{Options: o, fs: o.Workspace.Files(), done: &history{}, regions: &regions{}}
	f.saved = f
	return &Kit{f}
}

// Tools are all tools, in the order that models see them.
func (k *Kit) Tools() []*tool.Tool {
	f := k.f
	return []*tool.Tool{f.read(), f.ls(), f.grep(), f.find(), checked(f, f.edit()), checked(f, f.write()), checked(f, f.undoEdit())}
}

// Commit changes files as the tools do: undo_edit takes it back, and searches know of it.
func (k *Kit) Commit(ctx context.Context, changes []workspace.Change) error {
	return k.f.in(ctx).commit(ctx, changes)
}

// For makes the tools that are not the same with another engine of edits, or other limits
// of pictures.
func (k *Kit) For(engine edit.Engine, images document.ImageLimits) []*tool.Tool {
	f := *k.f
	f.Engine, f.Images, f.saved = engine, images, &f
	return []*tool.Tool{f.read(), checked(&f, f.edit()), checked(&f, f.write())}
}

// files are the tools' common ground.
type files struct {
	Options
	fs      workspace.Files
	done    *history
	regions *regions // conflicts that were read
	// prefix goes before the paths that searches show: the address of what they look through.
	prefix string
	saved  *files // without the open documents of a face: what permission has judged
}

// in are the files as a call sees them: with the open documents of the face that
// submitted its prompt.
func (f *files) in(ctx context.Context) *files {
	w := f.Workspace.For(ctx)
	if w == f.Workspace {
		return f
	}
	seen := *f
	seen.Workspace, seen.fs, seen.Cache = w, w.Files(), nil // the lists of searches are of what is saved
	return &seen
}

// access is what a call does to a path. A path that cannot be resolved is named
// as it was written: the call will fail with the reason.
func (f *files) access(kind tool.AccessKind, paths ...string) []tool.Access {
	var all []tool.Access
	for _, p := range paths {
		name, err := f.Workspace.Resolve(p)
		if err != nil {
			name = p
		}
		all = append(all, tool.Access{Kind: kind, Target: name})
	}
	return all
}

// orRoot is the path, or the root for an empty one. A lone slash means the root of
// the workspace too: models write it for "everything".
func orRoot(path string) string {
	if path == "" || path == "/" {
		return "."
	}
	return path
}

// missing explains that a path does not exist, with the closest ones that do.
func (f *files) missing(ctx context.Context, path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.prefix != "" || f.Workspace.Mounted(path) {
		return fmt.Errorf("%s does not exist", strings.TrimSuffix(f.prefix+path, "."))
	}
	query := path[strings.LastIndexByte(path, '/')+1:]
	near, ferr := search.Find(ctx, f.fs, search.FindOptions{Query: query, Limit: 3, Dirs: true, Filter: search.Filter{Hidden: true, Cache: f.Cache}})
	if ferr != nil || len(near) == 0 {
		return fmt.Errorf("%s does not exist", path)
	}
	var names []string
	for _, n := range near {
		names = append(names, n.Path)
	}
	return fmt.Errorf("%s does not exist; there is %s", path, strings.Join(names, ", "))
}
