package complete

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/platform/search"
)

// found is the search of the workspace, as the program has it.
type found struct {
	rooted
	cache *search.Cache
}

type rooted struct {
	fs.FS
	dir string
}

func (r rooted) Dir() string { return r.dir }

func (f found) Find(ctx context.Context, query string, limit int) (paths []string, err error) {
	o := search.FindOptions{Query: query, Dirs: true, Limit: limit}
	o.Cache = f.cache
	scored, err := search.Find(ctx, f.rooted, o)
	for _, s := range scored {
		if s.Dir {
			s.Path += "/"
		}
		paths = append(paths, s.Path)
	}
	return paths, err
}

// A tree of 100,000 files: from the key to the answer on the face's goroutine.
func BenchmarkFiles100k(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		folder := filepath.Join(dir, fmt.Sprintf("pkg%02d/module%02d", i/50, i%50))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s_%d.go", []string{"parser", "lexer", "printer", "scanner"}[j%4], j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	posts := make(chan func(), 1)
	answers := 0
	c := New(Options{
		Post: func(f func()) { posts <- f }, Files: found{rooted{os.DirFS(dir), dir}, search.NewCache()}, Dir: func() string { return dir },
		Answer: func(_ uint64, c editor.Completion) bool { answers += len(c.Items); return true },
	})
	generation := uint64(0)
	for _, line := range []string{"@", "@p", "@lex", "@modlex7", "@module07/lexer_1"} {
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				generation++
				c.Complete(editor.Query{Generation: generation, Line: line})
				(<-posts)()
			}
		})
	}
	if answers == 0 {
		b.Error("nothing was found")
	}
}

// What a key waits for.
func BenchmarkKey(b *testing.B) {
	var commands []Command
	for i := range 500 {
		commands = append(commands, Command{Name: fmt.Sprintf("skill-%d-do-something", i), Aliases: []string{fmt.Sprint("s", i)}, Help: "Does something with the words that follow", Args: "<words>"})
	}
	c := New(Options{
		Post: func(func()) {}, Files: nothing{}, Dir: func() string { return "/" },
		Answer:   func(uint64, editor.Completion) bool { return true },
		Commands: func() []Command { return commands },
	})
	prose := ""
	for len(prose) < 4000 {
		prose += `what "somebody" wrote (in prose), it's `
	}
	for _, bm := range []struct{ name, line string }{
		{"commands", "/"}, {"command fuzzy", "/sdosome"}, {"files", "@lex"}, {"prose", prose}, {"quotes", `"` + prose},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Complete(editor.Query{Line: bm.line, First: true})
			}
		})
	}
}

type nothing struct{}

func (nothing) Find(context.Context, string, int) ([]string, error) { return nil, nil }
