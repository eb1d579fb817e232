package acp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	proto "github.com/burin-dev/burin/internal/acp"
)

// changed is what the details of a call say about the files that it changed.
type changed struct {
	Paths []string `json:"paths"`
	Diff  string   `json:"diff"` // unified
}

// place is a changed part of a file.
type place struct {
	proto.Diff
	line int // in the file after the change
}

// diffs returns the changed parts: the lines before and after.
func (t *teller) diffs(c *changed) []place {
	var h hunks
	for line := range strings.Lines(c.Diff) {
		h.line(line)
	}
	h.flush()
	for i := range h.all {
		at := h.all[i].Path
		if !slices.Contains(c.Paths, at) && slices.Contains(c.Paths, "/"+at) {
			at = "/" + at // in a folder that was added
		}
		h.all[i].Path = t.places.path(at)
	}
	return h.all
}

// hunks reads a unified diff.
type hunks struct {
	all      []place
	path     string
	fresh    bool // the file is new
	at       int
	old, now strings.Builder
	left     [2]int // lines left in the hunk, before and after
}

func (h *hunks) line(line string) {
	if h.left == [2]int{} {
		h.flush()
		h.head(line)
		return
	}
	switch line[0] {
	case '-':
		h.old.WriteString(line[1:])
		h.left[0]--
	case '+':
		h.now.WriteString(line[1:])
		h.left[1]--
	case ' ', '\n':
		text := strings.TrimPrefix(line, " ")
		h.old.WriteString(text)
		h.now.WriteString(text)
		h.left[0]--
		h.left[1]--
	case '\\': // no newline at the end
	default: // the diff was truncated
		h.left = [2]int{}
	}
	h.left[0], h.left[1] = max(0, h.left[0]), max(0, h.left[1])
}

// head reads a line between hunks.
func (h *hunks) head(line string) {
	switch {
	case strings.HasPrefix(line, "--- "):
		h.path = side(line[4:])
		h.fresh = h.path == "/dev/null"
	case strings.HasPrefix(line, "+++ "):
		if name := side(line[4:]); name != "/dev/null" {
			h.path = name
		}
	case strings.HasPrefix(line, "@@ "):
		before, after, _ := strings.Cut(strings.TrimPrefix(line, "@@ -"), " +")
		after, _, _ = strings.Cut(after, " ")
		_, h.left[0] = span(before)
		h.at, h.left[1] = span(after)
	}
}

// span reads one range of a hunk header: 12,3 or 12.
func span(s string) (from, n int) {
	n = 1
	at, count, long := strings.Cut(s, ",")
	from, _ = strconv.Atoi(at)
	if long {
		n, _ = strconv.Atoi(count)
	}
	return from, max(0, n)
}

// side reads the path in a --- or +++ line.
func side(s string) string {
	s = strings.TrimRight(s, "\n\t")
	if strings.HasPrefix(s, `"`) {
		var unquoted string
		if _, err := fmt.Sscanf(s, "%q", &unquoted); err == nil {
			s = unquoted
		}
	}
	if s == "/dev/null" {
		return s
	}
	return strings.TrimPrefix(strings.TrimPrefix(s, "a/"), "b/")
}

// flush ends a changed part.
func (h *hunks) flush() {
	if h.path != "" && h.old.Len()+h.now.Len() > 0 && len(h.all) < maxDiffs {
		p := place{proto.Diff{Type: "diff", Path: h.path, NewText: h.now.String()}, h.at}
		if !h.fresh {
			before := h.old.String()
			p.OldText = &before
		}
		h.all = append(h.all, p)
	}
	h.old.Reset()
	h.now.Reset()
}
