package lsp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxLintOutput = 4 << 20 // bytes that a linter may write
	lintsAtOnce   = 2       // programs of a link
)

// formats read what linters write that aren't language servers. A file is judged by its content:
// places outside of it are left out.
func formats() map[string]func(out []byte, t *text) ([]Diagnostic, error) {
	return map[string]func([]byte, *text) ([]Diagnostic, error){"lines": readLines, "sarif": readSARIF, "swiftlint": readSwiftLint}
}

// linter is the part of a link that runs a program for each file. What it said of a file stands
// until the file's content is another one.
type linter struct {
	room    chan struct{} // for programs
	running sync.WaitGroup

	mu    sync.Mutex
	files map[string]*judgement
}

// judgement is what a program says of a file's content.
type judgement struct {
	sum   [sha256.Size]byte
	found []Diagnostic // until it is done, those of the content before
	err   error
	done  chan struct{}
}

// lints reports whether the link runs a program for each file, in place of a server.
func (l *Link) lints() bool { return l.server.Format != "" }

// judge has a file looked at, unless its content was. The program reads the file itself, and
// continues after a deadline of its caller: what it says is there for the next one.
func (l *Link) judge(d Document) (*judgement, error) {
	t := &l.linter
	sum := sha256.Sum256(d.Data)
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.files[d.Path]
	if old != nil && old.sum == sum {
		select {
		case <-old.done:
			if old.err == nil {
				return old, nil
			}
		default:
			return old, nil
		}
	}
	if old == nil && len(t.files) >= maxFiles {
		return nil, fmt.Errorf("%s has judged %d files: restart it to have it judge others", l.server.Name, maxFiles)
	}
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil, errClosed
	case l.resting() != nil:
		defer l.mu.Unlock()
		return nil, l.resting()
	}
	l.starts++
	t.running.Add(1)
	l.mu.Unlock()
	j := &judgement{sum: sum, done: make(chan struct{})}
	if old != nil {
		j.found = old.found
	}
	if t.files == nil {
		t.files = map[string]*judgement{}
	}
	t.files[d.Path] = j
	go func() {
		defer t.running.Done()
		found, err := l.runLinter(d)
		l.mu.Lock()
		if l.err = err; err != nil {
			l.failures++
			l.failed = time.Now()
		} else {
			l.failures = 0
		}
		l.mu.Unlock()
		t.mu.Lock()
		if j.err = err; err == nil {
			j.found = found
		}
		t.mu.Unlock()
		close(j.done)
	}()
	return j, nil
}

// runLinter runs the program for a file.
func (l *Link) runLinter(d Document) ([]Diagnostic, error) {
	ctx, stop := context.WithTimeout(l.pool.life, l.server.startTime())
	defer stop()
	select {
	case l.linter.room <- struct{}{}:
		defer func() { <-l.linter.room }()
	case <-ctx.Done():
		return nil, errClosed
	}
	o, err := l.pool.confined()
	if err != nil {
		return nil, err
	}
	o.Dir = l.root
	cmd, err := process.CommandContext(ctx, o, l.server.Path, slices.Concat(l.server.Args, []string{d.Path})...)
	if err != nil {
		return nil, err
	}
	var out bounded
	log := new(ending)
	cmd.Stdout, cmd.Stderr = &out, log
	if l.server.Format == "lines" { // some linters say there what they found
		cmd.Stderr = &out
	}
	err = cmd.Run()
	l.mu.Lock()
	l.lastLog = log.String()
	l.mu.Unlock()
	switch {
	case ctx.Err() != nil && l.pool.life.Err() == nil:
		return nil, fmt.Errorf("it did not end within %s", l.server.startTime())
	case ctx.Err() != nil:
		return nil, errClosed
	case out.over:
		return nil, fmt.Errorf("it wrote more than %d MB", maxLintOutput>>20)
	}
	found, failure := formats()[l.server.Format](out.text.Bytes(), newText(d.Data))
	if err != nil && (failure != nil || len(found) == 0) { // who finds something may end with an error, too
		return nil, withLastLine(fmt.Errorf("it failed: %w", err), cmp.Or(log.String(), strings.TrimSpace(out.text.String())))
	}
	if failure != nil {
		return nil, fmt.Errorf("read what it wrote as %s: %w", l.server.Format, failure)
	}
	if len(found) > maxOfFile {
		found = found[:maxOfFile]
	}
	for i := range found {
		f := &found[i]
		f.Path = d.Path
		f.Message, f.Code = prose.Short(prose.Inline(f.Message), maxMessageText), prose.Short(prose.Inline(f.Code), 80)
		f.Source = prose.Short(prose.Inline(cmp.Or(f.Source, l.server.Name)), 60)
	}
	return found, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	text bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || b.text.Len()+len(p) > maxLintOutput; !b.over {
		b.text.Write(p)
	}
	return len(p), nil
}

// await waits until files are judged. late says that ctx ended first, or that the program failed.
func (l *Link) await(ctx context.Context, docs []Document) (late bool, err error) {
	var all []*judgement
	for _, d := range docs {
		if d.Data == nil || len(d.Data) > MaxFile {
			l.linter.mu.Lock()
			delete(l.linter.files, d.Path)
			l.linter.mu.Unlock()
			continue
		}
		j, failure := l.judge(d)
		if failure != nil {
			return true, failure
		}
		all = append(all, j)
	}
	for _, j := range all {
		select {
		case <-j.done:
			err = errors.Join(err, j.err)
		case <-ctx.Done():
			return true, nil
		}
	}
	return err != nil, err
}

