package file

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

//go:embed grep.md
var grepDescription string

type grepArgs struct {
	Pattern    string   `json:"pattern" jsonschema:"regular expression (RE2)"`
	Path       string   `json:"path,omitempty" jsonschema:"file or folder; default is the workspace"`
	Glob       []string `json:"glob,omitempty" jsonschema:"only files like these, as *.go; a leading ! excludes"`
	Type       string   `json:"type,omitempty" jsonschema:"only files of a language: go, py, ts, ..."`
	Literal    bool     `json:"literal,omitempty" jsonschema:"pattern is plain text"`
	IgnoreCase bool     `json:"ignoreCase,omitempty"`
	Multiline  bool     `json:"multiline,omitempty" jsonschema:"the pattern may span lines"`
	Context    *int     `json:"context,omitempty" jsonschema:"lines around each match, up to 20"`
	Output     string   `json:"output,omitempty" jsonschema:"lines (default), files or count"`
	Ignored    bool     `json:"ignored,omitempty" jsonschema:"also what .gitignore excludes"`
	Limit      int      `json:"limit,omitempty" jsonschema:"most matches; default 100"`
	Offset     int      `json:"offset,omitempty" jsonschema:"matches to skip"`
}

// What a search shows at most.
const (
	defaultMatches = 100
	maxMatches     = 2000
	matchColumns   = 512
	maxContext     = 20 // lines before or after a match
)

// grepDetails are for faces.
type grepDetails struct {
	Matches      int      `json:"matches"`
	Files        int      `json:"files"`
	Searched     int      `json:"searched"`
	LimitReached bool     `json:"limitReached,omitempty"`
	Skipped      []string `json:"skipped,omitempty"`
}

func (f *files) grep() *tool.Tool {
	return tool.New(tool.Definition[grepArgs]{
		Name: "grep", Label: "Search", Description: grepDescription, Effects: tool.Reads,
		Adjust: func(s *tool.Schema) {
			tool.Property(s, "output").Enum = []any{"lines", "files", "count"}
		},
		Access: func(a grepArgs) []tool.Access { return reads(f, a.Path) },
		Run:    f.runGrep,
	})
}

func (f *files) runGrep(ctx context.Context, _ tool.Call, a grepArgs) (*tool.Result, error) {
	return at(ctx, f, a.Path, func(f *files, path string) (*tool.Result, error) {
		a.Path = path
		return grepIn(ctx, f, a)
	})
}

func grepIn(ctx context.Context, f *files, a grepArgs) (*tool.Result, error) {
	filter, err := f.filter(ctx, a.Path, a.Ignored)
	if err != nil {
		return nil, err
	}
	filter.Globs = a.Glob
	if f.Withheld != nil {
		folder := "."
		if len(filter.Paths) > 0 {
			folder = filter.Paths[0]
		}
		filter.Withheld = f.Withheld(folder)
	}
	if a.Type != "" {
		filter.Types = []string{a.Type}
	}
	limit := a.Limit
	if limit <= 0 {
		limit = defaultMatches
	}
	before, after := f.GrepBefore, f.GrepAfter
	if a.Context != nil {
		before = min(max(*a.Context, 0), maxContext)
		after = before
	}
	o := search.GrepOptions{
		Filter: filter, Pattern: a.Pattern, Literal: a.Literal, IgnoreCase: a.IgnoreCase, Multiline: a.Multiline,
		Before: before, After: after, Offset: max(a.Offset, 0), Limit: min(limit, maxMatches), MaxColumns: matchColumns,
	}
	if a.Output == "files" || a.Output == "count" {
		o.Mode = search.GrepMode(a.Output)
	}
	w := &grepWriter{prefix: f.prefix, mode: o.Mode, context: before+after > 0, learn: f.learnFile}
	sum, err := search.Grep(ctx, f.fs, o, w.match)
	if err != nil {
		return nil, err
	}
	w.end(sum, o)
	details := grepDetails{Matches: sum.Matches, Files: sum.Files, Searched: sum.Searched, LimitReached: sum.LimitReached || w.full, Skipped: sum.Skipped}
	return tool.Text(w.text.String()).WithDetails(details), nil
}

