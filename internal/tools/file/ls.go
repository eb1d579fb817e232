package file

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

//go:embed ls.md
var lsDescription string

type lsArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"folder; default is the workspace"`
	Depth int    `json:"depth,omitempty" jsonschema:"levels to show, 1 to 5; default 1"`
}

func (f *files) ls() *tool.Tool {
	return tool.New(tool.Definition[lsArgs]{
		Name: "ls", Label: "List", Description: lsDescription, Effects: tool.Reads,
		Access: func(a lsArgs) []tool.Access { return reads(f, a.Path) },
		Run: func(ctx context.Context, _ tool.Call, a lsArgs) (*tool.Result, error) {
			return at(ctx, f, a.Path, func(f *files, path string) (*tool.Result, error) {
				return listPath(ctx, f, path, a.Depth)
			})
		},
	})
}

func listPath(ctx context.Context, f *files, path string, depth int) (*tool.Result, error) {
	name, err := f.Workspace.Resolve(orRoot(path))
	if err != nil {
		return nil, err
	}
	info, err := f.fs.Stat(name)
	if err != nil {
		return nil, f.missing(ctx, path, err)
	}
	if !info.IsDir() {
		return tool.Text(entryLine(info, info.Name(), time.Now())), nil
	}
	return f.list(ctx, name, min(max(depth, 1), 5))
}

// What a listing shows at most.
const (
	maxEntries      = 500 // in all
	maxEntriesBelow = 12  // of each folder below the first
)

// list shows a folder, newest entries first, as an indented tree.
func (f *files) list(ctx context.Context, name string, depth int) (*tool.Result, error) {
	l := &lister{files: f, now: time.Now(), left: maxEntries}
	if err := l.folder(ctx, name, "", depth); err != nil {
		return nil, err
	}
	if l.text.Len() == 0 {
		return tool.Text("(empty folder)"), nil
	}
	if l.hidden > 0 {
		fmt.Fprintf(&l.text, "[%s not shown: list a folder below, or find by name.]", prose.Count(l.hidden, "entry"))
	}
	return tool.Text(l.text.String()).WithDetails(readDetails{Path: name, Kind: "folder", Truncated: l.hidden > 0}), nil
}

type lister struct {
	*files
	text   strings.Builder
	now    time.Time
	left   int
	hidden int
}

func (l *lister) folder(ctx context.Context, name, indent string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	found, err := l.fs.ReadDir(name)
	if err != nil {
		return err
	}
	infos := make([]fs.FileInfo, 0, len(found))
	for _, e := range found {
		if e.Name() == ".git" {
			continue // its contents are git's, and many
		}
		if info, err := e.Info(); err == nil { // else it has gone meanwhile
			infos = append(infos, info)
		}
	}
	slices.SortStableFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	limit := maxEntriesBelow
	if indent == "" {
		limit = maxEntries
	}
	for i, info := range infos {
		if i == limit || l.left == 0 {
			l.hidden += len(infos) - i
			if indent != "" {
				fmt.Fprintf(&l.text, "%s… %d more\n", indent, len(infos)-i)
			}
			return nil
		}
		l.left--
		l.text.WriteString(indent + entryLine(info, info.Name(), l.now) + "\n")
		if info.IsDir() && depth > 1 {
			if err := l.folder(ctx, path.Join(name, info.Name()), indent+"  ", depth-1); err != nil {
				fmt.Fprintf(&l.text, "%s  (%v)\n", indent, err)
			}
		}
	}
	return nil
}

func entryLine(info fs.FileInfo, name string, now time.Time) string {
	age := ago(now.Sub(info.ModTime()))
	switch {
	case info.IsDir():
		return fmt.Sprintf("%s/  %s", name, age)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Sprintf("%s  link  %s", name, age)
	default:
		return fmt.Sprintf("%s  %s  %s", name, size(info.Size()), age)
	}
}

// size is a number of bytes for reading.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// ago is an age for reading.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d < 60*24*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
	return fmt.Sprintf("%dmo", int(d.Hours()/24/30))
}
