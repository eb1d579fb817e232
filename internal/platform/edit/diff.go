package edit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	contextLines = 3
	maxDiff      = 64 << 10 // bytes of a result's diff
)

// Diff is the unified diff of one file, for git apply and patch, and how many
// lines it adds and removes. Nil stands for no file. The diff is cut at 64 KB;
// the numbers are of the whole. Of what is no text it says so. Text that is not
// in UTF-8 is shown as UTF-8, so that its diff is to be read, not to be applied.
func Diff(name string, before, after []byte) (diff string, added, removed int) {
	var w diffWriter
	c := Change{Path: name, Before: before, After: after}
	old, fresh, ok := texts(before, after)
	if !ok {
		w.binary(c)
		return w.String(), 0, 0
	}
	w.file(c, old, trimmed(old, fresh))
	return w.String(), w.added, w.removed
}

// texts decodes both sides of a difference, with the marks that UTF-8 files have.
func texts(before, after []byte) (old, fresh string, ok bool) {
	old, e1, err1 := decode(before)
	fresh, e2, err2 := decode(after)
	if err1 != nil || err2 != nil {
		return "", "", false
	}
	if e1 == markedUTF8 {
		old = byteOrderMark + old
	}
	if e2 == markedUTF8 {
		fresh = byteOrderMark + fresh
	}
	return old, fresh, true
}

// diffWriter writes the unified diff of several files. It costs what the changed
// places cost, and one count of the lines between them.
type diffWriter struct {
	b              strings.Builder
	size           int // bytes that the whole diff would have
	added, removed int
}

func (w *diffWriter) String() string {
	if w.size > w.b.Len() {
		return fmt.Sprintf("%s[The diff is cut: %d of %d KB are shown.]\n", w.b.String(), w.b.Len()>>10, (w.size+1023)>>10)
	}
	return w.b.String()
}

// write adds a piece of whole lines, unless the diff is full.
func (w *diffWriter) write(s string) {
	if w.size == w.b.Len() {
		fits := s
		if room := maxDiff - w.size; len(s) > room {
			fits = s[:strings.LastIndexByte(s[:room], '\n')+1]
		}
		w.b.WriteString(fits)
	}
	w.size += len(s)
}

// file adds the difference of a file whose text changes by sorted splices.
func (w *diffWriter) file(c Change, text string, splices []splice) {
	changes := lineChanges(text, splices)
	w.header(c, len(changes) > 0)
	drift := 0 // lines that the file has gained so far
	for i := 0; i < len(changes); {
		n := i + 1
		for n < len(changes) && changes[n].line-changes[n-1].line-changes[n-1].removed <= 2*contextLines {
			n++
		}
		drift += w.hunk(text, changes[i:n], drift)
		i = n
	}
}

// binary adds the removal or move of a file that is no text.
func (w *diffWriter) binary(c Change) {
	w.header(c, false)
	w.write("Binary file " + c.Path + "\n")
}

func (w *diffWriter) header(c Change, hunks bool) {
	from, to := c.Path, c.Path
	if c.From != "" {
		from = c.From
	}
	a, b := quotePath("a/", from), quotePath("b/", to)
	switch {
	case c.From != "":
		w.write("diff --git " + a + " " + b + "\nrename from " + quotePath("", from) + "\nrename to " + quotePath("", to) + "\n")
	case c.Before == nil:
		mode := "100644"
		if c.Mode&0o111 != 0 {
			mode = "100755"
		}
		w.write("diff --git " + a + " " + b + "\nnew file mode " + mode + "\n")
		a = "/dev/null"
	case c.After == nil:
		w.write("diff --git " + a + " " + b + "\ndeleted file mode 100644\n")
		b = "/dev/null"
	}
	if hunks {
		w.write("--- " + tabbed(a) + "\n+++ " + tabbed(b) + "\n")
	}
}

