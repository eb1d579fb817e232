package editor

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxUndo and maxUndoBytes bound what can be undone; the oldest changes are
	// forgotten first, the last one never.
	maxUndo      = 1000
	maxUndoBytes = 32 << 20
	// maxGroup bounds one step of typing.
	maxGroup = 512
)

// kind says what a change may be joined with.
type kind uint8

const (
	kindOther kind = iota
	kindType
	kindErase
	kindHistory // browsing: only the draft can be brought back, not each entry
)

// change is one step of undo.
type change struct {
	kind          kind
	at            pos
	removed       string
	inserted      string
	before, after pos // the cursor
}

func (c *change) size() int { return len(c.removed) + len(c.inserted) }

// journal is what was changed and what was undone.
type journal struct {
	done, undone []change
	bytes        int  // of done
	open         bool // the last change may grow
}

// add takes a change that has been made.
func (j *journal) add(c change) {
	j.undone = nil
	if n := len(j.done); n > 0 && (j.open || c.kind == kindHistory) {
		last := &j.done[n-1]
		size := last.size()
		if last.join(c) {
			j.bytes += last.size() - size
			return
		}
	}
	j.done = append(j.done, c)
	j.bytes += c.size()
	j.open = true
	drop := 0
	for len(j.done)-drop > 1 && (len(j.done)-drop > maxUndo || j.bytes > maxUndoBytes) {
		j.bytes -= j.done[drop].size()
		drop++
	}
	if drop > 0 {
		j.done = append(j.done[:0], j.done[drop:]...)
	}
}

// join makes one step of two where they are one act for a person: the letters of
// a word, characters erased in a row, entries of history looked through.
func (c *change) join(next change) bool {
	if c.kind != next.kind || c.kind == kindOther {
		return false
	}
	switch c.kind {
	case kindHistory:
		c.inserted = next.inserted
	case kindType:
		last, _ := utf8.DecodeLastRuneInString(c.inserted)
		if next.removed != "" || next.at != c.at.advance(c.inserted) || len(c.inserted) > maxGroup ||
			strings.ContainsRune(" \n\t", last) && !strings.ContainsAny(next.inserted, " \n\t") {
			return false
		}
		c.inserted += next.inserted
	case kindErase:
		switch {
		case c.inserted+next.inserted != "" || len(c.removed) > maxGroup:
			return false
		case next.at.advance(next.removed) == c.at:
			c.at, c.removed = next.at, next.removed+c.removed
		case next.at == c.at:
			c.removed += next.removed
		default:
			return false
		}
	}
	c.after = next.after
	return true
}

// undo takes the last change back: it gives what is to be made of the text, and where the
// cursor is then.
func (j *journal) undo() (back change, ok bool) {
	n := len(j.done)
	if n == 0 {
		return change{}, false
	}
	c := j.done[n-1]
	j.done = j.done[:n-1]
	j.bytes -= c.size()
	j.undone = append(j.undone, c)
	j.open = false
	return change{at: c.at, removed: c.inserted, inserted: c.removed, after: c.before}, true
}

// redo is undo's mirror image.
func (j *journal) redo() (again change, ok bool) {
	n := len(j.undone)
	if n == 0 {
		return change{}, false
	}
	c := j.undone[n-1]
	j.undone = j.undone[:n-1]
	j.done = append(j.done, c)
	j.bytes += c.size()
	j.open = false
	return c, true
}

// redone makes a change that the journal knows already.
func (e *Editor) redone(c change, ok bool) bool {
	if ok {
		e.doc.replace(c.at, c.at.advance(c.removed), c.inserted, &e.lay)
		e.place(c.after)
	}
	return ok
}
