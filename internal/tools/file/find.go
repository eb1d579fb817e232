package file

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/tool"
)

//go:embed find.md
var findDescription string

type findArgs struct {
	Pattern string `json:"pattern" jsonschema:"glob as **/*_test.go, or with fuzzy a part of a path"`
	Path    string `json:"path,omitempty" jsonschema:"folder; default is the workspace"`
	Fuzzy   bool   `json:"fuzzy,omitempty" jsonschema:"rank paths by likeness to pattern"`
	Folders bool   `json:"folders,omitempty" jsonschema:"also folders"`
	Ignored bool   `json:"ignored,omitempty" jsonschema:"also what .gitignore excludes"`
	Limit   int    `json:"limit,omitempty" jsonschema:"default 200"`
}

const (
	defaultFound = 200
	maxFound     = 5000
)

// findDetails are for faces.
type findDetails struct {
	Files        int  `json:"files"`
	LimitReached bool `json:"limitReached,omitempty"`
}

func (f *files) find() *tool.Tool {
	return tool.New(tool.Definition[findArgs]{
		Name: "find", Label: "Find", Description: findDescription, Effects: tool.Reads,
		Access: func(a findArgs) []tool.Access { return reads(f, a.Path) },
		Run:    f.runFind,
	})
}

func (f *files) runFind(ctx context.Context, _ tool.Call, a findArgs) (*tool.Result, error) {
	return at(ctx, f, a.Path, func(f *files, path string) (*tool.Result, error) {
		a.Path = path
		return findIn(ctx, f, a)
	})
}

func findIn(ctx context.Context, f *files, a findArgs) (*tool.Result, error) {
	filter, err := f.filter(ctx, a.Path, a.Ignored)
	if err != nil {
		return nil, err
	}
	limit := defaultFound
	if a.Limit > 0 {
		limit = min(a.Limit, maxFound)
	}
	var found []search.Entry
	var more bool
	if a.Fuzzy {
		scored, err := search.Find(ctx, f.fs, search.FindOptions{Filter: filter, Query: a.Pattern, Dirs: a.Folders, Limit: limit + 1})
		if err != nil {
			return nil, err
		}
		for _, s := range scored {
			found = append(found, s.Entry)
		}
		if more = len(found) > limit; more {
			found = found[:limit]
		}
	} else if found, more, err = search.Glob(ctx, f.fs, search.GlobOptions{Filter: filter, Pattern: a.Pattern, Dirs: a.Folders, Limit: limit}); err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Path = f.prefix + found[i].Path
	}
	return foundResult(found, more, a), nil
}

// filter lets a search see what is at path, which must be there: hidden files such as
// .github/ like all others, ignored ones only if it is told to, .git only if path leads there.
func (f *files) filter(ctx context.Context, path string, ignored bool) (search.Filter, error) {
	name, err := f.Workspace.Resolve(orRoot(path))
	if err != nil {
		return search.Filter{}, err
	}
	if _, err := f.fs.Stat(name); err != nil {
		return search.Filter{}, f.missing(ctx, path, err)
	}
	filter := search.Filter{Hidden: true, Ignored: ignored, Cache: f.Cache}
	if name != "." {
		filter.Paths = []string{name}
	}
	return filter, nil
}

func foundResult(found []search.Entry, more bool, a findArgs) *tool.Result {
	var b strings.Builder
	now := time.Now()
	shown := 0
	for _, e := range found {
		if b.Len() > maxBytes {
			more = true
			break
		}
		shown++
		switch {
		case e.Dir:
			fmt.Fprintf(&b, "%s/\n", e.Path)
		case a.Fuzzy:
			fmt.Fprintln(&b, e.Path)
		default:
			fmt.Fprintf(&b, "%s  %s\n", e.Path, ago(now.Sub(e.ModTime)))
		}
	}
	switch {
	case shown == 0:
		b.WriteString("[No matches")
		if !a.Ignored {
			b.WriteString("; ignored files were left out")
		}
		b.WriteString(".]")
	case more:
		fmt.Fprintf(&b, "[%d shown, there are more: narrow the pattern or raise limit.]", shown)
	}
	return tool.Text(b.String()).WithDetails(findDetails{Files: shown, LimitReached: more})
}