// tabbed ends a name with blanks in it so that readers know where it ends.
func tabbed(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

// quotePath is a path with its prefix, quoted as git quotes.
func quotePath(prefix, path string) string {
	if prefix != "" {
		path = prefix + strings.TrimLeft(path, "/")
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' || r == 0x7f }) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// lineChange replaces whole lines: the bytes from start to end of the old text.
type lineChange struct {
	start, end int
	text       string
	line       int // how many lines are before it in the old text
	removed    int // lines
	added      int
}

// lineChanges widens splices to lines and narrows them to the lines that differ.
func lineChanges(text string, splices []splice) []lineChange {
	var out []lineChange
	counted, line := 0, 0
	for i := 0; i < len(splices); {
		start := lineStart(text, splices[i].start)
		end, fresh, n := widen(text, start, splices[i:])
		i += n
		line += strings.Count(text[counted:start], "\n")
		counted = start
		at, offset := line, start
		for _, e := range udiff.Lines(text[start:end], fresh) {
			c := lineChange{start: start + e.Start, end: start + e.End, text: e.New}
			at += strings.Count(text[offset:c.start], "\n")
			c.line, c.removed, c.added = at, countLines(text[c.start:c.end]), countLines(c.text)
			offset = c.start
			out = append(out, c)
		}
	}
	return out
}

// widen takes the first splice and all that touch the same lines. It gives the end
// of these lines, what becomes of them, and how many splices it took.
func widen(text string, start int, splices []splice) (end int, fresh string, n int) {
	var b strings.Builder
	pos := start
	end = start
	for {
		for n < len(splices) && (n == 0 || splices[n].start < end || splices[n].start == end && !beginsLine(text, end)) {
			s := splices[n]
			b.WriteString(text[pos:s.start])
			b.WriteString(s.text)
			pos = s.end
			end = max(end, lineEnd(text, s.end))
			n++
		}
		got := b.String() + text[pos:end]
		if end == len(text) || got == "" || strings.HasSuffix(got, "\n") {
			return end, got, n
		}
		end = lineEnd(text, end+1) // the last line goes on in the next one
	}
}

// lineEnd is the end of the line that holds the byte before i, or i itself where a
// line begins.
func lineEnd(text string, i int) int {
	if beginsLine(text, i) {
		return i
	}
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// lineStart is where the line that holds i begins.
func lineStart(text string, i int) int { return strings.LastIndexByte(text[:i], '\n') + 1 }

func beginsLine(text string, i int) bool { return i == 0 || text[i-1] == '\n' }

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// hunk writes changes that are close to each other, and says how many lines the
// file gains by them. Drift is what it had gained before.
func (w *diffWriter) hunk(text string, changes []lineChange, drift int) int {
	first, last := changes[0], changes[len(changes)-1]
	start, before := first.start, 0
	for before < contextLines && start > 0 {
		start = lineStart(text, start-1)
		before++
	}
	end := last.end
	for range contextLines {
		if end < len(text) {
			end = lineEnd(text, end+1)
		}
	}
	var b strings.Builder
	pos, plus, minus := start, 0, 0
	for _, c := range changes {
		prefixLines(&b, " ", text[pos:c.start])
		prefixLines(&b, "-", text[c.start:c.end])
		prefixLines(&b, "+", c.text)
		pos = c.end
		plus += c.added
		minus += c.removed
	}
	prefixLines(&b, " ", text[pos:end])
	from, old := first.line-before, countLines(text[start:end])
	w.write("@@ -" + span(from, old) + " +" + span(from+drift, old-minus+plus) + " @@\n")
	w.write(b.String())
	w.added += plus
	w.removed += minus
	return plus - minus
}

// span is a range of lines as the header of a hunk has it; from counts from 0.
func span(from, count int) string {
	if count > 0 {
		from++
	}
	return strconv.Itoa(from) + "," + strconv.Itoa(count)
}

func prefixLines(b *strings.Builder, prefix, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(prefix)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
