// Package complete proposes how a prompt goes on; it is the editor's completer.
//
//	@par        files and folders of the workspace, in any order of letters that fits;
//	            @"my notes.md" where a path has spaces
//	@notes:tod  resources of servers
//	/mod        commands, at the beginning of a prompt, and what they take
//	./ ../ ~/   paths, and /abs that is not the first word
//	!git che⇥   in a line for the shell: programs, then files
//	word⇥       with Tab, any word is the beginning of a path
//
// # What is promised
//
//   - Commands are answered at once, from memory. What needs the disk or a server runs in one
//     goroutine, which lives while there is a question; a newer question ends an older
//     one. Nothing runs while nobody types.
//   - An answer has at most 200 items, of one folder at most 50,000 names are read.
//   - What is written in full already is not proposed, unless a person asks with Tab:
//     the Enter that follows it sends the prompt. In a line for the shell nothing is
//     proposed but for Tab, for the same reason.
//   - Names that no prompt can hold, such as those with line ends, are left out.
//
// [Mentions] finds the files that a prompt names when it is sent.
package complete

import (
	"context"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
)

const (
	maxItems  = 200
	maxNames  = 50_000 // that are read of one folder
	maxRecent = 50
)

// Files are those of the workspace, as its ignore rules have them.
type Files interface {
	// Find gives at most limit paths that fit a query, the best first: relative, with
	// "/" between names and at the end of folders. An empty query fits all. It ends
	// when ctx does.
	Find(ctx context.Context, query string, limit int) ([]string, error)
}

// Options of a [Completer]. What is left out is not proposed.
type Options struct {
	// Post runs f on the face's goroutine, as that of pane.Env does.
	Post func(f func())
	// Answer takes an answer that comes later: [editor.Editor.Completed].
	Answer func(generation uint64, c editor.Completion) bool
	Files  Files
	// Commands are those of now; it is asked at each key and must be fast.
	Commands func() []Command
	// Resources are what servers have that a word after "@" may name, as "server:address". It runs in
	// the worker, and may wait until ctx ends where a word names a server.
	Resources func(ctx context.Context, typed string) []editor.Item
	// Dir is the workspace's folder, absolute.
	Dir func() string
	// Getenv gives HOME, PATH and PATHEXT; nil is the environment.
	Getenv func(string) string
}

// Completer is an [editor.Completer]. Its methods are called on the face's goroutine.
type Completer struct {
	o        Options
	recent   []string // what was mentioned, the latest first
	programs programs // of the worker

	mu         sync.Mutex
	generation uint64 // of the latest question
	next       func(context.Context)
	cancel     context.CancelFunc // ends what is under way
	running    bool
}

var _ editor.Completer = (*Completer)(nil)

// New makes a completer.
func New(o Options) *Completer {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Completer{o: o}
}

// Mentioned remembers what a prompt named, relative to the workspace: these paths come
// first where they fit as well as others.
func (c *Completer) Mentioned(paths ...string) {
	for _, p := range paths {
		c.recent = append([]string{p}, without(c.recent, p)...)
	}
	c.recent = c.recent[:min(len(c.recent), maxRecent)]
}

func without(list []string, s string) (rest []string) {
	for _, l := range list {
		if l != s {
			rest = append(rest, l)
		}
	}
	return rest
}

// Close ends what is under way. Its answer is dropped.
func (c *Completer) Close() { c.drop(^uint64(0)) }

// Complete is [editor.Completer]'s.
func (c *Completer) Complete(q editor.Query) (editor.Completion, bool) {
	c.drop(q.Generation)
	if q.First && strings.HasPrefix(q.Line, "!") {
		return c.shell(q)
	}
	w := mention.Last(q.Line)
	if strings.ContainsFunc(w.Text, unprintable) {
		return editor.Completion{}, true
	}
	if w.At {
		return c.mention(q, w)
	}
	if q.First && strings.HasPrefix(q.Line, "/") {
		if answer, ok := c.command(q); ok {
			return answer, true
		}
		if w.Start == 0 && !q.Asked {
			return editor.Completion{}, true
		}
	}
	if !q.Asked && !startsPath(w.Text) {
		return editor.Completion{}, true
	}
	return c.path(q, w)
}

// startsPath reports whether a word can be nothing but a path.
func startsPath(word string) bool {
	for _, prefix := range []string{"./", "../", "~/"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	// A lone "/" stands between words.
	return len(word) > 1 && word[0] == '/' && word[1] != '/'
}

// unprintable reports whether a character has no place in a path that is typed.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\uFFFC' || r == unicode.ReplacementChar
}

// later answers a question from the worker.
func (c *Completer) later(q editor.Query, start int, find func(context.Context) []editor.Item) (editor.Completion, bool) {
	if c.o.Post == nil || c.o.Answer == nil {
		return editor.Completion{}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = func(ctx context.Context) {
		items := find(ctx)
		c.mu.Lock()
		current := c.generation == q.Generation
		c.mu.Unlock()
		if current && ctx.Err() == nil {
			c.o.Post(func() { c.o.Answer(q.Generation, editor.Completion{Start: start, Items: items}) })
		}
	}
	if !c.running {
		c.running = true
		go c.work()
	}
	return editor.Completion{}, false
}

// drop ends what was asked before a question.
func (c *Completer) drop(generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation, c.next = generation, nil
	if c.cancel != nil {
		c.cancel()
	}
}

// work answers questions until there is none.
func (c *Completer) work() {
	for {
		c.mu.Lock()
		job := c.next
		c.next = nil
		if job == nil {
			c.running, c.cancel = false, nil
			c.mu.Unlock()
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		c.cancel = cancel
		c.mu.Unlock()
		job(ctx)
		cancel()
	}
}
