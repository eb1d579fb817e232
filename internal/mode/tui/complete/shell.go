package complete

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxPrograms = 20_000
	// programsFor is how long what PATH holds is taken for known.
	programsFor = time.Minute
)

// programs are the names of what PATH holds, sorted.
type programs struct {
	names []string
	path  string
	read  time.Time
}

// shellWord is the word at the end of a line for the shell.
type shellWord struct {
	start   int
	text    string // without quotes and backslashes
	quote   byte   // that is open; 0 is none
	command bool   // names a program
}

// shell completes a line that begins with "!", for Tab only.
func (c *Completer) shell(q editor.Query) (editor.Completion, bool) {
	if !q.Asked {
		return editor.Completion{}, true
	}
	w := lastShellWord(q.Line, len(q.Line)-len(strings.TrimLeft(q.Line, "! ")))
	if strings.ContainsFunc(w.text, unprintable) || w.command && w.text == "" {
		return editor.Completion{}, true
	}
	dir := c.dir()
	return c.later(q, w.start, func(ctx context.Context) []editor.Item {
		var found []string
		if folder, _ := split(w.text); w.command && folder == "" {
			found = c.programsLike(ctx, w.text)
		}
		if len(found) == 0 {
			found = c.list(ctx, dir, w.text, false)
		}
		return shellItems(found, w.quote)
	})
}

// shellItems makes items of paths. A folder is not gone into: the Enter after it may
// mean the command.
func shellItems(paths []string, quote byte) (items []editor.Item) {
	for _, p := range paths {
		if strings.ContainsFunc(p, unprintable) || quote != 0 && strings.IndexByte(p, quote) >= 0 {
			continue
		}
		insert := shellQuote(p, quote)
		if !strings.HasSuffix(p, "/") {
			if quote != 0 {
				insert += string(quote)
			}
			insert += " "
		}
		items = append(items, editor.Item{Label: prose.Inline(p), Insert: insert})
	}
	return items
}

// shellQuote writes a path as a word of the shell, within the quote that is open.
func shellQuote(path string, quote byte) string {
	special := " \t!\"#$&'()*;<>?[\\]^`{|}~"
	var b strings.Builder
	switch quote {
	case '\'':
		return "'" + path
	case '"':
		special = "\"$\\`"
		b.WriteByte('"')
	}
	rest := path
	if quote == 0 && strings.HasPrefix(path, "~/") {
		b.WriteByte('~')
		rest = path[1:]
	}
	for i := range len(rest) {
		if strings.IndexByte(special, rest[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(rest[i])
	}
	return b.String()
}

// lastShellWord reads a line from an index as a shell does, as far as it matters here:
// quotes, backslashes, and what ends a command.
func lastShellWord(line string, from int) shellWord {
	w := shellWord{start: from, command: true}
	var text []byte
	fresh := true // no character of the word has come yet
	for i := from; i < len(line); i++ {
		ch := line[i]
		switch {
		case w.quote == 0 && strings.IndexByte(" \t|&;()<>", ch) >= 0:
			if !fresh {
				w.command = false
			}
			if strings.IndexByte("|&;(", ch) >= 0 {
				w.command = true
			} else if ch == '<' || ch == '>' {
				w.command = false
			}
			w.start, text, fresh = i+1, text[:0], true
			continue
		case ch == w.quote:
			w.quote = 0
		case w.quote == 0 && (ch == '"' || ch == '\''):
			w.quote = ch
		case ch == '\\' && w.quote != '\'' && i+1 < len(line):
			i++
			text = append(text, line[i])
		default:
			text = append(text, ch)
		}
		fresh = false
	}
	w.text = string(text)
	return w
}

// programsLike gives the programs that begin so.
func (c *Completer) programsLike(ctx context.Context, prefix string) []string {
	p, path := &c.programs, c.o.Getenv("PATH")
	if p.path != path || time.Since(p.read) > programsFor {
		names := inPath(ctx, path, c.o.Getenv("PATHEXT"))
		if ctx.Err() != nil {
			return nil
		}
		*p = programs{names, path, time.Now()}
	}
	from := sort.SearchStrings(p.names, prefix)
	to := from
	for to < len(p.names) && to-from < maxItems && strings.HasPrefix(p.names[to], prefix) {
		to++
	}
	return slices.Clone(p.names[from:to])
}

// inPath reads the folders of PATH.
func inPath(ctx context.Context, path, extensions string) (names []string) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || ctx.Err() != nil {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if name, ok := program(dir, e, extensions); ok && len(names) < maxPrograms {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func program(dir string, e os.DirEntry, extensions string) (string, bool) {
	if e.IsDir() {
		return "", false
	}
	if runtime.GOOS == "windows" {
		ext := filepath.Ext(e.Name())
		ok := ext != "" && slices.ContainsFunc(filepath.SplitList(extensions), func(x string) bool { return strings.EqualFold(x, ext) })
		return strings.TrimSuffix(e.Name(), ext), ok
	}
	info, err := os.Stat(filepath.Join(dir, e.Name())) // links are common here
	return e.Name(), err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