// grepWriter writes matches grouped by file.
type grepWriter struct {
	prefix  string // of the paths
	text    strings.Builder
	mode    search.GrepMode
	context bool
	path    string
	last    int // last line written of path
	shown   int
	cut     bool
	full    bool // the text is as long as it may be
	learn   func(path string)
	learned string // the last path that learn was told
}

// encoded says whether a text has 16 characters of base64 in a row, in which there are
// letters of both cases and digits: it may be a line of a key.
func encoded(text string) bool {
	n, lower, upper, digit := 0, false, false, false
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z':
			lower = true
		case 'A' <= c && c <= 'Z':
			upper = true
		case '0' <= c && c <= '9':
			digit = true
		case c != '+' && c != '/' && c != '=':
			n, lower, upper, digit = -1, false, false, false
		}
		if n++; n >= 16 && lower && upper && digit {
			return true
		}
	}
	return false
}

// learnFile tells Learn of a file of which lines are shown.
func (f *files) learnFile(path string) {
	file, err := f.fs.Open(path)
	if err != nil {
		return // nothing is read of it either
	}
	defer file.Close()
	if data, err := io.ReadAll(io.LimitReader(file, maxLearn)); err == nil {
		f.Learn(string(data))
	}
}

func (w *grepWriter) match(m search.Match) bool {
	if w.text.Len() > maxBytes {
		w.full = true
		return false
	}
	w.shown++
	w.cut = w.cut || m.Cut
	switch w.mode {
	case search.GrepFiles:
		w.text.WriteString(w.prefix + m.Path + "\n")
		return true
	case search.GrepCount:
		fmt.Fprintf(&w.text, "%s: %d\n", w.prefix+m.Path, m.Count)
		return true
	}
	if w.learned != m.Path && (encoded(m.Text) || slices.ContainsFunc(m.Before, encoded) || slices.ContainsFunc(m.After, encoded)) {
		w.learn(m.Path)
		w.learned = m.Path
	}
	if m.Path != w.path {
		if w.path != "" {
			w.text.WriteByte('\n')
		}
		w.path, w.last = m.Path, 0
		w.text.WriteString(w.prefix + m.Path + "\n")
	} else if w.context && m.Line-len(m.Before) > w.last+1 {
		w.text.WriteString("…\n")
	}
	for i, line := range m.Before {
		w.line(m.Line-len(m.Before)+i, '-', line)
	}
	for i, line := range strings.Split(strings.TrimSuffix(m.Text, "\n"), "\n") {
		w.line(m.Line+i, ':', line)
	}
	n := w.last
	for i, line := range m.After {
		w.line(n+1+i, '-', line)
	}
	return true
}

// line writes a line once, though it may be the context of one match and another
// match, or the context of two.
func (w *grepWriter) line(n int, mark byte, text string) {
	if n <= w.last {
		return
	}
	w.last = n
	fmt.Fprintf(&w.text, "%d%c%s\n", n, mark, text)
}

func (w *grepWriter) end(sum search.Summary, o search.GrepOptions) {
	var notes []string
	switch {
	case w.shown == 0 && o.Offset > 0:
		notes = append(notes, "No more matches")
	case w.shown == 0:
		note := fmt.Sprintf("No matches in %s", prose.Count(sum.Searched, "file"))
		if !o.Ignored {
			note += " (ignored ones were not searched)"
		}
		notes = append(notes, note)
	case sum.LimitReached || w.full:
		notes = append(notes, fmt.Sprintf("%d shown, there are more: narrow the pattern, or continue with offset=%d", w.shown, o.Offset+w.shown))
	}
	if w.cut {
		notes = append(notes, fmt.Sprintf("Long lines cut at %d characters", matchColumns))
	}
	if n := len(sum.Skipped); n > 0 {
		notes = append(notes, fmt.Sprintf("%s not read: %s", prose.Count(n, "file"), strings.Join(sum.Skipped[:min(n, 3)], "; ")))
	}
	if sum.Withheld > 0 {
		notes = append(notes, prose.Count(sum.Withheld, "file")+" left out that rules refuse or that usually hold secrets: search one by its own path to ask for it")
	}
	if len(notes) > 0 {
		w.text.WriteString("[" + strings.Join(notes, ". ") + ".]")
	}
}
