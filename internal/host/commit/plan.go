package commit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/split"
	"github.com/burin-dev/burin/internal/prose"
)

// Text shows the proposal to a person.
func (d *Draft) Text() string {
	var b strings.Builder
	for i, c := range d.Commits {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, line := range strings.Split(prose.Clean(c.Message, 4), "\n") {
			switch {
			case j == 0:
				fmt.Fprintf(&b, "%d. %s\n", i+1, line)
			case line == "":
				b.WriteByte('\n')
			default:
				fmt.Fprintf(&b, "   %s\n", line)
			}
		}
		b.WriteByte('\n')
		for _, id := range c.Changes {
			fmt.Fprintf(&b, "   %s\n", row(d.piece(id)))
		}
		for _, e := range c.Changelog {
			fmt.Fprintf(&b, "   %s: %s\n", d.log.path, prose.Inline(e.line()))
		}
	}
	if left := d.LeftOut(); len(left) > 0 {
		b.WriteString("\nLeft out:\n\n")
		for _, p := range left {
			fmt.Fprintf(&b, "   %s\n", row(p))
		}
	}
	return b.String()
}

// row is a piece on one line, its id first.
func row(p *split.Piece) string {
	line := fmt.Sprintf("%-5s %s  %s", p.ID, prose.Inline(p.Path), prose.Inline(p.What))
	if p.Added > 0 || p.Removed > 0 {
		line += fmt.Sprintf("  +%d -%d", p.Added, p.Removed)
	}
	return line
}

func (e *Entry) line() string {
	if e.Section == "" {
		return e.Text
	}
	return e.Section + ": " + e.Text
}

const (
	commitLine  = "=== commit"
	leftLine    = "=== left out"
	changesLine = "--- changes"
	logLine     = "--- changelog"
)

// Plan is the proposal as a text to edit.
func (d *Draft) Plan() string {
	var b strings.Builder
	b.WriteString(`# Edit the messages, and move the lines of changes from one commit to another.
# The commits are made in this order. A change in no commit is left out.
# Without any commit nothing is done.
`)
	for _, c := range d.Commits {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n", commitLine, c.Message, changesLine)
		for _, id := range c.Changes {
			fmt.Fprintln(&b, row(d.piece(id)))
		}
		if len(c.Changelog) > 0 {
			fmt.Fprintln(&b, logLine)
		}
		for _, e := range c.Changelog {
			fmt.Fprintln(&b, e.line())
		}
	}
	if left := d.LeftOut(); len(left) > 0 {
		fmt.Fprintf(&b, "\n%s\n", leftLine)
		for _, p := range left {
			fmt.Fprintln(&b, row(p))
		}
	}
	return b.String()
}

// ErrEmpty reports that a plan has no commit in it.
var ErrEmpty = errors.New("no commits left")

// Edit takes over a plan that was edited. With an error the proposal stays as it was.
func (d *Draft) Edit(plan string) error {
	var commits []Commit
	part := ""
	seen := map[string]int{}
	for n, line := range strings.Split(strings.ReplaceAll(plan, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == commitLine:
			commits = append(commits, Commit{})
			part = trimmed
			continue
		case trimmed == leftLine, len(commits) > 0 && (trimmed == changesLine || trimmed == logLine):
			part = trimmed
			continue
		case part == "":
			if trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				return fmt.Errorf("line %d: write %q above %q", n+1, commitLine, prose.Short(trimmed, 40))
			}
			continue
		}
		switch part {
		case commitLine:
			c := &commits[len(commits)-1]
			c.Message += strings.TrimRight(line, " \t") + "\n"
		case changesLine:
			id, _, _ := strings.Cut(trimmed, " ")
			if id == "" {
				continue
			}
			if !d.has(id) {
				return fmt.Errorf("line %d: no change %q", n+1, prose.Short(id, 40))
			}
			if at := seen[id]; at != 0 {
				return fmt.Errorf("line %d: change %s is in commit %d already", n+1, id, at)
			}
			seen[id] = len(commits)
			c := &commits[len(commits)-1]
			c.Changes = append(c.Changes, id)
		case logLine:
			if trimmed == "" {
				continue
			}
			if d.log == nil {
				return fmt.Errorf("line %d: this project has no changelog with an Unreleased section", n+1)
			}
			commits[len(commits)-1].Changelog = append(commits[len(commits)-1].Changelog, d.log.entry(trimmed))
		}
	}
	kept := commits[:0]
	for i, c := range commits {
		c.Message = strings.TrimSpace(c.Message)
		switch {
		case len(c.Changes) == 0 && len(c.Changelog) == 0: // moved away, all of it
			continue
		case len(c.Changes) == 0:
			return fmt.Errorf("commit %d has no changes", i+1)
		case c.Message == "":
			return fmt.Errorf("commit %d has no message", i+1)
		}
		kept = append(kept, c)
	}
	if len(kept) == 0 {
		return ErrEmpty
	}
	d.Commits = kept
	return nil
}

func (d *Draft) has(id string) bool {
	for i := range d.changes.Pieces {
		if d.changes.Pieces[i].ID == id {
			return true
		}
	}
	return false
}

// entry reads an entry as [Entry.line] writes it.
func (c *changelog) entry(line string) Entry {
	for _, s := range c.sections {
		if text, ok := strings.CutPrefix(line, s+": "); ok {
			return Entry{Section: s, Text: text}
		}
	}
	return Entry{Text: line}
}