// judged are the diagnostics of all files that were judged, or of some.
func (l *Link) judged(paths ...string) (all []Diagnostic) {
	l.linter.mu.Lock()
	defer l.linter.mu.Unlock()
	for path, j := range l.linter.files {
		if len(paths) == 0 || slices.Contains(paths, path) {
			all = append(all, j.found...)
		}
	}
	sortDiagnostics(all)
	return all
}

// errFound ends a walk.
var errFound = errors.New("found")

// tryLinter judges the first file of the link's types, to see whether the program works.
func (l *Link) tryLinter(ctx context.Context) error {
	var d Document
	seen := 0
	err := filepath.WalkDir(l.root, func(path string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > maxScanned {
			return nil
		}
		if e.IsDir() {
			if path != l.root && skipped(e.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || !l.server.Serves(e.Name()) {
			return nil
		}
		if d.Data, err = readSmall(path); err != nil {
			return nil
		}
		d.Path = path
		return errFound
	})
	if !errors.Is(err, errFound) {
		return fmt.Errorf("%s has no file here to try it with: it reads %s", l.server.Name, strings.Join(l.server.FileTypes, " "))
	}
	late, err := l.await(ctx, []Document{d})
	if err != nil {
		return fmt.Errorf("%s: %w", l.server.Name, err)
	}
	if late {
		return fmt.Errorf("%s did not end in time", l.server.Name)
	}
	return nil
}

// place is a place that counts lines and characters from 1, as linters do; a column of 0 is the
// whole line.
func (t *text) place(line, column int) Range {
	p := Position{Line: min(max(line-1, 0), len(t.start)-1)}
	if column <= 0 {
		return Range{p, Position{p.Line, len(t.line(p.Line))}}
	}
	p.Byte = utf16Units.bytesOf(t.line(p.Line), column-1)
	return Range{p, p}
}

// severityNamed reads a word for how bad something is.
func severityNamed(word string) Severity {
	switch strings.ToLower(word) {
	case "warning", "warn", "w":
		return SeverityWarning
	case "note", "info", "information", "style", "convention", "refactor", "i", "c", "r":
		return SeverityInformation
	case "hint", "none":
		return SeverityHint
	}
	return SeverityError
}

func readSwiftLint(out []byte, t *text) (all []Diagnostic, err error) {
	var list []struct {
		Line      int    `json:"line"`
		Character int    `json:"character"`
		Severity  string `json:"severity"`
		Reason    string `json:"reason"`
		Rule      string `json:"rule_id"`
	}
	if out = bytes.TrimSpace(out); len(out) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, err
	}
	for _, v := range list {
		all = append(all, Diagnostic{Range: t.place(v.Line, v.Character), Severity: severityNamed(v.Severity), Code: v.Rule, Message: v.Reason})
	}
	return all, nil
}

// readSARIF reads the Static Analysis Results Interchange Format, version 2.1.0.
func readSARIF(out []byte, t *text) (all []Diagnostic, err error) {
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Name string `json:"name"`
				} `json:"driver"`
			} `json:"tool"`
			Results []struct {
				Rule    string `json:"ruleId"`
				Level   string `json:"level"`
				Message struct {
					Text string `json:"text"`
				} `json:"message"`
				Locations []struct {
					Physical struct {
						Region struct {
							StartLine   int `json:"startLine"`
							StartColumn int `json:"startColumn"`
							EndLine     int `json:"endLine"`
							EndColumn   int `json:"endColumn"`
						} `json:"region"`
					} `json:"physicalLocation"`
				} `json:"locations"`
			} `json:"results"`
		} `json:"runs"`
	}
	if out = bytes.TrimSpace(out); len(out) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(out, &log); err != nil {
		return nil, err
	}
	for _, run := range log.Runs {
		for _, r := range run.Results {
			d := Diagnostic{Severity: severityNamed(cmp.Or(r.Level, "warning")), Code: r.Rule, Source: run.Tool.Driver.Name, Message: r.Message.Text}
			if len(r.Locations) > 0 {
				at := r.Locations[0].Physical.Region
				d.Range = t.place(at.StartLine, at.StartColumn)
				if at.EndColumn > 0 {
					d.Range.End = t.place(max(at.EndLine, at.StartLine), at.EndColumn).End
				}
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// lineForm is how compilers write: file:line:column: severity: message [code].
const lineForm = `^(.+?):(\d+)(?::(\d+))?:\s*(?:(?i:(fatal error|error|warning|warn|note|info|style|hint|[EWICR]))(?::|\s)\s*)?(.*?)(?:\s+[\[(]([\w./-]+)[\])])?$`

func readLines(out []byte, t *text) (all []Diagnostic, _ error) {
	form := regexp.MustCompile(lineForm) // here, as start-up has no time for it
	for line := range strings.Lines(string(out)) {
		m := form.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || m[5] == "" {
			continue
		}
		at, _ := strconv.Atoi(m[2]) // of digits; one that is too large is cut
		column, _ := strconv.Atoi(m[3])
		all = append(all, Diagnostic{Range: t.place(at, column), Severity: severityNamed(m[4]), Message: m[5], Code: m[6]})
	}
	return all, nil
}
