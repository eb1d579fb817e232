package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/burin-dev/burin/internal/sorting"
)

// splice puts a text in the place of some bytes of a document's text.
type splice struct {
	start, end int
	text       string
	edit       int // which edit asks for it, 1-based
}

// edited gives the document with the splices made, in order of place; those at
// the same place stay in their order. Count is how many edits there are and unit
// what they are called.
func (d *document) edited(splices []splice, count int, unit string) (Change, error) {
	sorting.Stable(splices, func(a, b splice) int {
		return cmp.Or(a.start-b.start, a.end-b.end)
	})
	fail := func(r *Refusal, edit int) (Change, error) {
		r.unit = unit
		return Change{}, r.number(edit, count)
	}
	tooLarge := func(size int) (Change, error) {
		return Change{}, refuse(d.path, "would have %d MB, and the limit is %d MB", size>>20, maxFile>>20)
	}
	if size := joined(d.text, splices); size > maxFile {
		return tooLarge(size)
	}
	for i, s := range splices {
		if err := d.enc.canHold(s.text); err != nil {
			return fail(refuse(d.path, "%v", err), s.edit)
		}
		if i > 0 && s.start < splices[i-1].end {
			r := refuse(d.path, "overlaps with %s %d", unit, splices[i-1].edit)
			r.Line = d.lineAt(s.start)
			r.Nearest = excerpt([]string{d.text[s.start:min(s.end, splices[i-1].end)]})
			return fail(r.hint("Make one %s of the two.", unit), s.edit)
		}
	}
	text := join(d.text, splices)
	if text == d.text && d.exists() {
		r := refuse(d.path, "the edit changes nothing: the file already is like this")
		r.unchanged = true
		return Change{}, r
	}
	after := d.enc.encode(text)
	if len(after) > maxFile {
		return tooLarge(len(after))
	}
	if d.enc == latin1 {
		// Bytes that are no UTF-8 in a file that is mostly UTF-8 are an accident, and
		// another such byte would make it worse.
		stray, wide := strayBytes(d.raw)
		if now, _ := strayBytes(after); wide > 0 && now > stray {
			return Change{}, refuse(d.path, "the file mixes UTF-8 with other bytes, and the new text would add such bytes").
				hint("Write ASCII only, or convert the file first.")
		}
	}
	return Change{Path: d.path, Before: d.raw, After: after}, nil
}

// join makes sorted splices that do not overlap.
func join(text string, splices []splice) string {
	var b strings.Builder
	b.Grow(joined(text, splices))
	last := 0
	for _, s := range splices {
		b.WriteString(text[last:s.start])
		b.WriteString(s.text)
		last = s.end
	}
	b.WriteString(text[last:])
	return b.String()
}

// joined is the size of what join gives.
func joined(text string, splices []splice) int {
	size := len(text)
	for _, s := range splices {
		size += len(s.text) - (s.end - s.start)
	}
	return size
}

// lineEdit puts lines in the place of lines from (inclusive) to to (exclusive).
type lineEdit struct {
	from, to int
	lines    []newLine
	edit     int
}

// newLine is a line to write, and how it ends.
type newLine struct {
	text string
	end  ending
}

// ending is how a new line ends.
type ending uint8

const (
	endAuto ending = iota // as what it replaces; nothing where a file without newline at the end ended
	endLF
	endCRLF
	endLine // as endAuto, but never nothing
	endNone
)

func autoLines(lines []string) []newLine {
	out := make([]newLine, len(lines))
	for i, l := range lines {
		out[i].text = l
	}
	return out
}

// splices makes splices of edits of lines. Edits that touch become one, so that
// what is deleted, replaced and inserted around the end of a file without newline
// comes out the same in any combination.
func (d *document) splices(edits []lineEdit, count int, unit string) ([]splice, error) {
	n := d.lines()
	sorting.Stable(edits, func(a, b lineEdit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var merged []lineEdit
	for _, e := range edits {
		if len(merged) == 0 {
			merged = append(merged, e)
			continue
		}
		last := &merged[len(merged)-1]
		switch {
		case e.from < last.to:
			r := refuse(d.path, "overlaps with %s %d: both change line %d", unit, last.edit, e.from+1)
			r.Line, r.Nearest, r.unit = e.from+1, excerpt(d.around(e.from, last.to)), unit
			return nil, r.hint("Make one %s of the two.", unit).number(e.edit, count)
		case e.from == last.to && (e.from == n || e.edit == last.edit):
			last.to = e.to
			last.lines = append(slices.Clip(last.lines), e.lines...)
		default:
			merged = append(merged, e)
		}
	}
	var out []splice
	for _, e := range merged {
		start, end := d.starts[e.from], d.starts[e.to]
		s := splice{start: start, end: end, edit: e.edit}
		eol := d.ending(start, end)
		var b strings.Builder
		if e.from == n && d.endsOpen() && len(e.lines) > 0 {
			b.WriteString(d.eol) // the last line gets the ending it lacks
		}
		for i, l := range e.lines {
			b.WriteString(l.text)
			last := i == len(e.lines)-1 && e.to == n
			switch {
			case l.end == endLF:
				b.WriteString("\n")
			case l.end == endCRLF:
				b.WriteString("\r\n")
			case last && (l.end == endNone || l.end == endAuto && d.endsOpen() && l.text != ""):
				// An empty line without newline would be none.
			default:
				b.WriteString(eol)
			}
		}
		s.text = b.String()
		out = append(out, s)
	}
	return out, nil
}

// lineDiff turns the replacement of the lines old, which stand at line at of the
// document, by the lines new into edits of the lines that differ. Lines that both
// have keep what the document has there.
func lineDiff(at int, old, fresh []string, edit int) []lineEdit {
	var out []lineEdit
	oldText, newText := joinLines(old), joinLines(fresh)
	line, offset := 0, 0
	for _, e := range udiff.Lines(oldText, newText) {
		line += strings.Count(oldText[offset:e.Start], "\n")
		removed := strings.Count(oldText[e.Start:e.End], "\n")
		out = append(out, lineEdit{from: at + line, to: at + line + removed, lines: autoLines(splitLines(e.New)), edit: edit})
		line, offset = line+removed, e.End
	}
	return out
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// splitLines gives the lines of a text whose endings are LF. A newline at the end
// ends the last line.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// outcome collects the result of an edit.
type outcome struct {
	res  Result
	diff diffWriter
}

// change adds what becomes of a document.
func (o *outcome) change(d *document, splices []splice, count int, unit string) error {
	c, err := d.edited(splices, count, unit)
	if err == nil {
		o.add(c, d, splices)
	}
	return err
}

// add adds a change of a document, which differs by the splices.
func (o *outcome) add(c Change, d *document, splices []splice) {
	o.res.Changes = append(o.res.Changes, c)
	text := d.text
	if d.enc == markedUTF8 {
		text = byteOrderMark + text
		splices = slices.Clone(splices)
		for i := range splices {
			splices[i].start += len(byteOrderMark)
			splices[i].end += len(byteOrderMark)
		}
	}
	o.diff.file(c, text, splices)
}

func (o *outcome) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(o.res.Notes, n) {
		o.res.Notes = append(o.res.Notes, n)
	}
}

// tolerated notes a match that was not exact.
func (o *outcome) tolerated(note string, t tolerance) {
	o.res.Inexact = o.res.Inexact || t&^otherEndings != 0
	o.note("%s", note)
}

func (o *outcome) result() *Result {
	o.res.Diff, o.res.Added, o.res.Removed = o.diff.String(), o.diff.added, o.diff.removed
	return &o.res
}
