package vt

import "strings"

// Limits of what is kept of strings; the oldest go.
const (
	maxMarks = 10_000
	maxNotes = 1_000
)

// desktop is what programs set and say outside of the screen.
type desktop struct {
	title, directory string
	titles           []string
	clipboard        []byte
	marks            []Mark
	notes            []string
	colors           [3]string // OSC 10, 11, 12 where they were set
}

// Mark is a mark of OSC 133: A prompt, B command, C output, D end.
type Mark struct {
	Kind byte
	Row  int // counted from the first row that ever was
	Args string
}

func (d *desktop) note(s string) {
	if len(d.notes) == maxNotes {
		d.notes = d.notes[1:]
	}
	d.notes = append(d.notes, s)
}

// mark keeps a mark of OSC 133 at a row.
func (d *desktop) mark(arg string, row int) bool {
	if arg == "" || !strings.Contains("ABCDP", arg[:1]) {
		return false
	}
	if len(d.marks) == maxMarks {
		d.marks = d.marks[1:]
	}
	d.marks = append(d.marks, Mark{Kind: arg[0], Row: row, Args: strings.TrimPrefix(arg[1:], ";")})
	return true
}
