package review

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/platform/split"
	"github.com/burin-dev/burin/internal/prose"
)

// changed is a file of a diff.
type changed struct {
	path           string // on the new side; of a deleted file, on the old one
	what           string // "new", "deleted", "renamed from a.go"; "" is changed
	added, removed int
	hunks          []hunk
	bulk           bool // written by a program
	binary         bool
}

// hunk is a group of lines of a diff. The new side has the lines from first on, which are n.
type hunk struct {
	first, n int
	lines    []string // with their sign
}

// parse reads a diff as git writes it.
func parse(diff string) (files []changed) {
	var f *changed
	var h *hunk
	left, old := 0, 0 // lines of the hunk that are still to come, on the new and on the old side
	for line := range strings.SplitSeq(diff, "\n") {
		if f != nil && h != nil && (left > 0 || old > 0) {
			sign := byte(' ')
			if line != "" {
				sign = line[0]
			}
			switch sign {
			case '+':
				left--
				f.added++
			case '-':
				old--
				f.removed++
			case '\\': // no newline at the end
				continue
			default:
				left--
				old--
			}
			h.lines = append(h.lines, strings.TrimSuffix(line, "\r"))
			continue
		}
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
			files = append(files, changed{path: ofHead(rest)})
			f, h = &files[len(files)-1], nil
			continue
		}
		if f == nil {
			continue
		}
		if strings.HasPrefix(line, "@@ ") {
			f.hunks = append(f.hunks, hunk{})
			h = &f.hunks[len(f.hunks)-1]
			old, h.first, h.n = ranges(line)
			left = h.n
			continue
		}
		f.header(line)
	}
	for i := range files {
		f := &files[i]
		head := ""
		if len(f.hunks) > 0 && f.hunks[0].first <= 1 {
			for _, l := range f.hunks[0].lines[:min(len(f.hunks[0].lines), 40)] {
				head += l[min(1, len(l)):] + "\n"
			}
		}
		f.bulk = split.Bulk(f.path, head)
	}
	return files
}

// header reads a line of a file's head.
func (f *changed) header(line string) {
	name := func(quoted, side string) string {
		quoted, _, _ = strings.Cut(quoted, "\t")
		return strings.TrimPrefix(unquoted(quoted), side)
	}
	switch {
	case strings.HasPrefix(line, "new file mode"):
		f.what = "new"
	case strings.HasPrefix(line, "deleted file mode"):
		f.what = "deleted"
	case strings.HasPrefix(line, "rename from "):
		f.what = "renamed from " + unquoted(line[len("rename from "):])
	case strings.HasPrefix(line, "rename to "):
		f.path = unquoted(line[len("rename to "):])
	case strings.HasPrefix(line, "Binary files "), strings.HasPrefix(line, "GIT binary patch"):
		f.binary = true
	case strings.HasPrefix(line, "--- ") && line != "--- /dev/null":
		if f.what == "deleted" {
			f.path = name(line[4:], "a/")
		}
	case strings.HasPrefix(line, "+++ ") && line != "+++ /dev/null":
		f.path = name(line[4:], "b/")
	}
}

// ofHead finds the name in "a/NAME b/NAME"; of a renamed file other lines say it.
func ofHead(rest string) string {
	if strings.HasPrefix(rest, `"`) {
		if i := strings.LastIndex(rest, ` "`); i > 0 {
			return strings.TrimPrefix(unquoted(rest[i+1:]), "b/")
		}
	}
	if half := len(rest) / 2; len(rest)%2 == 1 && rest[half] == ' ' {
		return strings.TrimPrefix(rest[half+1:], "b/")
	}
	_, name, _ := strings.Cut(rest, " b/")
	return name
}

// unquoted is a name that git puts in quotes if there are strange letters in it.
func unquoted(name string) string {
	if strings.HasPrefix(name, `"`) {
		if plain, err := strconv.Unquote(name); err == nil {
			return plain
		}
	}
	return name
}

// ranges reads "@@ -1,2 +3,4 @@".
func ranges(line string) (old, first, n int) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return 0, 0, 0
	}
	_, old = span(fields[1])
	first, n = span(fields[2])
	return old, first, n
}

func span(s string) (first, n int) {
	const most = 1 << 30
	at, count, two := strings.Cut(strings.TrimLeft(s, "+-"), ",")
	first, _ = strconv.Atoi(at) // git writes numbers
	n = 1
	if two {
		n, _ = strconv.Atoi(count)
	}
	return max(0, min(first, most)), max(0, min(n, most))
}

// near is how many unchanged lines around a change still count as part of it.
const near = 3

// touches reports whether lines of the new side are changed, or close to what is.
func (f *changed) touches(first, last int) bool {
	for _, h := range f.hunks {
		at := h.first
		if h.n == 0 { // git names the line before
			at++
		}
		for _, l := range h.lines {
			kind := byte(' ')
			if l != "" {
				kind = l[0]
			}
			if kind != ' ' && at >= first-near && at <= last+near {
				return true
			}
			if kind != '-' {
				at++
			}
		}
	}
	return false
}

// head is the line that names the file.
func (f *changed) head() string {
	what := f.what
	if what == "" {
		what = "changed"
	}
	return fmt.Sprintf("=== %s (%s, +%d -%d)\n", prose.Inline(f.path), prose.Inline(what), f.added, f.removed)
}

// maxLine is how many bytes of a line are shown.
const maxLine = 500

// show writes a hunk with the line numbers of the new side. No line of it begins with what a
// repository says.
func (h *hunk) show(b *strings.Builder) {
	fmt.Fprintf(b, "@@ lines %d-%d\n", h.first, max(h.first, h.first+h.n-1))
	at := h.first
	for _, l := range h.lines {
		sign, text := byte(' '), ""
		if l != "" {
			sign, text = l[0], l[1:]
		}
		if len(text) > maxLine {
			text = prose.Head(text, maxLine) + " [cut]"
		}
		text = prose.Clean(text, 4)
		if sign == '-' {
			fmt.Fprintf(b, "      - %s\n", text)
			continue
		}
		fmt.Fprintf(b, "%5d %c %s\n", at, sign, text)
		at++
	}
}

// Bounds of what agents are shown.
const (
	partSize = 80_000 // bytes of the diff for one agent
	maxParts = 10
)

// divide shows the files in parts that an agent can take in. What doesn't fit in maxParts is left
// out and counted.
func divide(files []changed, size int) (parts []string, left int) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, b.String())
			b.Reset()
		}
	}
	for i := range files {
		f := &files[i]
		var whole strings.Builder
		whole.WriteString(f.head())
		switch {
		case f.binary:
			whole.WriteString("[not text]\n")
		case f.bulk:
			whole.WriteString("[a lock file, or generated: its lines are not shown]\n")
		default:
			for j := range f.hunks {
				f.hunks[j].show(&whole)
			}
		}
		if b.Len() > 0 && b.Len()+whole.Len() > size {
			flush()
		}
		if whole.Len() <= size {
			b.WriteString(whole.String())
		} else {
			b.WriteString(f.head())
			for j := range f.hunks {
				var one strings.Builder
				f.hunks[j].show(&one)
				if b.Len() > len(f.head()) && b.Len()+one.Len() > size {
					flush()
					b.WriteString(f.head())
				}
				text := one.String()
				if len(text) > size {
					text = prose.Head(text, size) + "\n[cut: read the file for the rest]\n"
				}
				b.WriteString(text)
			}
		}
		if len(parts) >= maxParts {
			return parts[:maxParts], len(files) - i
		}
	}
	flush()
	return parts, 0
}
