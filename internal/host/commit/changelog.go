package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/split"
)

// changelog is a file with a section for what is not released yet.
type changelog struct {
	path     string // in the repository
	text     []byte
	sections []string // headings below a release, such as Added; none: entries stand by themselves
}

// unreleasedHeading is "## Unreleased" or "## [Unreleased]", with what may follow.
var unreleasedHeading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^##\s+\[?unreleased\b`)
})

// readChangelog reads the changelog in the root, nil if there is none to write to: who has changed
// it has written the entries.
func readChangelog(ctx context.Context, repo *split.Repo, changes *split.Changes) (*changelog, error) {
	const name = "CHANGELOG.md"
	if slices.ContainsFunc(changes.Pieces, func(p split.Piece) bool { return p.Path == name }) {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(repo.Root(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	clean, err := repo.Clean(ctx, name)
	if err != nil || !clean {
		return nil, err
	}
	c := &changelog{path: name, text: text}
	if from, _ := c.bounds(c.lines(text)); from < 0 {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if s, ok := strings.CutPrefix(line, "### "); ok && len(c.sections) < 12 {
			if s = strings.TrimSpace(s); !slices.Contains(c.sections, s) {
				c.sections = append(c.sections, s)
			}
		}
	}
	return c, nil
}

func (c *changelog) lines(text []byte) []string { return strings.SplitAfter(string(text), "\n") }

// bounds are the lines of the section that is not released: from after its heading to the next
// release. from is -1 if there is none.
func (c *changelog) bounds(lines []string) (from, to int) {
	from = slices.IndexFunc(lines, unreleasedHeading().MatchString)
	if from < 0 {
		return -1, -1
	}
	from++
	to = from
	for to < len(lines) && !strings.HasPrefix(lines[to], "## ") && !strings.HasPrefix(lines[to], "# ") && !linkTarget(lines[to]) {
		to++
	}
	return from, to
}

// linkTarget reports whether a line says where a link leads, as those at the end of a changelog do.
func linkTarget(line string) bool {
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]: ")
}

// unreleased is what the section holds.
func (c *changelog) unreleased() string {
	lines := c.lines(c.text)
	from, to := c.bounds(lines)
	return strings.TrimSpace(strings.Join(lines[from:to], ""))
}

// insert adds entries to the section.
func (c *changelog) insert(text []byte, entries []Entry) []byte {
	end := "\n"
	if strings.Contains(string(text), "\r\n") {
		end = "\r\n"
	}
	lines := c.lines(text)
	for _, e := range entries {
		from, to := c.bounds(lines)
		heading, section := "### "+e.Section, -1
		if len(c.sections) > 0 && e.Section != "" {
			section = slices.IndexFunc(lines[from:to], func(l string) bool { return strings.EqualFold(strings.TrimSpace(l), heading) })
			if section >= 0 {
				from += section + 1
				if next := slices.IndexFunc(lines[from:to], func(l string) bool { return strings.HasPrefix(l, "### ") }); next >= 0 {
					to = from + next
				}
			}
		}
		for to > from && strings.TrimSpace(lines[to-1]) == "" { // behind the last entry
			to--
		}
		var fresh []string
		if to > 0 && !strings.HasSuffix(lines[to-1], "\n") { // the end of the file
			fresh = append(fresh, end)
		}
		if len(c.sections) > 0 && e.Section != "" && section < 0 {
			fresh = append(fresh, end, heading+end)
		}
		if to == from || len(fresh) > 1 {
			fresh = append(fresh, end)
		}
		mark := "- "
		if slices.ContainsFunc(lines[from:to], func(l string) bool { return strings.HasPrefix(l, "* ") }) {
			mark = "* "
		}
		fresh = append(fresh, mark+e.Text+end)
		if to < len(lines) && strings.TrimSpace(lines[to]) != "" { // a heading follows at once
			fresh = append(fresh, end)
		}
		lines = slices.Insert(lines, to, fresh...)
		lines = c.lines([]byte(strings.Join(lines, "")))
	}
	return []byte(strings.Join(lines, ""))
}
